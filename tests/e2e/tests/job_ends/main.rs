//! Every end that a job can have, with and without Invivo, in C and in Fortran.
//!
//! The status and the output are the same, no file is left, the end is not delayed for long, and
//! what was recorded before the end is in the report. The manual's table of ends is what these
//! tests find: `INVIVO_BLESS=1` writes it. Usually a part of the ends are tested, in C; the long
//! tests have all of them, in both languages, and repeat those of which bare runs themselves end in
//! several ways.

mod ends;

use ends::{
    CTRL_C, ENDS, End, OUT_OF_MEMORY, PLACE_KILLED, RANKS, SIGTERM, SIGUSR2, SUPERVISOR_KILLED,
};
use invivo_e2e::checks;
use invivo_e2e::cluster::control_group::ControlGroup;
use invivo_e2e::job::Ended;
use invivo_e2e::job::{Job, turn};
use invivo_e2e::manual::{Column, JOB_ENDS, same_column};
use invivo_e2e::mpi::Family;
use invivo_e2e::programs::{Language, in_language};
use invivo_e2e::results::timeline;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Messages between them before the end begins.
const ROUNDS: u64 = 40;
/// How long a bare run may take to end, before it is killed.
const BARE_TIMEOUT: Duration = Duration::from_secs(15);
/// How much longer an end may take than the bare run's.
const DELAY_MAX: Duration = Duration::from_secs(9);
/// Memory of a job in a control group: enough for all of its processes while no rank takes more.
const GROUP_BYTES: u64 = 384 << 20;
/// How often the long tests run an end that varies between bare runs.
const REPEATED: usize = 5;

