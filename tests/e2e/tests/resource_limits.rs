//! Jobs with too little of a resource: packets, shared memory, memory, slots.
//!
//! The program runs on where it can; where it cannot, the message says why.

use invivo_e2e::checks;
use invivo_e2e::cluster::control_group::ControlGroup;
use invivo_e2e::cluster::hosts::possible;
use invivo_e2e::job::{Ended, Job, environment};
use invivo_e2e::logs::counts::recorded;
use invivo_e2e::mpi::Family;
use invivo_e2e::paths;
use invivo_e2e::processes::signal;
use invivo_e2e::programs::program;
use rustix::process::Signal;
use std::ffi::OsString;
use std::process::{Command, Output};
use std::time::Duration;

const RANKS: u32 = 2;
/// Calls of a rank while its place is stopped: their records fill all of its packets more than
/// twice.
const CALLS: &str = "300000";
/// The longest that one call waits for a packet, as the manual says.
const WAIT_PER_CALL_MAX: Duration = Duration::from_millis(10);
/// The part of the run that all waits together may take, as the manual says.
const WAIT_PART_MAX: f64 = 0.01;
/// The error of a measurement where other processes use the processors, too: a call that must wait
/// until the place goes on takes for ever.
const SLACK: Duration = Duration::from_millis(300);
/// How long the place is stopped where its rank waits without a limit.
const STOPPED: Duration = Duration::from_millis(800);

/// What the program measured of itself: the time since `MPI_Init`, its longest call, and how long
/// its calls slept; and how long other guests of the machine's host had its processors meanwhile,
/// which to a rank is as sleep.
struct Measured {
    run: Duration,
    longest: Duration,
    slept: Duration,
    stolen: Duration,
}

/// A tick of `/proc/stat`, in ms, as the kernel tells them to programs (`USER_HZ` is 100).
const TICK_MS: u64 = 10;

/// Time that other guests have had from all processors of this machine.
fn stolen() -> Duration {
    let text = std::fs::read_to_string("/proc/stat").expect("readable");
    let all = text.lines().next().expect("a line of all processors");
    let ticks: u64 = all
        .split_whitespace()
        .nth(8)
        .and_then(|ticks| ticks.parse().ok())
        .unwrap_or(0);
    Duration::from_millis(TICK_MS * ticks)
}

/// Runs a rank that calls MPI as often as it can while its place is stopped: until the rank is
/// done, or for a time.
fn with_stopped_place(
    family: Family,
    policy: &'static str,
    stopped: Option<Duration>,
) -> (Measured, Ended) {
    let command = program(family, "back_pressure", [CALLS]);
    let mut running = Job::observed(family, 1, &command)
        .options(["--back-pressure", policy])
        .start();
    running.wait_for_answers();
    running.wait_for_notes("ready");
    let place = running.only("tool-place");
    // Stopped before the rank begins: no packet is taken meanwhile.
    signal(&place, Signal::STOP);
    let stolen_before = stolen();
    running.tell("go");

    if let Some(time) = stopped {
        std::thread::sleep(time);
        signal(&place, Signal::CONT);
    }

    running.wait_for_notes("done");
    let stolen = stolen() - stolen_before;
    signal(&place, Signal::CONT);
    running.tell("end");
    // Three numbers in microseconds.
    let text =
        std::fs::read_to_string(running.logs().join("0.measured")).expect("what it measured");
    let mut times = text
        .split_whitespace()
        .map(|us| Duration::from_micros(us.parse().expect("a number")));
    let mut next = || times.next().expect("three times");
    let measured = Measured {
        run: next(),
        longest: next(),
        slept: next(),
        stolen,
    };

    let ended = running.end();
    assert_eq!(ended.code(), 0, "{family:?}, {policy}");
    assert_eq!(
        ended.stdout(),
        ["rank 0 has called\n"],
        "{family:?}, {policy}"
    );
    ended.assert_nothing_left();
    (measured, ended)
}

