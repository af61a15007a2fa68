//! `invivo exec` below real launchers: what the application and the launcher see is what they would see without
//! it. The programs here use no MPI and the tool processes are played by scripts, so this needs Open MPI's and
//! MPICH's launchers only; one that is not installed is left out, and said so.

mod stage;

use stage::{LAUNCHERS, Launcher, Stage, in_mpi, lines_of};
use std::time::Duration;

/// Ranks of the application in these tests, and processes in all.
const RANKS: u32 = 2;
const TOTAL: u32 = 4;
/// Bare runs at most, until one ends as the observed one did.
const TRIES: usize = 40;

#[test]
fn exit_codes_and_signals_reach_the_launcher() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        // One rank ends first: whose status a launcher takes of several is a matter of time.
        for script in [
            "echo $RANK",
            "[ $RANK = 0 ] || exit 41; sleep 1",
            "[ $RANK = 1 ] || kill -SEGV $$; sleep 1",
        ] {
            // MPICH's launcher answers 255 to the third, one time in a dozen, where it mostly answers 11: an
            // observed run ends as one of the bare runs does.
            let observed = end(&stage.run(launcher, TOTAL, true, script));
            let bare = || end(&stage.run(launcher, RANKS, false, script));
            assert!(
                std::iter::repeat_with(bare)
                    .take(TRIES)
                    .any(|bare| bare == observed),
                "{}: {script}: no bare run ends with {observed:?}",
                launcher.name
            );
        }
        let missing = stage
            .launch(launcher, TOTAL, true, &["/nonexistent/app"])
            .wait_with_output();
        let missing = missing.expect("ended");
        let text = String::from_utf8_lossy(&missing.stderr);
        let told = text
            .lines()
            .filter(|line| line.starts_with("invivo: cannot start /nonexistent/app"));
        assert_eq!(told.count(), 1, "one sentence per node: {text}");
        assert!(!missing.status.success());
    }
}

/// Exit status of the launcher, and what its ranks printed.
fn end(output: &std::process::Output) -> (Option<i32>, Vec<String>) {
    (output.status.code(), printed(output))
}

/// What came on stdout, in whatever order the ranks had; MPICH's launcher names the process of a failed rank.
fn printed(output: &std::process::Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.contains("  PID "))
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

#[test]
fn the_application_finds_its_world_as_without_us() {
    // Directory, input, limits, mask of processors, signals, descriptors by kind, group: of every rank.
    let script = "exec > out.$KIND.$RANK; pwd; [ $RANK != 0 ] || cat; ulimit -a; echo $0 $*;
        grep -E 'Cpus_allowed|Sig(Blk|Ign)|NoNewPrivs' /proc/self/status;
        ls -l /proc/self/fd | sed -nE 's/.* [0-9]+ -> ([a-z]+):.*/\\1/p' | sort | uniq -c;
        env | sort";
    // What each run has of its own, and what a launcher says of its own command line.
    let differs = |line: &str| {
        let own = [
            "KIND=",
            "OMPI_FILE_LOCATION=",
            "OMPI_MCA_orte_",
            "OMPI_MCA_ess_",
            "PMIX_",
            "PWD=",
            "OLDPWD=",
            "_=",
            "SHLVL=",
            "INVIVO_",
            "LD_PRELOAD=",
            "OMPI_ARGV=",
            "PMI_ID=",
            "HYDI_CONTROL_FD=",
            "PMI_FD=",
        ];
        own.iter().any(|prefix| line.starts_with(prefix))
    };
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let read = |kind: &str, rank: u32| {
            let text = std::fs::read_to_string(stage.path(&format!("out.{kind}.{rank}"))).expect("written");
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        // Bare with as many processes: placement depends on the number, and is not ours.
        for (kind, processes, observed) in [
            ("bare", TOTAL, false),
            ("small", RANKS, false),
            ("seen", TOTAL, true),
        ] {
            let script = format!("KIND={kind}; {script}");
            let output = stage.run_reading(launcher, processes, observed, &script, Some("a line of input\n"));
            assert!(output.status.success());
        }
        for rank in 0..RANKS {
            let keep = |lines: Vec<String>| {
                lines
                    .into_iter()
                    .filter(|line| !differs(line))
                    .collect::<Vec<_>>()
            };
            let (bare, small, seen) = (read("bare", rank), read("small", rank), read("seen", rank));
            // PMI_SIZE is what MPI itself needs; every other count is that of the small world.
            let expected: Vec<String> = keep(bare.clone())
                .into_iter()
                .map(|line| match line.split_once('=') {
                    Some((name, _))
                        if name != "PMI_SIZE"
                            && name.contains("SIZE")
                                | name.contains("NUM_PROCS")
                                | name.contains("NRANKS") =>
                    {
                        small
                            .iter()
                            .find(|other| other.starts_with(&format!("{name}=")))
                            .expect("the same names")
                            .clone()
                    }
                    _ => line,
                })
                .collect();
            // The kinds of descriptors: ours are a memfd (a path, not counted) and a socket.
            let sockets = |lines: &[String]| {
                let line = lines.iter().find(|line| line.trim_end().ends_with(" socket"));
                line.and_then(|line| line.split_whitespace().next()?.parse::<u32>().ok())
                    .unwrap_or(0)
            };
            assert_eq!(sockets(&seen), sockets(&bare) + 1, "{}", launcher.name);
            let rest = |lines: Vec<String>| {
                lines
                    .into_iter()
                    .filter(|line| !line.trim_end().ends_with(" socket"))
                    .collect::<Vec<_>>()
            };
            pretty(&rest(expected), &rest(keep(seen.clone())), launcher.name);
            assert!(
                seen.iter().any(|line| line.starts_with("INVIVO_FDS=")),
                "only that one of ours"
            );
            assert_eq!(seen.iter().filter(|line| line.starts_with("INVIVO_")).count(), 1);
            let preload = seen
                .iter()
                .find(|line| line.starts_with("LD_PRELOAD="))
                .expect("ours");
            assert!(preload.ends_with("libinvivo_shim.so"));
        }
    }
}

