//! What is measured of ranks beside their calls, against what they say of themselves: by
//! getrusage, and by what they count.

use invivo_e2e::checks;
use invivo_e2e::clients::number;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{endless_melt, marking, measured, measured_in_phases, metric_stages};
use serde_json::Value;
use std::time::Duration;

const RANKS: u32 = 2;
const STEPS: u32 = 300;
/// Pages that a step touches, and how often it sleeps.
const PAGES: u64 = 50;
const SLEEPS: u64 = 2;

/// What a rank says of a stage.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    faults: u64,
    major: u64,
    voluntary: u64,
    involuntary: u64,
    cpu_ns: u64,
}

fn used(job: &Running, stage: usize) -> Used {
    let mut sum = Used::default();
    for rank in 0..RANKS {
        let file = job.logs().join(format!("{rank}.stage-{stage}"));
        let text = std::fs::read_to_string(file).expect("what a rank used");
        let numbers: Vec<u64> = (text.split_whitespace())
            .map(|number| number.parse().expect("a number"))
            .collect();
        let [minor, major, voluntary, involuntary, cpu_ns] = numbers[..] else {
            panic!("{text}");
        };
        sum.faults += minor + major;
        sum.major += major;
        sum.voluntary += voluntary;
        sum.involuntary += involuntary;
        sum.cpu_ns += cpu_ns;
    }
    sum
}

/// All ranks and all of the run in one cell.
fn total(job: &Running, metric: &str) -> Value {
    let words = [
        "heatmap",
        "--metric",
        metric,
        "--columns",
        "1",
        "--rows",
        "1",
    ];
    let answer = job.client().json(&words);
    answer["rows"][0]["total"].clone()
}

fn sum(job: &Running, metric: &str) -> u64 {
    number(&total(job, metric), "/sum")
}

fn stage(job: &mut Running, stage: usize) -> Used {
    job.tell(&format!("go-{stage}"));
    job.wait_for_notes(&format!("stage-{stage}"));
    used(job, stage)
}

/// Others that may be measured at the same time.
fn set(job: &Running, names: &str) {
    let words = ["metrics", "set", names, "--every", "20ms"];
    job.client().all_do(RANKS, &words);
}

fn near(what: &str, told: u64, expected: u64, more: u64) {
    let within = expected.saturating_sub(more)..=expected + more;
    assert!(within.contains(&told), "{what}: {told} of {expected}");
}

/// Metrics A in a stage, B in the next, A again: each has what was in its own stages.
fn sets_change_while_a_program_runs(family: Family) {
    let command = metric_stages(family, 3, STEPS);
    let mut job = Job::observed(family, RANKS, &command).start();
    job.wait_for_answers();
    let none = job.client().json(&["metrics"]);
    assert_eq!(number(&none, "/ranks_measured"), 0, "{none}");
    let first = "page-faults,major-faults,context-switches,cpu-time,resident-memory,program";
    set(&job, first);
    let status = job.client().json(&["metrics"]);
    assert_eq!(
        number(&status, "/ranks_measured"),
        u64::from(RANKS),
        "{status}"
    );
    let mut one = stage(&mut job, 0);
    set(&job, "run-delay,involuntary-switches");
    let ranks = u64::from(RANKS);
    let steps = ranks * u64::from(STEPS);
    assert!(one.faults >= steps * PAGES, "{one:?}");
    let between = |job: &Running, one: &Used| {
        // A rank that waits for its stage touches nothing; it looks for a file 50 times a second.
        near("page-faults", sum(job, "page-faults"), one.faults, 20);
        near("major-faults", sum(job, "major-faults"), one.major, 5);
        let switches = one.voluntary + one.involuntary;
        near(
            "switches",
            sum(job, "context-switches"),
            switches,
            switches / 10 + 100,
        );
        near(
            "cpu-time",
            sum(job, "cpu-time"),
            one.cpu_ns,
            one.cpu_ns / 10,
        );
    };
    between(&job, &one);
    assert_eq!(sum(&job, "counter:steps"), steps);
    // One rank's is 100 and the other's 101 from the begin of the stage on.
    let value = total(&job, "value:stage");
    assert!((190..=201).contains(&number(&value, "/sum")), "{value}");
    let memory = total(&job, "resident-memory");
    assert!(number(&memory, "/sum") > 1 << 20, "{memory}");
    let measured_ns = number(&total(&job, "page-faults"), "/recorded_ns");

    let other = stage(&mut job, 1);
    // What was not measured meanwhile has neither value nor time.
    between(&job, &one);
    let now_ns = number(&total(&job, "page-faults"), "/recorded_ns");
    assert_eq!(now_ns, measured_ns);
    assert_eq!(sum(&job, "counter:steps"), steps);
    set(&job, first);
    let involuntary = sum(&job, "involuntary-switches");
    near(
        "involuntary",
        involuntary,
        other.involuntary,
        other.involuntary / 10 + 20,
    );
    let delayed_ns = number(&total(&job, "run-delay"), "/recorded_ns");

    let again = stage(&mut job, 2);
    job.client().all_do(RANKS, &["metrics", "off"]);
    one.faults += again.faults;
    one.major += again.major;
    one.voluntary += again.voluntary;
    one.involuntary += again.involuntary;
    one.cpu_ns += again.cpu_ns;
    between(&job, &one);
    assert_eq!(sum(&job, "counter:steps"), 2 * steps);
    let now_ns = number(&total(&job, "run-delay"), "/recorded_ns");
    assert_eq!(now_ns, delayed_ns);
    assert!(one.voluntary >= 2 * steps * SLEEPS, "{one:?}");
    println!("{family:?}: {one:?}, then {other:?}");

    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    checks::conserved(&ended.report(), RANKS);
    ended.assert_nothing_left();
}

