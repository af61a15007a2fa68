//! All ways to launch a job: programs have the environment of a bare run, and errors advise.

use invivo_e2e::checks;
use invivo_e2e::job::Ended;
use invivo_e2e::job::Job;
use invivo_e2e::manual;
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Conversation, program, with_mpi_inside};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::Duration;

const RANKS: u32 = 2;
/// The standard input of the jobs.
const INPUT: &str = "the first rank's\nalone\n";

/// The environment of one rank: processors, limits, arguments, variables, by their names.
type RankEnvironment = BTreeMap<String, String>;

fn environments(ended: &Ended, ranks: u32) -> Vec<RankEnvironment> {
    let of_rank = |rank: u32| {
        let path = ended.logs().join(format!("{rank}.found"));
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.lines()
            .map(|line| {
                // A value may contain the separator: only the first one counts.
                let at = line.find(['=', ':']).unwrap_or(line.len());
                (line[..at].to_owned(), line[at..].to_owned())
            })
            .collect()
    };
    (0..ranks).map(of_rank).collect()
}

/// The names of things that differ between two runs of a job.
fn differences(first: &[RankEnvironment], second: &[RankEnvironment]) -> BTreeSet<String> {
    let pairs = first.iter().zip(second);
    pairs
        .flat_map(|(first, second)| {
            let differs = |name: &&String| first.get(*name) != second.get(*name);
            first
                .keys()
                .chain(second.keys())
                .filter(differs)
                .cloned()
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Variables that differ under Invivo, as the manual lists them: those that MPI itself reads, or
/// that configure its library.
fn allowed() -> BTreeSet<String> {
    let page = manual::text(manual::LAUNCHING);
    let section = page
        .split("### What differs\n")
        .nth(1)
        .expect("the list of what differs");

    let section = section.split("\n#").next().unwrap_or_default();
    let names = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    names.map(|name| format!("env {name}")).collect()
}

/// Variables that only these tests set.
const OF_THE_TESTS: [&str; 5] = [
    "env XDG_RUNTIME_DIR",
    "env XDG_STATE_HOME",
    "env INVIVO_DIST",
    "env INVIVO_DIST_HOOKS",
    "env INVIVO_PYTHON",
];

/// Two bare runs of a job.
struct Bare {
    stdout: Vec<String>,
    environments: Vec<RankEnvironment>,
    /// The names of things that differ between the two runs.
    varying: BTreeSet<String>,
}

impl Bare {
    fn run(what: &str, job: impl Fn() -> Job + Sync) -> Bare {
        // Two bare runs show what varies by itself.
        let [first, second] = std::thread::scope(|scope| {
            [(); 2]
                .map(|()| scope.spawn(|| job().at_the_same_time().run()))
                .map(|run| run.join().expect("a bare run"))
        });

        assert_eq!(first.code(), 0, "{what}: the bare run");
        let ranks = first.stdout().len() as u32;
        let of_first = environments(&first, ranks);
        Bare {
            stdout: first.stdout(),
            varying: differences(&of_first, &environments(&second, ranks)),
            environments: of_first,
        }
    }

    /// Checks that the observed run has the environment of the bare ones.
    fn same(&self, what: &str, observed: Job) -> Ended {
        let (ended, allowed) = (observed.run(), allowed());
        let ranks = self.environments.len() as u32;
        assert_eq!(ended.code(), 0, "{what}");
        assert_eq!(ended.stdout(), self.stdout, "{what}: standard outputs");

        let concerns = |name: &str| !allowed.contains(name) && !OF_THE_TESTS.contains(&name);
        let observed = environments(&ended, ranks);
        for (rank, (bare, observed)) in self.environments.iter().zip(&observed).enumerate() {
            // Things that vary between bare runs are not compared; others must not be added.
            let of = |found: &RankEnvironment| -> RankEnvironment {
                let same = found
                    .iter()
                    .filter(|(name, _)| concerns(name) && !self.varying.contains(*name));
                same.map(|(name, value)| (name.clone(), value.clone()))
                    .collect()
            };
            checks::same(
                &format!("{what}: the environment of rank {rank}"),
                &of(bare),
                &of(observed),
            );
        }

        let report = ended.report();
        checks::complete(&report, ranks);
        checks::same_calls(&report, &ended.own_counts().calls);
        ended.assert_nothing_left();
        ended
    }
}

/// By `invivo run` and by `invivo exec`, a rank has the processors, the directory, the limits, the
/// input and the variables of its bare run.
#[test]
fn a_rank_has_the_environment_of_a_bare_run() {
    for family in Family::ALL {
        let command = program(family, "rank_environment", ["one", "two words"]);
        let bare = Bare::run(&format!("{family:?}"), || {
            Job::bare(family, RANKS, &command).stdin(INPUT)
        });
        let observed = Job::run_by_invivo(family, RANKS, &command).stdin(INPUT);

        bare.same(&format!("{family:?}, invivo run"), observed);
        // With `invivo exec`, Open MPI chooses the binding by the total number of processes, unless
        // the line says which.
        let with_binding = |job: Job| {
            job.launcher_options(["--map-by", "core", "--bind-to", "core:overload-allowed"])
        };
        let bound = |job: Job| {
            if family.is_open_mpi() {
                with_binding(job)
            } else {
                job
            }
        };
        let observed = bound(Job::observed(family, RANKS, &command)).stdin(INPUT);
        bare.same(&format!("{family:?}, invivo exec"), observed);
    }
}

/// Several programs in one job: each rank runs its own program, and the tool processes none of
/// them.
#[test]
fn several_programs_are_one_job() {
    for family in Family::ALL {
        let [one, other] = ["one", "other"].map(|name| program(family, "rank_environment", [name]));
        let what = format!("{family:?}, two programs");
        let bare = Bare::run(&what, || {
            Job::bare(family, 1, &one).and(2, &other).stdin(INPUT)
        });
        let observed = Job::run_by_invivo(family, 1, &one)
            .and(2, &other)
            .stdin(INPUT);

        let ended = bare.same(&what, observed);
        let programs: Vec<String> = environments(&ended, 3)
            .iter()
            .map(|environment| environment["argument 1"].clone())
            .collect();
        assert_eq!(programs, [": one", ": other", ": other"], "{family:?}");
    }
}

/// Of several programs in one line, the one that cannot be started is named, once, with the reason,
/// by `invivo run` and by hand. Open MPI ends the job with that rank's status; Hydra leaves the
/// other program waiting for it, also without Invivo.
#[test]
fn the_program_that_cannot_be_started_is_named() {
    let missing = OsString::from("/nonexistent/other");
    for family in Family::ALL {
        let one = program(family, "rank_environment", ["one"]);
        let run = Job::run_by_invivo(family, 1, &one).and(2, std::slice::from_ref(&missing));
        let exec = |program: &[OsString]| -> Vec<OsString> {
            let invivo = invivo_e2e::paths::invivo().into();
            let words = [invivo, "exec".into(), "--no-config".into(), "--".into()];
            words.into_iter().chain(program.iter().cloned()).collect()
        };
        // Two ranks of the second program, and the tool process behind them.
        let second = exec(std::slice::from_ref(&missing));
        let by_hand = Job::bare(family, 1, &exec(&one)).and(3, &second);
        for (what, job) in [("invivo run", run), ("by hand", by_hand)] {
            let is_named =
                |line: &&String| line.contains("cannot start /nonexistent/other: no such program");
            let lines = match family.is_open_mpi() {
                true => {
                    let ended = job.run();
                    assert_eq!(ended.code(), 127, "{family:?}, {what}");
                    ended.our_lines()
                }
                false => {
                    let mut running = job.start();
                    running.until("the program is named", |running| {
                        running.our_lines().iter().find(is_named).map(drop)
                    });
                    // Whoever would name it again does so now.
                    std::thread::sleep(Duration::from_secs(1));
                    running.our_lines()
                }
            };
            let named = lines.iter().filter(is_named);
            assert_eq!(named.count(), 1, "{family:?}, {what}: {lines:?}");
            assert!(
                !lines.iter().any(|line| line.contains("rank_environment")),
                "{family:?}, {what}: {lines:?}"
            );
        }
    }
}

/// A file of hosts that has this machine only.
#[test]
fn a_host_file_is_left_to_the_launcher() {
    for family in Family::ALL {
        let hosts = tempfile::NamedTempFile::new().expect("a file");
        let (option, line) = match family.is_open_mpi() {
            true => ("--hostfile", "localhost slots=16\n"),
            false => ("-f", "localhost:16\n"),
        };

        std::fs::write(hosts.path(), line).expect("written");
        let file = hosts.path().to_str().expect("text");
        let command = program(family, "rank_environment", []);

        let with = |job: Job| job.launcher_options([option, file]).stdin(INPUT);
        let what = format!("{family:?}, a file of hosts");
        let bare = Bare::run(&what, || with(Job::bare(family, RANKS, &command)));
        bare.same(&what, with(Job::run_by_invivo(family, RANKS, &command)));
    }
}

/// Two jobs of one user on one machine do not disturb each other.
#[test]
fn two_jobs_run_at_once() {
    for family in Family::ALL {
        let command = Conversation::C.command(family);
        let first = Job::observed(family, RANKS, &command).start();
        let second = Job::run_by_invivo(family, RANKS, &command)
            .at_the_same_time()
            .start();
        for running in [second, first] {
            let ended = running.end();
            assert_eq!(ended.code(), 0, "{family:?}");
            let (report, own) = (ended.report(), ended.own_counts());
            checks::complete(&report, RANKS);
            checks::same_calls(&report, &own.calls);
            checks::same_traffic(&report, &own);
            ended.assert_nothing_left();
        }
    }
}

/// Where processes cannot copy from each other's memory, Open MPI moves long messages in small
/// pieces, and only while both sides are in MPI. Packets are such messages.
#[test]
fn packets_arrive_without_copies_between_processes() {
    let family = Family::Ompi;
    let command = Conversation::C.command(family);
    let without = |job: Job| job.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    let bare = without(Job::bare(family, RANKS, &command)).run();
    let observed = without(Job::observed(family, RANKS, &command)).run();
    assert_eq!((bare.code(), observed.code()), (0, 0));
    assert_eq!(bare.stdout(), observed.stdout());

    let (report, own) = (observed.report(), observed.own_counts());
    assert_eq!(report.job.ranks, RANKS);
    checks::same_but_for_drops(&report, RANKS, &own);
    observed.assert_nothing_left();
}

/// A script that replaces itself by the program, one that waits for it, and one that starts other
/// programs when the job is over: the preloaded library must still exist then.
#[test]
fn a_script_may_start_the_program() {
    for family in Family::ALL {
        for script in [
            "exec \"$@\"",
            "\"$@\"; exit $?",
            "\"$@\"; code=$?; sleep 1; sleep 0; exit $code",
        ] {
            let front: [OsString; 4] = ["sh".into(), "-c".into(), script.into(), "script".into()];
            let command: Vec<OsString> = front
                .into_iter()
                .chain(program(family, "init_finalize", ["3"]))
                .collect();

            let observed = Job::observed(family, RANKS, &command).run();
            assert_eq!(observed.code(), 3, "{family:?}: {script}");
            let stderr = observed.stderr().concat();
            // The loader complains of a preloaded library that is gone.
            assert!(!stderr.contains("ld.so"), "{stderr}");
            checks::complete(&observed.report(), RANKS);
            observed.assert_nothing_left();
        }
    }
}

/// A starter that closes every descriptor but three. Not on MPICH, whose connection to its launcher
/// is one of them.
#[test]
fn a_starter_may_close_inherited_descriptors() {
    const CLOSE: &str = "for fd in /proc/$$/fd/*; do fd=${fd##*/}; \
                         [ $fd -lt 3 ] || eval \"exec $fd>&-\"; done; exec \"$@\"";
    let front: [OsString; 4] = ["bash".into(), "-c".into(), CLOSE.into(), "starter".into()];
    let command: Vec<OsString> = front
        .into_iter()
        .chain(program(Family::Ompi, "init_finalize", ["3"]))
        .collect();

    let bare = Job::bare(Family::Ompi, RANKS, &command).run();
    assert_eq!(bare.code(), 3);

    let observed = Job::observed(Family::Ompi, RANKS, &command).run();
    assert_eq!(observed.code(), 3);
    assert_eq!(bare.stdout(), observed.stdout());
    assert_eq!(bare.stderr(), observed.stderr());
    checks::complete(&observed.report(), RANKS);
    observed.assert_nothing_left();
}

/// Each case: what is wrong, a part of the message, the exit status, and whether the program runs
/// all the same.
#[test]
fn wrong_lines_are_answered() {
    for family in Family::ALL {
        let other = if family.is_open_mpi() {
            Family::Mpich
        } else {
            Family::Ompi
        };
        let here = |text: &str| vec![OsString::from(text)];
        let cases: [(&str, Vec<OsString>, i32, &str, bool); 5] = [
            (
                "no MPI program",
                vec!["echo".into(), "hello".into()],
                0,
                "without calling MPI",
                true,
            ),
            (
                "a missing file",
                here("/nonexistent/app"),
                127,
                "no such program",
                false,
            ),
            (
                "the wrong MPI",
                program(other, "init_finalize", ["0"]),
                0,
                "the launcher is",
                true,
            ),
            (
                "a static MPI",
                with_mpi_inside(),
                2,
                "linked into itself",
                false,
            ),
            (
                "invivo run behind the launcher",
                wrong_side(),
                2,
                "invivo run -- mpiexec",
                false,
            ),
        ];
        for (what, command, status, says, runs) in cases {
            let ended = Job::observed(family, RANKS, &command).run();
            let lines = ended.our_lines();
            assert_eq!(ended.code(), status, "{family:?}, {what}: {lines:?}");
            assert!(
                lines.iter().any(|line| line.contains(says)),
                "{family:?}, {what}: {lines:?}"
            );

            if what == "no MPI program" {
                assert_eq!(ended.stdout(), ["hello\n", "hello\n"], "{family:?}");
            } else if what != "invivo run behind the launcher" {
                // Of that one it is true: it has started, and ended.
                let denies = |line: &String| line.contains("without calling MPI");
                assert!(!lines.iter().any(denies), "{family:?}, {what}: {lines:?}");
            }

            assert!(
                runs || ended.stdout().concat().is_empty(),
                "{family:?}, {what}"
            );
            ended.assert_nothing_left();
        }
        // `invivo run` leaves what it cannot observe to the launcher.
        let ended = Job::run_by_invivo(family, RANKS, &with_mpi_inside()).run();
        assert_eq!(
            (ended.code(), ended.our_lines().len()),
            (0, 1),
            "{family:?}"
        );
    }
}

fn wrong_side() -> Vec<OsString> {
    vec![
        invivo_e2e::paths::invivo().into(),
        "run".into(),
        "--".into(),
        "./app".into(),
    ]
}