/// Runs a job to its end; returns it with the time that the end took.
fn run(job: Job, end: &End, observed: bool) -> (Ended, Duration) {
    let mut running = job.start();
    let Some(action) = end.action else {
        let begun = Instant::now();
        return (running.end(), begun.elapsed());
    };
    if observed {
        running.wait_for_answers();
    }
    running.wait_for_notes("ready");
    // A launcher that gets a signal may drop output that it has not written yet.
    running.until("the output of the ranks", |job| {
        (job.stdout() == output_before_the_end()).then_some(())
    });
    // Rank 0 may still be on its way into the call that it stays in.
    std::thread::sleep(Duration::from_millis(500));
    action(&running, observed);
    let begun = Instant::now();
    while running.runs() && begun.elapsed() < BARE_TIMEOUT {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Open MPI's launcher itself hangs now and then when its ranks get SIGTERM in `MPI_Finalize`;
    // never with Invivo.
    if !observed && running.runs() {
        running.signal_launcher(Signal::KILL);
    }
    (running.end(), begun.elapsed())
}

/// The statuses of an end that varies between bare runs, the usual one first; `None` where it does
/// not vary. MPICH's launcher kills the other processes when one leaves without `MPI_Finalize`, and
/// combines the statuses of those that it happens to see dying with its own; it may miss all of
/// them when it gets a signal. Ranks of Open MPI that get SIGTERM in `MPI_Finalize` may fault
/// there.
fn varying_statuses(end: &End, family: Family) -> Option<Vec<i32>> {
    let own = || {
        end.way
            .get(1)
            .map_or(0, |code| code.parse().expect("a status"))
    };
    let (term, int) = (Signal::TERM.as_raw(), Signal::INT.as_raw());
    match (family.is_open_mpi(), end.way[0]) {
        // Intel's launcher reports signals as a shell does, and always the same.
        (false, "exit-early" | "return") if family == Family::Impi => {
            Some(vec![own(), 128 + killed()])
        }
        _ if family == Family::Impi => None,
        (false, "exit-early" | "return") => Some(vec![own(), killed()]),
        (false, _) if end.title == CTRL_C => Some(vec![int, int | killed(), 0]),
        (false, "hang") => Some(vec![term, 0]),
        (false, _) if end.title == SIGTERM => Some(vec![term, 0]),
        (true, "hang") => Some(vec![1, 128 + Signal::SEGV.as_raw()]),
        _ => None,
    }
}

/// The number of SIGKILL, as it stands in a status.
fn killed() -> i32 {
    Signal::KILL.as_raw()
}

/// The output of the ranks when the end begins.
fn output_before_the_end() -> Vec<String> {
    (0..RANKS)
        .map(|rank| format!("rank {rank}: {ROUNDS} messages\n"))
        .collect()
}

/// The groups in which an end is run bare and observed; none where it needs none. Nothing where
/// this machine allows no group, which was said.
fn groups(end: &End) -> Option<[Option<ControlGroup>; 2]> {
    if end.title != OUT_OF_MEMORY {
        return Some([None, None]);
    }
    let group = || ControlGroup::with_memory(GROUP_BYTES);
    let groups = [group(), group()];
    groups.iter().all(Option::is_some).then_some(groups)
}

/// Runs an end bare and observed, and compares both. Returns its cell in the manual's table, where
/// this machine allows the end.
fn test_end(end: &End, family: Family, language: Language) -> Option<String> {
    let [bare_group, group] = groups(end)?;
    let limited = |job: Job, group: &Option<ControlGroup>| match group {
        Some(group) => job.behind(&format!("{}; exec \"$@\"", group.join())),
        None => job,
    };
    let what = format!("{}, {family:?}, {language:?}", end.title);
    let command = in_language(family, "ends", language, end.way);
    // A bare run has no tool place: only the promises of the observed one are checked.
    if end.title == PLACE_KILLED {
        let (observed, took) = run(
            Job::observed(family, RANKS, &command).at_the_same_time(),
            end,
            true,
        );
        assert!(took < DELAY_MAX, "{what}: {took:?}");
        assert_eq!(observed.stdout(), output_before_the_end(), "{what}");
        assert_ne!(observed.code(), 0, "{what}");
        observed.assert_nothing_left();
        let coverage = observed.report().coverage;
        assert_eq!(
            (
                coverage.ranks,
                coverage.ranks_reporting,
                coverage.members_missing
            ),
            (RANKS, 0, 1),
            "{what}"
        );
        return Some(format!("{}, 0 calls", observed.code()));
    }
    // They wait more than they compute, so that both may run at the same time.
    let (bare, observed) = std::thread::scope(|scope| {
        let bare = scope.spawn(|| {
            let job = Job::bare(family, RANKS, &command).at_the_same_time();
            run(limited(job, &bare_group), end, false)
        });
        let job = Job::observed(family, RANKS, &command).at_the_same_time();
        let observed = run(limited(job, &group), end, true);
        (bare.join().expect("the bare run"), observed)
    });
    let ((bare, bare_took), (observed, took)) = (bare, observed);
    assert_eq!(bare.stdout(), observed.stdout(), "{what}: standard outputs");
    let begin_alike = |(found, expected): (&String, &String)| found.starts_with(expected);
    assert!(
        bare.stdout()
            .iter()
            .zip(&output_before_the_end())
            .all(begin_alike),
        "{what}: {:?}",
        bare.stdout()
    );
    assert!(
        took < bare_took + DELAY_MAX,
        "{what}: {took:?}, and {bare_took:?} in the bare run"
    );
    let Some(statuses) = varying_statuses(end, family) else {
        assert_eq!(bare.code(), observed.code(), "{what}: exit status");
        let status = bare.code().to_string();
        return Some(check_results(end, &what, &observed, &status));
    };
    // A launcher that hung was killed by `run`: its status means nothing.
    let hung = end.way[0] == "hang" && bare.code() == 128 + killed();
    assert!(
        hung || statuses.contains(&bare.code()),
        "{what}: {}, bare",
        bare.code()
    );
    // Where all ranks exit by themselves, Invivo lets the launcher see all of their statuses.
    let allowed = if end.way[0] == "return" {
        &statuses[..1]
    } else {
        &statuses
    };
    assert!(
        allowed.contains(&observed.code()),
        "{what}: exit status {}",
        observed.code()
    );
    let statuses: Vec<String> = statuses.iter().map(i32::to_string).collect();
    let statuses = format!("varies: {}", statuses.join(" or "));
    Some(check_results(end, &what, &observed, &statuses))
}

/// Checks what is left of an observed job, and its report if it has one. Returns the table's cell.
fn check_results(end: &End, what: &str, observed: &Ended, status: &str) -> String {
    observed.assert_nothing_left();
    if !observed.has_report() {
        return format!("{status}, no report");
    }
    let report = observed.report();
    checks::conserved(&report, RANKS);
    let calls = report.calls();
    let of = |rank: u32, function: &str| {
        calls
            .get(&(rank, function.to_owned()))
            .copied()
            .unwrap_or(0)
    };
    assert_eq!(
        (of(0, "MPI_Send"), of(1, "MPI_Recv")),
        (ROUNDS, ROUNDS),
        "{what}: {calls:?}"
    );
    assert!(
        of(0, "MPI_Barrier") >= 1 && of(1, "MPI_Barrier") >= 1,
        "{what}: {calls:?}"
    );
    assert_eq!(
        observed.timeline().is_some(),
        !is_a_usual_end(end),
        "{what}: a timeline is left where a job does not end well, and only there"
    );
    // A killed place takes its records with it.
    if let Some(path) = observed.timeline().filter(|_| end.title != PLACE_KILLED) {
        check_timeline(what, &path, observed, calls.values().sum());
        check_line(what, end, observed);
    }
    format!("{status}, {} calls", calls.values().sum::<u64>())
}

/// Whether every rank goes through `MPI_Finalize`.
fn is_a_usual_end(end: &End) -> bool {
    matches!(end.way[0], "normal" | "exit")
}

/// The last call of each rank in the timeline is the last one that the rank noted, and the call
/// that has not returned is there without an end.
fn check_timeline(what: &str, path: &Path, observed: &Ended, calls: u64) {
    let found = timeline::read(path);
    assert_eq!(found.len(), RANKS as usize, "{what}: {found:?}");
    for (rank, last) in &found {
        let (done, open) = timeline::own_notes(&observed.logs(), *rank);
        // A rank notes nothing of what it does in MPI_Finalize.
        if open.as_deref() != Some("MPI_Finalize") {
            assert_eq!(
                last.done.as_ref(),
                Some(&done),
                "{what}, rank {rank}: {last:?}"
            );
            assert_eq!(last.open, open, "{what}, rank {rank}: {last:?}");
        }
    }
    let kept: u64 = found.values().map(|last| last.calls).sum();
    // On a busy machine the first of them may lie before the time that is saved.
    assert!(kept <= calls, "{what}: {kept} of {calls} calls: {found:?}");
}

/// The job's line says what happened, which rank was waiting, and where the timeline is.
fn check_line(what: &str, end: &End, observed: &Ended) {
    let waiting = "; rank 0 was waiting for rank 1, for ";
    let early = "before MPI_Finalize was complete, outside MPI";
    let words = match end.way {
        ["kill" | "exhaust", ..] => {
            format!("; rank 1 was killed by signal 9 (SIGKILL), outside MPI{waiting}")
        }
        // Behind it comes the source line, which the tests of faults know.
        ["fault", ..] => "; rank 1 was killed by signal 11 (SIGSEGV), outside MPI, in ".to_owned(),
        ["abort" | "abort-late", code] => format!("; rank 1 called MPI_Abort({code}), in "),
        ["exit-early", code] => format!("; rank 1 left with exit code {code} {early}{waiting}"),
        ["return", ..] => early.to_owned(),
        // Its launcher kills the other ranks within the same millisecond, and any of them may be
        // the first whose end is seen.
        _ if end.title == SUPERVISOR_KILLED && !observed.family().is_open_mpi() => {
            " was killed by signal 9 (SIGKILL), ".to_owned()
        }
        _ if end.title == SUPERVISOR_KILLED => {
            "; rank 1 was killed by signal 9 (SIGKILL), outside MPI".to_owned()
        }
        _ => "; the job was asked to end by signal ".to_owned(),
    };
    let lines = observed.our_lines();
    let line = lines.iter().find(|line| line.starts_with("invivo: job "));
    // The output is lost when the launcher has died, as MPICH's does of SIGUSR2, or when it is Open
    // MPI 5's and gets a signal: then the sentence is in the report only.
    let output_is_lost = match observed.family() {
        Family::Ompi5 => end.action.is_some(),
        family => !family.is_open_mpi() && end.title == SIGUSR2,
    };
    if line.is_none() && output_is_lost {
        return;
    }
    let line = line.unwrap_or_else(|| panic!("{what}: {lines:?}"));
    assert!(line.contains(&words), "{what}: {line}");
    let is_followed = matches!(end.way[0], "fault" | "abort");
    assert!(!is_followed || line.contains(waiting), "{what}: {line}");
    assert!(
        line.contains("; last seconds of all ranks: ") && line.ends_with("report.pftrace"),
        "{what}: {line}"
    );
}

/// Tests some of the ends, two at a time, because most of their time is waiting.
fn ends(family: Family, language: Language, which: fn(&End) -> bool) {
    let _turn = turn();
    let chosen: Vec<&End> = ENDS.iter().filter(|end| which(end)).collect();
    let (one, other) = chosen.split_at(chosen.len() / 2);
    let of = |ends: &[&'static End]| -> Vec<(&str, String)> {
        let cells = ends.iter().filter_map(|end| {
            let cell = test_end(end, family, language)?;
            Some((end.title, cell))
        });
        cells.collect()
    };
    let mut cells = Vec::new();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| of(other));
        cells = of(one);
        cells.extend(other.join().expect("the other half"));
    });
    let column = Column {
        page: JOB_ENDS,
        rows: "end",
        name: &format!("{}, {language:?}", family.title()),
        cells: &cells,
    };
    same_column(&column);
}