/// Compares line by line, so that a difference can be read.
fn pretty(expected: &[String], seen: &[String], launcher: &str) {
    let missing: Vec<_> = expected.iter().filter(|line| !seen.contains(line)).collect();
    let added: Vec<_> = seen.iter().filter(|line| !expected.contains(line)).collect();
    assert!(
        missing.is_empty() && added.is_empty(),
        "{launcher}: without us {missing:#?}, with us {added:#?}"
    );
}

/// Open MPI's mpiexec now and then stops passing signals on, to all of its processes; it lost two of 24 in bare runs, too. A
/// job in which that happens says nothing about us, and another is started, so often at most.
const JOBS: usize = 8;

#[test]
fn every_signal_arrives_once() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let tried = (0..JOBS).any(|_| signals_arrive_once(launcher));
        assert!(
            tried,
            "{} passed signals on in none of {JOBS} jobs",
            launcher.name
        );
    }
}

/// False where the launcher passes a signal on to nobody; what reaches one rank must reach all, once.
fn signals_arrive_once(launcher: &Launcher) -> bool {
    let stage = Stage::new();
    let witness = stage.witness();
    let mut job = stage.launch(launcher, TOTAL, true, &[&witness]);
    let pid = |rank: u32| {
        lines_of(&stage.path(&format!("pid.{rank}")))
            .first()?
            .parse::<i32>()
            .ok()
    };
    stage::until("the ranks run", || (0..RANKS).all(|rank| pid(rank).is_some()));
    let count = |rank: u32, name: &str| {
        lines_of(&stage.path(&format!("got.{rank}")))
            .iter()
            .filter(|line| *line == name)
            .count()
    };
    let counts = |name: &str| -> Vec<usize> { (0..RANKS).map(|rank| count(rank, name)).collect() };
    let settle = || std::thread::sleep(Duration::from_millis(150));
    for name in launcher.forwards {
        for round in 1..=3 {
            stage::kill(job.id() as i32, name);
            let came = stage::comes_within(Duration::from_secs(5), || {
                counts(name).iter().all(|count| *count >= round)
            });
            if !came && counts(name).iter().all(|count| *count < round) {
                std::fs::write(stage.path("stop"), "").expect("written");
                job.wait().expect("ended");
                return false;
            }
            settle();
            assert_eq!(
                counts(name),
                vec![round; RANKS as usize],
                "{} {name}",
                launcher.name
            );
        }
    }
    // To the supervisor alone, from somebody who is not the launcher.
    let supervisor = stage::parent(pid(1).expect("a rank"));
    for (round, name) in ["USR2", "TERM", "INT"].into_iter().enumerate() {
        let before = count(1, name);
        stage::kill(supervisor, name);
        stage::until("the signal is passed on", || count(1, name) > before);
        settle();
        assert_eq!(count(1, name), before + 1, "{} {name} {round}", launcher.name);
    }
    std::fs::write(stage.path("stop"), "").expect("written");
    job.wait().expect("ended");
    true
}