#[test]
fn sets_change_on_open_mpi() {
    sets_change_while_a_program_runs(Family::Ompi);
}

#[test]
fn sets_change_on_mpich() {
    sets_change_while_a_program_runs(Family::Mpich);
}

/// While a rank is paused nothing of it counts, and a reset discards what was before it.
#[test]
fn pauses_and_resets_are_kept_to() {
    let command = metric_stages(Family::Mpich, 2, STEPS);
    let mut job = Job::observed(Family::Mpich, RANKS, &command).start();
    job.wait_for_answers();
    set(&job, "page-faults,cpu-time");
    let one = stage(&mut job, 0);
    job.client().pause(RANKS, "30s");
    let recorded_ns = |job: &Running| number(&total(job, "page-faults"), "/recorded_ns");
    // Readings around the pause's begin are sent by then.
    std::thread::sleep(Duration::from_millis(500));
    let before_ns = recorded_ns(&job);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(recorded_ns(&job), before_ns);
    job.client().resume(RANKS);
    near("page-faults", sum(&job, "page-faults"), one.faults, 20);

    job.client().all_do(RANKS, &["reset"]);
    // Of what is added between the two readings around it a part lies before it, by time.
    std::thread::sleep(Duration::from_millis(100));
    let two = stage(&mut job, 1);
    job.client().all_do(RANKS, &["metrics", "off"]);
    near("behind a reset", sum(&job, "page-faults"), two.faults, 20);
    job.tell("stop");
    let ended = job.end();
    assert_eq!(ended.code(), 0);
    ended.assert_nothing_left();
}

/// A program says when it touched pages; columns say the same.
#[test]
fn columns_have_what_was_in_their_time() {
    let command = measured_in_phases(Family::Ompi, 9);
    let job = Job::observed(Family::Ompi, RANKS, &command);
    let job = job.options(["--metrics", "page-faults@20ms"]);
    let mut job = job.start();
    job.wait_for_answers();
    let begin = |job: &Running, phase: u32| {
        let begin = format!("rank 0 phase {phase} at ");
        let text = job.stdout().join("\n");
        let mut at = text.lines().filter_map(|line| line.strip_prefix(&begin));
        at.next()?.parse::<u64>().ok()
    };
    let to_ns = job.until("the last phase", |job| begin(job, 2));
    let from_ns = begin(&job, 1).expect("the phase before");
    std::thread::sleep(Duration::from_secs(1));
    let answer = job.client().json(&["heatmap", "--metric", "page-faults"]);
    let width_ns = number(&answer, "/width_ns");
    let first = answer["from_ns"].as_i64().expect("a begin");
    let first = number(&answer, "/begin_ns").saturating_add_signed(first);
    let mut sums = [0; 3];
    for row in answer["rows"].as_array().expect("rows") {
        for (column, cell) in row["cells"].as_array().expect("cells").iter().enumerate() {
            let begin = first + column as u64 * width_ns;
            let end = begin + width_ns;
            let part = match () {
                () if end <= from_ns => 0,
                // A reading that comes late has what was before it.
                () if begin >= to_ns + 600_000_000 => 2,
                () => 1,
            };
            sums[part] += number(cell, "/sum");
        }
    }
    println!("{sums:?} faults in three phases, columns of {width_ns} ns");
    assert!(sums[1] > 5000, "{sums:?}");
    // MPI and C libraries touch some pages for the first time.
    assert!(sums[2] < sums[1] / 20 && sums[0] < 3000, "{sums:?}");
    assert_eq!(job.end().code(), 0);
}