#[test]
fn in_c_on_open_mpi() {
    ends(Family::Ompi, Language::C, |end| !end.long);
}

#[test]
fn in_c_on_mpich() {
    ends(Family::Mpich, Language::C, |end| !end.long);
}

#[test]
#[ignore = "long: much like the others"]
fn the_rest_in_c() {
    for family in Family::ALL {
        ends(family, Language::C, |end| end.long);
    }
}

/// The most usual ends of jobs.
#[test]
#[ignore = "half a minute; ends are tested on Debian's two"]
fn the_usual_ones_on_newer_mpis() {
    for family in Family::NEW {
        ends(family, Language::C, |end| end.usual);
    }
}

#[test]
#[ignore = "long: much like the others"]
fn the_rest_on_newer_mpis() {
    for family in Family::NEW {
        ends(family, Language::C, |end| !end.usual);
    }
}

#[test]
#[ignore = "Intel MPI is large"]
fn in_c_on_intel_mpi() {
    if !Family::Impi.is_installed() {
        return;
    }
    ends(Family::Impi, Language::C, |_| true);
}

#[test]
#[ignore = "long: in Fortran as in C"]
fn in_fortran() {
    for family in Family::ALL {
        ends(family, Language::Fortran, |_| true);
    }
}

/// One run shows one status of an end that varies; several runs show whether there are others than
/// expected, with Invivo or without.
#[test]
#[ignore = "long: repeats"]
fn varying_ends_have_the_expected_statuses() {
    let _turn = turn();
    for family in Family::ALL {
        for end in ENDS
            .iter()
            .filter(|end| varying_statuses(end, family).is_some())
        {
            let cells: BTreeSet<String> = (0..REPEATED)
                .filter_map(|_| test_end(end, family, Language::C))
                .collect();
            assert_eq!(cells.len(), 1, "{}, {family:?}: {cells:?}", end.title);
        }
    }
}
