//! Jobs that have too little of something: a place that takes their records, shared memory, memory,
//! slots. The program runs on where it can, and where it cannot, the answer says why.

use invivo_e2e::apps::program;
use invivo_e2e::checks;
use invivo_e2e::control_group::ControlGroup;
use invivo_e2e::counts::recorded;
use invivo_e2e::ended::Ended;
use invivo_e2e::family::Family;
use invivo_e2e::hosts::possible;
use invivo_e2e::job::Job;
use invivo_e2e::places;
use invivo_e2e::processes::signal;
use rustix::process::Signal;
use std::ffi::OsString;
use std::process::{Command, Output};
use std::time::Duration;

const RANKS: u32 = 2;
/// Calls of a rank while nobody takes its records: they fill all of its packets more than twice.
const CALLS: &str = "300000";
/// The longest that a call waits for a packet, and the part of the run that all waiting together
/// may take, as the manual says.
const ONCE: Duration = Duration::from_millis(10);
const PART: f64 = 0.01;
/// What a measurement may be off where others use the processors, too.
const SLACK: Duration = Duration::from_millis(40);
/// How long a place stands still where its rank waits for as long as it takes.
const STOPPED: Duration = Duration::from_millis(800);

/// What the program measured of itself: the time since `MPI_Init`, its longest call, and what its
/// calls slept.
struct Pressed {
    run: Duration,
    longest: Duration,
    slept: Duration,
}

/// A rank that calls MPI as often as it can while its place stands still: until it is done, or for
/// a time.
fn pressed(family: Family, policy: &'static str, stopped: Option<Duration>) -> (Pressed, Ended) {
    let command = program(family, "pressed", [CALLS]);
    let mut running = Job::observed(family, 1, &command)
        .options(["--back-pressure", policy])
        .start();
    running.wait_for_answers();
    running.wait_for_notes("ready");
    let place = running.only("tool-place");
    signal(&place, Signal::STOP);
    running.tell("go");
    if let Some(time) = stopped {
        std::thread::sleep(time);
        signal(&place, Signal::CONT);
    }
    running.wait_for_notes("done");
    signal(&place, Signal::CONT);
    running.tell("end");
    let text =
        std::fs::read_to_string(running.logs().join("0.measured")).expect("what it measured");
    let mut measured = text
        .split_whitespace()
        .map(|us| Duration::from_micros(us.parse().expect("a number")));
    let mut next = || measured.next().expect("three times");
    let pressed = Pressed {
        run: next(),
        longest: next(),
        slept: next(),
    };
    let ended = running.end();
    assert_eq!(ended.code(), 0, "{family:?}, {policy}");
    assert_eq!(
        ended.stdout(),
        ["rank 0 has called\n"],
        "{family:?}, {policy}"
    );
    ended.assert_nothing_left();
    (pressed, ended)
}

/// Records that do not fit are dropped and counted, and no rank waits longer for its place than it
/// may.
#[test]
fn a_rank_waits_no_longer_than_its_bound() {
    for family in Family::ALL {
        let (pressed, ended) = pressed(family, "bounded", None);
        let report = ended.report();
        checks::conserved(&report, 1);
        let counted: u64 = recorded(&ended.own_counts().calls).values().sum();
        assert_eq!(
            report.coverage.ledger.entered, counted,
            "{family:?}: calls entered and made"
        );
        assert!(
            report.coverage.ledger.dropped.all() > 0,
            "{family:?}: nothing was too much"
        );
        let Pressed {
            run,
            longest,
            slept,
        } = pressed;
        assert!(
            longest < ONCE + SLACK,
            "{family:?}: one call took {longest:?}"
        );
        let allowed = run.mul_f64(PART) + ONCE;
        assert!(slept < allowed, "{family:?}: {slept:?} of {run:?}");
    }
}