/// Counters and values of programs in C, Fortran and Python, measured from the start.
fn programs_keep_what_they_count(family: Family) {
    for (language, command) in measured(family, 15) {
        let job = Job::observed(family, RANKS, &command);
        let job = job.options(["--metrics", "program@50ms"]);
        let mut job = job.env("PYTHONPATH", marking()).start();
        job.wait_for_answers();
        let told = job.until("steps to be counted", |job| {
            let answer = job.client().try_json(&["metrics"])?;
            let names = answer["metrics"].as_array()?.iter();
            let mut names = names.filter_map(|one| one["name"].as_str());
            names.any(|name| name == "counter:steps").then_some(answer)
        });
        let is_there = |name: &str| {
            let mut metrics = told["metrics"].as_array().expect("metrics").iter();
            metrics.any(|one| one["name"].as_str() == Some(name))
        };
        assert!(is_there("value:cells"), "{language}: {told}");
        let enough = |job: &Running| Some(sum(job, "counter:steps")).filter(|steps| *steps > 100);
        let steps = job.until("many steps", enough);
        // 1000 and 1001, from the first step on.
        let cells = total(&job, "value:cells");
        assert_eq!(number(&cells, "/min"), 1000, "{language}: {cells}");
        assert_eq!(number(&cells, "/max"), 1001, "{language}: {cells}");
        if language != "C" {
            // They go on between two questions.
            let twice = sum(&job, "counter:twice");
            let later = sum(&job, "counter:steps");
            assert!(
                (2 * steps - steps / 2..=2 * later + later / 2).contains(&twice),
                "{language}: {steps} and {later} steps, {twice}"
            );
        }
        let ended = job.end();
        assert_eq!(ended.code(), 0, "{language}");
        // What they printed is what they counted, and no less than was measured.
        let text = ended.stdout().join("\n");
        let printed: u64 = (text.lines())
            .filter_map(|line| line.split(" steps ").nth(1))
            .filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok())
            .sum();
        assert!(printed >= steps, "{language}: {printed} of {steps}");
    }
}

#[test]
fn programs_count_on_open_mpi() {
    programs_keep_what_they_count(Family::Ompi);
}

#[test]
#[ignore = "long: on MPICH as on Open MPI"]
fn programs_count_on_mpich() {
    programs_keep_what_they_count(Family::Mpich);
}