/// With the policy `bounded`, records that do not fit are dropped and counted, and no rank waits
/// longer for its place than the manual says.
#[test]
fn a_rank_waits_no_longer_than_its_bound() {
    for family in Family::ALL {
        let (measured, ended) = with_stopped_place(family, "bounded", None);

        let report = ended.report();
        checks::conserved(&report, 1);
        let counted: u64 = recorded(&ended.own_counts().calls).values().sum();
        assert_eq!(
            report.coverage.ledger.entered, counted,
            "{family:?}: calls entered and made"
        );
        assert!(
            report.coverage.ledger.dropped.all() > 0,
            "{family:?}: no record was dropped"
        );

        let Measured {
            run,
            longest,
            slept,
            stolen,
        } = measured;
        assert!(
            longest < WAIT_PER_CALL_MAX + SLACK + stolen,
            "{family:?}: one call took {longest:?}"
        );
        // One wait may begin just before the part is used up.
        let allowed = run.mul_f64(WAIT_PART_MAX) + WAIT_PER_CALL_MAX + stolen;
        assert!(slept < allowed, "{family:?}: {slept:?} of {run:?}");
    }
}

/// With the policy `block`, a rank waits for as long as it takes, and no record is lost.
#[test]
fn a_rank_that_blocks_loses_nothing() {
    let family = Family::Ompi;
    let (measured, ended) = with_stopped_place(family, "block", Some(STOPPED));
    assert!(
        measured.longest > STOPPED / 2,
        "one call took {:?}",
        measured.longest
    );

    let report = ended.report();
    checks::complete(&report, 1);
    checks::same_calls(&report, &ended.own_counts().calls);
}

/// A script that gives the job a `/dev/shm` of its own, of which other programs use a part.
fn with_shared_memory(size: &str, used_by_others: &str) -> String {
    format!(
        "mount -t tmpfs -o size={size} tmpfs /dev/shm; \
         head -c {used_by_others} /dev/zero > /dev/shm/of-others; exec \"$@\""
    )
}

/// The number of lines that warn of a small `/dev/shm`.
fn warnings(ended: &Ended) -> usize {
    let lines = ended.our_lines();
    lines
        .iter()
        .filter(|line| line.contains("/dev/shm has"))
        .count()
}

/// Open MPI does without shared memory where there is too little. Invivo needs none of it, and
/// warns that messages may be slow.
#[test]
fn open_mpi_runs_with_too_little_dev_shm() {
    if !possible() {
        return;
    }
    let family = Family::Ompi;
    let command = program(family, "init_finalize", ["3"]);
    for (size, used_by_others) in [("64k", "0"), ("64m", "64M")] {
        let script = with_shared_memory(size, used_by_others);
        let bare = Job::bare(family, RANKS, &command)
            .behind_mounts(&script)
            .run();
        let observed = Job::observed(family, RANKS, &command)
            .behind_mounts(&script)
            .run();

        assert_eq!((bare.code(), observed.code()), (3, 3), "{size}");
        assert_eq!(bare.stdout(), observed.stdout(), "{size}");
        assert_eq!(warnings(&observed), 1, "{size}: {:?}", observed.our_lines());
        checks::complete(&observed.report(), RANKS);
        observed.assert_nothing_left();
    }
}

/// MPICH does not start without it. Where the ranks would fit and the tool processes do not, a
/// warning says so before.
#[test]
fn mpich_fails_with_a_warning_about_dev_shm() {
    if !possible() {
        return;
    }
    let family = Family::Mpich;
    let command = program(family, "init_finalize", ["3"]);
    for (size, bare_code) in [("64k", None), ("14m", Some(3))] {
        let script = with_shared_memory(size, "0");
        let bare = Job::bare(family, RANKS, &command)
            .behind_mounts(&script)
            .run();
        let observed = Job::observed(family, RANKS, &command)
            .behind_mounts(&script)
            .run();

        assert!(
            bare_code.is_none_or(|code| bare.code() == code),
            "{size}: {}",
            bare.code()
        );
        assert!(
            bare_code.is_some() || bare.code() != 0,
            "{size}: too much for this test"
        );
        assert_ne!(observed.code(), 0, "{size}");
        assert_eq!(warnings(&observed), 1, "{size}: {:?}", observed.our_lines());
        observed.assert_nothing_left();
    }
}

