//! Call stacks of all ranks are those of the program, and taking them disturbs no thread.

use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language, marked_line, program, python};
use serde_json::Value;

const RANKS: u32 = 4;

fn line(language: Language, mark: &str) -> String {
    marked_line("stacks", language, mark)
}

/// The name of a function in its source: Fortran's compiler puts the module in front, and functions
/// of MPI have a second name `PMPI_*`.
fn function(node: &Value) -> &str {
    let name = node["function"].as_str().expect("a name");
    let name = name.strip_prefix("__work_MOD_").unwrap_or(name);
    name.strip_prefix('P')
        .filter(|name| name.starts_with("MPI_"))
        .unwrap_or(name)
}

/// The paths of an answer that consist of these functions, each with the ranks and lines of its
/// last function.
fn paths_of(stacks: &Value, functions: &[&str]) -> Vec<(String, String, Vec<String>)> {
    let mut path: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for node in stacks["nodes"].as_array().expect("nodes") {
        // Nodes come in depth-first order, each with its depth: the path is a stack.
        path.truncate(number(node, "/depth") as usize);
        path.push(function(node));
        // Other frames, such as those of libraries, are left out.
        let own: Vec<&str> = path
            .iter()
            .copied()
            .filter(|name| functions.contains(name))
            .collect();
        if own.last() == path.last() {
            let lines = node["lines"].as_array().expect("lines").iter();
            let lines = lines.map(|line| line["text"].as_str().unwrap_or_default().to_owned());
            let which = node["which"].as_str().expect("ranks").to_owned();
            found.push((own.join(" "), which, lines.collect()));
        }
    }
    found.sort();
    found
}

/// Takes stacks until every rank has come to its function.
fn stacks_when(job: &mut Running, ready: impl Fn(&Value) -> bool) -> Value {
    job.wait_for_answers();
    job.until("ranks in their places", |job| {
        let stacks = job.client().try_json(&["stacks"])?;
        ready(&stacks).then_some(stacks)
    })
}

fn is_at(stacks: &Value, name: &str, ranks: u64) -> bool {
    let nodes = stacks["nodes"].as_array().cloned().unwrap_or_default();
    let is_it = |node: &Value| function(node) == name && number(node, "/ranks") == ranks;
    nodes.iter().any(is_it)
}