/// Where a rank is to wait for as long as it takes, it does, and nothing is lost.
#[test]
fn a_rank_that_may_wait_loses_nothing() {
    let family = Family::Ompi;
    let (pressed, ended) = pressed(family, "block", Some(STOPPED));
    assert!(
        pressed.longest > STOPPED / 2,
        "one call took {:?}",
        pressed.longest
    );
    let report = ended.report();
    checks::complete(&report, 1);
    checks::same_calls(&report, &ended.own_counts().calls);
}

/// A `/dev/shm` of this job's own, of so many bytes and full of what somebody else has left there.
fn with_shared_memory(size: &str, left_by_others: &str) -> String {
    format!(
        "mount -t tmpfs -o size={size} tmpfs /dev/shm; head -c {left_by_others} /dev/zero > /dev/shm/of-others; exec \"$@\""
    )
}

/// The lines that warn of it.
fn warnings(ended: &Ended) -> usize {
    let lines = ended.our_lines();
    lines
        .iter()
        .filter(|line| line.contains("/dev/shm has"))
        .count()
}

/// Open MPI does without shared memory where there is too little. Invivo needs none of it, and says
/// what may be slow.
#[test]
fn open_mpi_runs_with_a_tiny_and_with_a_full_dev_shm() {
    if !possible() {
        return;
    }
    let family = Family::Ompi;
    let command = program(family, "init_finalize", ["3"]);
    for (size, left_by_others) in [("64k", "0"), ("64m", "64M")] {
        let script = with_shared_memory(size, left_by_others);
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

/// MPICH does not start without it. Where the ranks would fit and the tool processes do not, the
/// warning has said so.
#[test]
fn mpich_says_that_dev_shm_is_too_small() {
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

/// Open MPI refuses what has too few slots, with its own words and status; whose slots they are is
/// said before.
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
        command.args(&words[1..]).envs(family.environment());
        command.output().expect("a launcher")
    };
    let invivo: [OsString; 3] = [places::invivo().into(), "run".into(), "--".into()];
    let said = |output: &Output| -> Vec<String> {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines()
            .filter(|line| line.starts_with("invivo:"))
            .map(str::to_owned)
            .collect()
    };
    let refused = launch(&[], 3);
    assert_ne!(refused.status.code(), Some(0), "{refused:?}");
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
        let lines = said(&observed);
        let expected = format!(
            "take {} slots and {} gives 2",
            ranks + 2,
            file.path().display()
        );
        assert!(
            lines.len() == 1 && lines[0].contains(&expected),
            "{lines:?}"
        );
    }
}

/// A limit of addresses (`ulimit -v`) that leaves MPI what it needs leaves the tool processes
/// enough, too; where they could not start, nothing is started.
#[test]
fn a_limit_of_memory_is_lived_with_or_told() {
    for family in Family::ALL {
        let command = program(family, "init_finalize", ["3"]);
        let limited =
            |job: Job, kib: u32| job.behind(&format!("ulimit -v {kib}; exec \"$@\"")).run();
        let bare = limited(Job::bare(family, RANKS, &command), 400_000);
        let observed = limited(Job::observed(family, RANKS, &command), 400_000);
        assert_eq!((bare.code(), observed.code()), (3, 3), "{family:?}");
        assert_eq!(bare.stdout(), observed.stdout(), "{family:?}");
        checks::complete(&observed.report(), RANKS);
        observed.assert_nothing_left();

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

/// Bytes that a job's processes may touch together: enough for all, and enough for the program
/// alone.
const ENOUGH_BYTES: u64 = 256 << 20;
const FOR_THE_PROGRAM_BYTES: u64 = 40 << 20;

/// A limit of what the job's processes touch, as batch systems set it: where the tool processes
/// fit, nothing differs. Where they do not, the kernel ends one of them, and with it the job, at
/// once and without a trace.
#[test]
#[ignore = "a control group, which not every machine lets us make"]
fn a_control_group_with_little_memory_is_lived_with_or_ends_the_job() {
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