#[test]
fn the_end_asked_for_by_a_signal_comes_once_and_leaves_nothing_behind() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let witness = stage.witness();
        let mut job = stage.launch(launcher, TOTAL, true, &[&witness]);
        let running = || (0..RANKS).all(|rank| !lines_of(&stage.path(&format!("pid.{rank}"))).is_empty());
        stage::until("the ranks run", || running() && !stage.jobs().is_empty());
        stage::kill(job.id() as i32, "TERM");
        let got = |rank: u32| {
            let lines = lines_of(&stage.path(&format!("got.{rank}")));
            lines
                .into_iter()
                .filter(|line| line != "CONT")
                .collect::<Vec<_>>()
        };
        stage::until("the ranks are told", || {
            (0..RANKS).all(|rank| !got(rank).is_empty())
        });
        stage::until("nothing is left", || {
            stage.jobs().is_empty() && stage.sockets().is_empty()
        });
        std::thread::sleep(Duration::from_millis(200));
        for rank in 0..RANKS {
            assert_eq!(got(rank), ["TERM"], "{}", launcher.name);
        }
        std::fs::write(stage.path("stop"), "").expect("written");
        job.wait().expect("ended");
    }
}

#[test]
fn a_killed_supervisor_takes_its_rank_along() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let mut job = stage.start(launcher, TOTAL, true, "echo $$ > pid.$RANK; exec sleep 60");
        let pid = || lines_of(&stage.path("pid.1")).first()?.parse::<i32>().ok();
        stage::until("the rank runs", || pid().is_some());
        let pid = pid().expect("a rank");
        stage::kill(stage::parent(pid), "KILL");
        stage::until("the rank is gone", || !stage::alive(pid));
        assert!(!job.wait().expect("ended").success());
    }
}

#[test]
fn the_report_is_told_once_and_written_where_it_was_asked_for() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        stage.analysis_node_reports();
        let output = stage.run_with(
            launcher,
            TOTAL,
            &["--report", "report.json"],
            &format!("{}; sleep 0.5; echo out $RANK", in_mpi()),
        );
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with("invivo: job staged"))
                .count(),
            1,
            "{text}"
        );
        assert!(!text.contains("invivo: the"), "no trouble: {text}");
        let report = std::fs::read(stage.path("report.json")).expect("written");
        let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
        assert!(report.is_object());
        assert!(stage.jobs().is_empty() && stage.sockets().is_empty());
        let quiet = stage.run_with(launcher, TOTAL, &["--quiet"], &format!("{}; sleep 0.5", in_mpi()));
        assert!(!String::from_utf8_lossy(&quiet.stderr).contains("invivo:"));
    }
}

/// The measurement was shut down while the job runs on: the report is there, the job is off the list, and the one line
/// comes when the job ends.
#[test]
fn a_report_before_the_end_is_written_then_and_told_at_the_end() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        stage.analysis_node_shuts_down();
        let script = format!(
            "RANK=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; {}; until [ -e stop ]; do sleep 0.05; done",
            in_mpi()
        );
        let mut command = stage.launch_line(launcher, TOTAL, &["exec", "--report", "report.json"]);
        let job = command
            .args(["--", "bash", "-c", &script])
            .spawn()
            .expect("started");
        stage::until("the report", || stage.path("report.json").exists());
        stage::until("the job is off the list", || stage.jobs().is_empty());
        assert!(
            stage.path("report.json.config.toml").exists(),
            "with what it was made"
        );
        std::fs::write(stage.path("stop"), "").expect("written");
        let output = job.wait_with_output().expect("ended");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("invivo:")).collect();
        assert!(
            lines.len() == 1 && lines[0].starts_with("invivo: job staged"),
            "{lines:?}"
        );
        assert!(stage.sockets().is_empty());
    }
}

/// A process of a job over two hosts, as a launcher would start it: a rank and a place on each, the root on the last.
fn on_first_host(
    stage: &stage::Stage,
    rank: u32,
    local_size: u32,
    arguments: &[&str],
) -> std::process::Child {
    let mut command = stage.invivo();
    command.args(["exec", "--"]).args(arguments);
    for (name, value) in [
        ("OMPI_COMM_WORLD_RANK", rank),
        ("OMPI_COMM_WORLD_SIZE", 5),
        ("OMPI_COMM_WORLD_LOCAL_RANK", rank),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", local_size),
    ] {
        command.env(name, value.to_string());
    }
    let stderr = std::fs::File::create(stage.path(&format!("stderr.{rank}"))).expect("a file");
    command.stderr(stderr).spawn().expect("started")
}

#[test]
fn a_host_without_the_root_is_tidied_up_by_its_highest_process() {
    let stage = Stage::new();
    stage.tool_places_tell();
    let script = format!(
        "echo $OMPI_COMM_WORLD_SIZE of $OMPI_COMM_WORLD_LOCAL_SIZE > seen; {}; until [ -e stop ]; do sleep 0.05; done",
        in_mpi()
    );
    let mut rank = on_first_host(&stage, 0, 2, &["bash", "-c", &script]);
    let mut place = on_first_host(&stage, 1, 2, &["bash", "-c", &script]);
    stage::until("the place runs", || {
        !lines_of(&stage.path("place.arguments")).is_empty()
    });
    let arguments = lines_of(&stage.path("place.arguments"));
    assert!(arguments[0].contains("--layout 2:4,16:nodes=2"), "{arguments:?}");
    assert_eq!(lines_of(&stage.path("seen")), ["2 of 1"]);
    assert_eq!(stage.sockets().len(), 1, "the job's directory on this host");
    std::fs::write(stage.path("stop"), "").expect("written");
    assert!(place.wait().expect("ended").success() && rank.wait().expect("ended").success());
    assert!(stage.sockets().is_empty(), "{:?}", stage.sockets());
}