/// What cannot be measured is refused with the reason, and changes nothing.
#[test]
fn what_cannot_be_measured_changes_nothing() {
    let command = metric_stages(Family::Ompi, 1, 10);
    let mut job = Job::observed(Family::Ompi, RANKS, &command).start();
    job.wait_for_answers();
    let client = job.client();
    client.all_do(RANKS, &["metrics", "set", "page-faults"]);
    let status = client.json(&["metrics"]);
    let interval_ns = number(&status, "/interval_min_ns");
    assert_eq!(interval_ns, 100_000_000, "{status}");
    let mut refusals = vec![
        (
            vec!["metrics", "set", "page-fault"],
            "no metric that can be measured",
        ),
        (
            vec!["metrics", "set", "cpu-time", "--every", "1ms"],
            "10 ms",
        ),
        (vec!["heatmap", "--metric", "faults"], "no such metric"),
    ];
    let listed = client.json(&["metrics", "list"]);
    let without = |name: &str| {
        let mut metrics = listed["metrics"].as_array().expect("metrics").iter();
        let of = metrics.find(|one| one["name"].as_str() == Some(name));
        let of = of.expect("every metric is there");
        of["without"][0]["reason"].as_str().map(str::to_owned)
    };
    assert_eq!(without("page-faults"), None, "{listed}");
    // Where this machine counts them, nothing is refused.
    match without("cycles").as_deref() {
        Some("unsupported") => {
            let words = vec!["metrics", "set", "cycles,cpu-time"];
            refusals.push((words, "cycles: this machine does not count it"));
        }
        Some("forbidden") => {
            let words = vec!["metrics", "set", "cycles,cpu-time"];
            refusals.push((words, "perf_event_paranoid"));
        }
        other => println!("cycles are measured here: {other:?}"),
    }
    for (words, told) in refusals {
        let output = client.run(&words);
        assert!(!output.status.success(), "{words:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let text = text + &String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(told), "{words:?}: {text}");
        let now = client.json(&["metrics"]);
        assert_eq!(number(&now, "/interval_min_ns"), interval_ns, "{now}");
        assert_eq!(number(&now, "/ranks_measured"), u64::from(RANKS), "{now}");
    }
    job.tell("go-0");
    job.tell("stop");
    assert_eq!(job.end().code(), 0);
}

/// In which columns a metric was measured: for how long in each, in ns, of a rank.
fn measured_in(job: &Running, metric: &str) -> Vec<u64> {
    let answer = job
        .client()
        .json(&["heatmap", "--metric", metric, "--columns", "256"]);
    let cells = answer["rows"][0]["cells"].as_array().expect("cells").iter();
    cells.map(|cell| number(cell, "/recorded_ns")).collect()
}

/// LAMMPS runs on while first A, then B, then A again is measured, for two seconds each: by
/// commands, and by a session. Each value is where it was on, and for as long.
#[test]
#[ignore = "long"]
fn lammps_is_measured_by_turns() {
    let folder = tempfile::tempdir().expect("a directory");
    let command = endless_melt(folder.path());
    let mut job = Job::observed(Family::Ompi, RANKS, &command).start();
    job.wait_for_answers();
    let (first, second) = ("cpu-time,page-faults", "resident-memory,run-delay");
    let session = job.directory().join("turns.toml");
    let step = |metrics: &str| format!("[[step]]\nmetrics = \"{metrics}@20ms\"\n");
    let wait = "[[step]]\nwait = \"2s\"\n";
    let text = [first, second, first]
        .map(|names| step(names) + wait)
        .concat();
    let end = "[[step]]\nmetrics = \"off\"\n";
    std::fs::write(&session, format!("name = \"turns\"\n{text}{end}")).expect("a session");

    let by_commands = |job: &Running| {
        for names in [first, second, first] {
            set(job, names);
            std::thread::sleep(Duration::from_secs(2));
        }
        job.client().all_do(RANKS, &["metrics", "off"]);
    };
    let by_session = |job: &Running| {
        let path = session.display().to_string();
        let output = job.client().run(&["session", "run", &path]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
    };
    for way in ["commands", "a session"] {
        job.client().all_do(RANKS, &["reset"]);
        match way {
            "commands" => by_commands(&job),
            _ => by_session(&job),
        }
        let of = |metric| number(&total(&job, metric), "/recorded_ns") as f64 / 1e9;
        let ranks = f64::from(RANKS);
        let (long, short) = (of("cpu-time") / ranks, of("run-delay") / ranks);
        println!("{way}: A for {long:.2} s of each rank, B for {short:.2} s");
        assert!((3.9..5.0).contains(&long), "{way}: {long} s");
        assert!((1.9..2.6).contains(&short), "{way}: {short} s");
        assert_eq!(of("page-faults"), of("cpu-time"), "{way}");
        assert_eq!(of("resident-memory"), of("run-delay"), "{way}");
        // The one ends where the other begins: both are in two columns at most.
        let (a, b) = (
            measured_in(&job, "cpu-time"),
            measured_in(&job, "run-delay"),
        );
        let both = a.iter().zip(&b).filter(|(a, b)| **a > 0 && **b > 0).count();
        assert!(both <= 2, "{way}: {a:?} and {b:?}");
        let turns = a.iter().zip(&b).map(|(a, b)| (*a > *b, *b > *a));
        let turns = turns.filter(|turn| turn.0 || turn.1).map(|turn| turn.0);
        let mut turns: Vec<bool> = turns.collect();
        turns.dedup();
        assert_eq!(turns, [true, false, true], "{way}: {a:?} and {b:?}");
        // It computes all the time, and so it has a processor but for others that want it.
        let cpu = sum(&job, "cpu-time") as f64 / 1e9 / ranks / long;
        assert!((0.4..1.2).contains(&cpu), "{way}: {cpu} of the time");
        let memory = sum(&job, "resident-memory");
        assert!(memory > 20 << 20, "{way}: {memory} bytes");
    }
    drop(job);
}