/// Four ranks in known functions.
fn known_functions(family: Family) {
    let command = in_language(family, "stacks", Language::C, &[]);
    let mut job = Job::observed(family, RANKS, &command).start();
    let stacks = stacks_when(&mut job, |stacks| {
        is_at(stacks, "inner", 1)
            && is_at(stacks, "MPI_Recv", 2)
            && is_at(stacks, "rest", 1)
            && stacks["threads_unnamed"] == 0
    });

    let functions = [
        "main", "step", "compute", "inner", "exchange", "MPI_Recv", "rest",
    ];
    let line = |mark: &str| line(Language::C, mark);
    let steps = ["step 0", "step 1 2", "step 3"].map(line);
    let expected = [
        ("main", "0-3", vec![line("main")]),
        ("main step", "0-3", steps.to_vec()),
        ("main step compute", "0", vec![line("compute")]),
        ("main step exchange", "1-2", vec![line("exchange")]),
        ("main step rest", "3", vec![line("rest")]),
    ];

    let found = paths_of(&stacks, &functions);
    for (path, which, mut lines) in expected {
        lines.sort();
        let is_it = |one: &&(String, String, Vec<String>)| one.0 == path;
        let one = found
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{family:?}: no {path} in {found:?}"));
        assert_eq!(
            (one.1.as_str(), &one.2),
            (which, &lines),
            "{family:?} {path}: {found:?}"
        );
    }
    // The line within a loop depends on the moment; the function does not.
    let inner = found
        .iter()
        .find(|one| one.0 == "main step compute inner")
        .expect("a loop");
    assert!(
        inner.1 == "0" && inner.2[0].starts_with("stacks.c:"),
        "{found:?}"
    );

    let recv = found
        .iter()
        .find(|one| one.0 == "main step exchange MPI_Recv")
        .expect("a call");
    assert_eq!(recv.1, "1-2", "{found:?}");

    assert_eq!(number(&stacks, "/ranks"), u64::from(RANKS));
    let ways: Vec<(&Value, u64)> = stacks["ways"]
        .as_array()
        .expect("ways")
        .iter()
        .map(|way| (&way["way"], number(way, "/threads")))
        .collect();
    assert_eq!(
        ways.iter().map(|(_, threads)| threads).sum::<u64>(),
        u64::from(RANKS),
        "{stacks}"
    );
    assert!(
        ways.iter()
            .all(|(way, _)| **way == "stopped" || **way == "asleep"),
        "{stacks}"
    );
    assert!(number(&stacks, "/longest_stop_ns") > 0, "{stacks}");
    stop_times(&job, &format!("{family:?}, C"));
    // As text, and of some ranks.
    let text = job.client().run(&["stacks", "--rank", "1-2"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let has = |text: &str, function: &str| text.lines().any(|line| line.contains(function));
    assert!(
        has(&text, "    2  1-2    main (") && has(&text, "MPI_Recv") && !has(&text, "compute"),
        "{text}"
    );

    job.tell("stop");
    assert_eq!(job.end().code(), 0);
}

/// How long threads stood still, the longest of each answer: printed, because a busy machine makes
/// anything of it.
fn stop_times(job: &Running, what: &str) {
    let stop = |_| number(&job.client().json(&["stacks"]), "/longest_stop_ns") / 1000;
    let mut stops: Vec<u64> = (0..20).map(stop).collect();
    stops.sort_unstable();
    println!("{what}: the longest stop of an answer, in us: {stops:?}");
}

#[test]
fn ranks_are_in_known_functions() {
    Family::ALL.into_iter().for_each(known_functions);
}

/// Between the lines of Fortran and MPI stands the library's Fortran layer.
fn known_subroutines(family: Family) {
    let command = in_language(family, "stacks", Language::Fortran, &[]);
    let mut job = Job::observed(family, 2, &command).start();
    let stacks = stacks_when(&mut job, |stacks| {
        is_at(stacks, "inner", 1) && is_at(stacks, "exchange", 1) && stacks["threads_unnamed"] == 0
    });

    let found = paths_of(&stacks, &["stacks", "compute", "inner", "exchange"]);
    let line = |mark: &str| vec![line(Language::Fortran, mark)];
    for (path, which, lines) in [
        ("stacks compute", "0", line("compute")),
        ("stacks exchange", "1", line("exchange")),
    ] {
        let one = found.iter().find(|one| one.0 == path);
        let one = one.unwrap_or_else(|| panic!("{family:?}: no {path} in {found:?}"));
        assert_eq!(
            (one.1.as_str(), &one.2),
            (which, &lines),
            "{family:?}: {found:?}"
        );
    }
    job.tell("stop");
    assert_eq!(job.end().code(), 0);
}

#[test]
fn fortran_subroutines_are_named() {
    known_subroutines(Family::Ompi);
}

#[test]
#[ignore = "the rest: --all"]
fn fortran_subroutines_are_named_on_mpich() {
    known_subroutines(Family::Mpich);
}

/// Ranks that run Python are in its functions, not in those of the interpreter.
fn known_python_functions(family: Family) {
    let mut job = Job::observed(family, RANKS, &python::known_calls("waits")).start();
    let stacks = stacks_when(&mut job, |stacks| {
        is_at(stacks, "receive", 3) && is_at(stacks, "rest", 1) && stacks["threads_unnamed"] == 0
    });

    let functions = ["<module>", "main", "Solver.step", "receive", "rest"];
    let line = |mark: &str| python::marked_line("solve.py", mark);
    let mut mains = vec![line("main step"), line("main rest")];
    mains.sort();
    let expected = [
        ("<module>", "0-3", vec![line("module")]),
        ("<module> main", "0-3", mains),
        ("<module> main Solver.step", "0-2", vec![line("step")]),
        (
            "<module> main Solver.step receive",
            "0-2",
            vec![python::marked_line("exchange.py", "receive")],
        ),
        ("<module> main rest", "3", vec![line("rest")]),
    ];
    let expected = expected.map(|(path, which, lines)| (path.to_owned(), which.to_owned(), lines));
    assert_eq!(paths_of(&stacks, &functions), expected, "{family:?}");

    let nodes = stacks["nodes"].as_array().expect("nodes");
    for node in nodes {
        let is_python = functions.contains(&function(node));
        assert_eq!(node["kind"] == "python", is_python, "{family:?}: {node}");
        let module = node["module"].as_str().expect("a file");
        assert!(
            !module.starts_with("python3") && !module.starts_with("libpython"),
            "{family:?}: {node}"
        );
    }
    assert_eq!(stacks["without_python"].as_array().map(Vec::len), Some(0));
    // Below the Python function: mpi4py's own, and MPI's.
    let below =
        |node: &Value, name: &str| node["module"].as_str().is_some_and(|m| m.starts_with(name));
    let receive = nodes.iter().position(|node| function(node) == "receive");
    let mut called = nodes[receive.expect("it is there") + 1..].iter();
    assert!(
        called.next().is_some_and(|node| below(node, "MPI.")),
        "{family:?}: {stacks}"
    );
    assert!(
        called.any(|node| function(node).starts_with("MPI_")),
        "{family:?}: {stacks}"
    );

    let text = job.client().run(&["stacks"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let call = format!("Solver.step ({})", line("step"));
    assert!(text.contains(&call), "{family:?}: {text}");
    println!("{text}");
    stop_times(&job, &format!("{family:?}, Python"));

    // The line of a pending call is that of the Python function, too.
    let site = Value::from(python::marked_line("exchange.py", "receive"));
    job.until("ranks that wait where they do", |job| {
        let hang = job.client().try_json(&["hang"])?;
        let classes = hang["classes"].as_array()?;
        classes
            .iter()
            .any(|class| class["site"] == site && class["ranks"] == 3)
            .then_some(())
    });

    job.tell("stop");
    assert_eq!(job.end().code(), 0);
}

#[test]
fn python_functions_are_named() {
    Family::ALL.into_iter().for_each(known_python_functions);
}

/// Takes stacks as fast as possible of threads that sleep in all kinds of system calls, and of one
/// that gets signals: no call returns early, and no signal is lost.
fn threads_are_not_disturbed(family: Family) {
    let command = program(family, "sleeping_threads", []);
    let mut job = Job::observed(family, 1, &command).start();
    job.wait_for_answers();

    let mut ways: Vec<String> = Vec::new();
    let mut most = 0;
    // Often enough for every thread to be met in its system call.
    for _ in 0..25 {
        let stacks = job.client().json(&["stacks", "--threads"]);
        for way in stacks["ways"].as_array().expect("ways") {
            most = most.max(number(way, "/threads"));
            ways.push(way["way"].as_str().expect("a way").to_owned());
        }
    }

    assert!(
        most >= 5,
        "{family:?}: threads that sleep in calls that begin again"
    );
    for way in ["stopped", "asleep"] {
        assert!(
            ways.iter().any(|one| one == way),
            "{family:?}: no thread was {way}: {ways:?}"
        );
    }

    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);

    let text = ended.stdout().concat();
    let calls = text
        .lines()
        .filter(|line| line.ends_with(": 0 interrupted, 0 early, 0 wrong"));
    assert_eq!(calls.count(), 9, "{family:?}: {text}");
    assert!(
        text.contains("rank 0: 2000 signals\n"),
        "{family:?}: {text}"
    );
}

#[test]
fn taking_stacks_disturbs_no_thread() {
    Family::ALL.into_iter().for_each(threads_are_not_disturbed);
}