#[test]
fn a_launcher_that_shares_the_processes_otherwise_is_told_how() {
    let stage = Stage::new();
    let mut first = on_first_host(&stage, 0, 3, &["true"]);
    assert_eq!(first.wait().expect("ended").code(), Some(2));
    let lines = lines_of(&stage.path("stderr.0"));
    assert!(lines.len() == 1 && lines[0].contains("--nodes"), "{lines:?}");
    assert!(stage.sockets().is_empty());
}

#[test]
fn a_killed_analysis_node_ends_neither_the_job_nor_its_supervisor() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let mut job = stage.start(
            launcher,
            TOTAL,
            true,
            &format!(
                "{}; echo $$ > pid.$RANK; until [ -e stop ]; do sleep 0.02; done",
                in_mpi()
            ),
        );
        let node = || lines_of(&stage.path("node.pid")).first()?.parse::<i32>().ok();
        stage::until("the job runs", || {
            node().is_some() && !lines_of(&stage.path("pid.0")).is_empty() && !stage.jobs().is_empty()
        });
        let node = node().expect("a process");
        let root = stage::parent(node);
        stage::kill(node, "KILL");
        stage::until("the job is off the list", || stage.jobs().is_empty());
        std::thread::sleep(Duration::from_millis(300));
        assert!(
            stage::alive(root) && job.try_wait().expect("asked").is_none(),
            "{}",
            launcher.name
        );
        stage::kill(root, "TERM");
        stage::until("the supervisor leaves", || !stage::alive(root));
        std::fs::write(stage.path("stop"), "").expect("written");
        job.wait().expect("ended");
    }
}

#[test]
fn run_is_the_launcher_with_the_extra_ranks() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let mut command = stage.invivo();
        command
            .args(["run", "--dry-run", "--"])
            .arg(launcher.name)
            .args(["-n", "2", "./app", "a b"]);
        let line = String::from_utf8(command.output().expect("ended").stdout).expect("text");
        let invivo = stage.path("bin/invivo");
        assert_eq!(
            line,
            format!(
                "{} -n 4 {} exec --no-config -- ./app 'a b'\n",
                launcher.name,
                invivo.display()
            )
        );

        let mut command = stage.invivo();
        command
            .args(["run", "--", launcher.name])
            .args(launcher.options)
            .args(["-n", "2"]);
        let output = command
            .args(["bash", "-c", "echo rank; exit 9"])
            .output()
            .expect("ended");
        assert_eq!(output.status.code(), Some(9), "{output:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .filter(|line| *line == "rank")
                .count(),
            2
        );
    }
}

#[test]
fn a_program_without_mpi_ends_the_job_and_is_named() {
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let stage = Stage::new();
        let output = stage.run_with(launcher, TOTAL, &[], "echo usage: app FILE");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(printed(&output), ["usage: app FILE", "usage: app FILE"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            text,
            "invivo: the program ended without calling MPI: nothing was observed\n"
        );
        assert!(!stage.path("node.pid").exists(), "nothing of MPI was started");
        assert!(stage.jobs().is_empty() && stage.sockets().is_empty());
    }
}

#[test]
fn without_a_launcher_it_says_what_to_type() {
    let stage = Stage::new();
    for (line, part) in [
        ("exec -- ./app", "invivo run -- mpiexec -n 4 ./app"),
        ("exec -- mpiexec -n 4 ./app", "invivo run -- mpiexec -n 4 ./app"),
        ("run -- ./app", "invivo run -- mpiexec -n 4 ./app"),
        ("run -- mpiexec ./app", "invivo run -- mpiexec -n 4 ./app"),
    ] {
        let output = stage.invivo().args(line.split(' ')).output().expect("ended");
        assert_eq!(output.status.code(), Some(2), "{line}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            text.starts_with("invivo: ") && text.lines().count() == 1 && text.contains(part),
            "{line}: {text}"
        );
    }
    for launcher in LAUNCHERS.iter().filter(|launcher| launcher.installed()) {
        let output = stage
            .launch_line(launcher, 4, &["run", "--", "./app"])
            .output()
            .expect("ended");
        let text = String::from_utf8_lossy(&output.stderr);
        let told = text
            .lines()
            .filter(|line| line.contains("type: invivo run -- mpiexec -n 4 ./app"));
        assert_eq!(told.count(), 1, "one sentence per job: {text}");
    }
}