/// Open MPI refuses a job with too few slots, with its own message and status; Invivo explains
/// before how many slots the job takes.
#[test]
fn too_few_slots_are_explained() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "localhost slots=2\n").expect("written");
    let family = Family::Ompi;
    let launch = |front: &[OsString], ranks: u32| {
        let words = front.iter().cloned().chain([family.launcher()]);
        let words: Vec<OsString> = words
            .chain([
                "--hostfile".into(),
                file.path().into(),
                "-n".into(),
                ranks.to_string().into(),
            ])
            .chain(["echo".into(), "started".into()])
            .collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(environment(family));
        command.output().expect("a launcher")
    };

    let invivo: [OsString; 3] = [paths::invivo().into(), "run".into(), "--".into()];
    let our_lines = |output: &Output| -> Vec<String> {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines()
            .filter(|line| line.starts_with("invivo:"))
            .map(str::to_owned)
            .collect()
    };
    // The launcher's own refusal, for comparison.
    let refused = launch(&[], 3);
    assert_ne!(refused.status.code(), Some(0), "{refused:?}");
    // Two ranks would fit alone; with the tool process neither job does.
    for ranks in [2, 3] {
        let observed = launch(&invivo, ranks);
        assert_eq!(
            observed.status.code(),
            refused.status.code(),
            "{observed:?}"
        );
        assert!(
            observed.stdout.is_empty(),
            "nothing is started: {observed:?}"
        );
        let lines = our_lines(&observed);
        let expected = format!(
            "take {} slots and {} gives 2",
            ranks + 1,
            file.path().display()
        );
        assert!(
            lines.len() == 1 && lines[0].contains(&expected),
            "{lines:?}"
        );
    }
}

/// An address limit (`ulimit -v`) under which MPI can run is enough for the tool processes, too;
/// where they could not start, nothing is started.
#[test]
fn address_limits_are_kept_or_refused() {
    for family in Family::ALL {
        let command = program(family, "init_finalize", ["3"]);
        let limited =
            |job: Job, kib: u32| job.behind(&format!("ulimit -v {kib}; exec \"$@\"")).run();
        // Enough for MPI and for the tool processes.
        let bare = limited(Job::bare(family, RANKS, &command), 400_000);
        let observed = limited(Job::observed(family, RANKS, &command), 400_000);
        assert_eq!((bare.code(), observed.code()), (3, 3), "{family:?}");
        assert_eq!(bare.stdout(), observed.stdout(), "{family:?}");
        checks::complete(&observed.report(), RANKS);
        observed.assert_nothing_left();

        // Not enough for a tool process: 120,000 KiB are 117 MiB.
        let refused = limited(Job::observed(family, RANKS, &command), 120_000);
        let lines = refused.our_lines();
        assert_eq!(refused.code(), 2, "{family:?}: {lines:?}");
        assert!(
            lines.len() == 1 && lines[0].contains("limit of memory is 117 MiB"),
            "{family:?}: {lines:?}"
        );
        assert!(
            refused.stdout().concat().is_empty(),
            "{family:?}: nothing is started"
        );
        refused.assert_nothing_left();
    }
}

/// Memory that is enough for all processes of the job.
const ENOUGH_BYTES: u64 = 256 << 20;
/// Memory that is enough for the program alone.
const FOR_THE_PROGRAM_BYTES: u64 = 40 << 20;

/// A memory limit for all processes of the job, as batch systems set it: where the tool processes
/// fit, nothing differs. Where they do not, the kernel kills one of them, and with it the job, at
/// once; no file is left.
#[test]
#[ignore = "a control group, which not every machine allows"]
fn a_memory_limit_is_kept_or_ends_the_job() {
    for family in Family::ALL {
        let command = program(family, "init_finalize", ["3"]);
        for (bytes, fits) in [(ENOUGH_BYTES, true), (FOR_THE_PROGRAM_BYTES, false)] {
            let Some(group) = ControlGroup::with_memory(bytes) else {
                return;
            };
            let limited = |job: Job| job.behind(&format!("{}; exec \"$@\"", group.join())).run();

            let bare = limited(Job::bare(family, RANKS, &command));
            let observed = limited(Job::observed(family, RANKS, &command));
            assert_eq!(bare.code(), 3, "{family:?}: the bare run");

            if fits {
                assert_eq!(observed.code(), 3, "{family:?}");
                assert_eq!(bare.stdout(), observed.stdout(), "{family:?}");
                checks::complete(&observed.report(), RANKS);
            } else {
                assert!(
                    ![0, 3].contains(&observed.code()),
                    "{family:?}: {}",
                    observed.code()
                );
            }
            observed.assert_nothing_left();
        }
    }
}
