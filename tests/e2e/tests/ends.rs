//! Every end that a job can have, with and without Invivo, in C and in Fortran: the same status,
//! the same output, nothing left, soon; and what had been recorded before the end is in the report.
//! The table of `docs/manual/reference/job-ends.md` is what these tests find: `INVIVO_BLESS=1`
//! writes it. Usually a part of the ends are looked at, in C; the long tests look at all of them, in both languages,
//! and repeat those of which bare runs themselves end in several ways.

use invivo_e2e::apps::{Language, in_language};
use invivo_e2e::checks;
use invivo_e2e::ended::Ended;
use invivo_e2e::family::Family;
use invivo_e2e::job::{Job, Running, turn};
use invivo_e2e::manual::{Column, same_column};
use invivo_e2e::processes::kill;
use invivo_e2e::timeline;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Ranks of the jobs.
const RANKS: u32 = 2;
/// Messages between them before the end begins.
const ROUNDS: u64 = 40;
/// How long a bare run may take to end, before it is killed.
const PATIENCE: Duration = Duration::from_secs(15);
/// How much longer an end may take than the bare run's.
const LINGERS_AT_MOST: Duration = Duration::from_secs(5);
/// How often the long tests run an end of which bare runs differ.
const REPEATED: usize = 5;

/// What somebody else does, once the job stands where its end begins.
type Act = fn(&Running, observed: bool);

/// One end.
struct End {
    /// As the manual calls it.
    title: &'static str,
    /// Arguments of the program.
    way: &'static [&'static str],
    /// What ends the job, where it is not the program.
    act: Option<Act>,
    /// Looked at by the long tests alone: another one is much like it.
    long: bool,
    /// Looked at on every MPI each time.
    usual: bool,
}

const fn by_itself(title: &'static str, way: &'static [&'static str]) -> End {
    End {
        title,
        way,
        act: None,
        long: false,
        usual: false,
    }
}

const fn from_outside(title: &'static str, way: &'static [&'static str], act: Act) -> End {
    End {
        act: Some(act),
        ..by_itself(title, way)
    }
}

impl End {
    const fn long(self) -> End {
        End { long: true, ..self }
    }

    const fn usual(self) -> End {
        End {
            usual: true,
            ..self
        }
    }
}

const SIGTERM: &str = "SIGTERM to the launcher";
/// As batch systems send it, when a job's time is over for example.
const SIGTERM_TO_ALL: &str =
    "SIGTERM to all processes, whose program saves for 3 s and ends normally";
const CTRL_C: &str = "Ctrl-C";
const SIGUSR2: &str = "SIGUSR2, then SIGTERM, to the launcher";
const SUPERVISOR_KILLED: &str = "SIGKILL of a rank's supervisor";

/// Jobs without Invivo have no such process, so that there is nothing to compare with.
const PLACE_KILLED: &str = "SIGKILL of a tool place";

const ENDS: &[End] = &[
    by_itself("normal, status 0", &["normal"]).long(),
    by_itself("normal, status 3", &["normal", "3"]).usual(),
    by_itself("`exit(3)` behind `MPI_Finalize`", &["exit", "3"]).long(),
    by_itself(
        "`exit(3)` of one rank without `MPI_Finalize`",
        &["exit-early", "3"],
    ),
    by_itself("return without `MPI_Finalize`, status 0", &["return"]).long(),
    by_itself("return without `MPI_Finalize`, status 3", &["return", "3"]),
    by_itself("`MPI_Abort(7)`", &["abort", "7"]).usual(),
    by_itself(
        "`MPI_Abort(7)`, the others in `MPI_Finalize`",
        &["abort-late", "7"],
    ),
    by_itself("SIGSEGV in a rank", &["fault"]),
    by_itself("SIGKILL of a rank", &["kill"]).long().usual(),
    from_outside(SUPERVISOR_KILLED, &["stay"], |job, observed| {
        let name = if observed {
            "invivo"
        } else {
            job.program_name()
        };
        kill(&job.member(name, 1));
    }),
    from_outside(PLACE_KILLED, &["stay"], |job, _| {
        kill(&job.member("tool-place", RANKS));
    }),
    from_outside(SIGTERM, &["stay"], |job, _| {
        job.signal_launcher(Signal::TERM);
    })
    .usual(),
    from_outside(SIGTERM_TO_ALL, &["save"], |job, _| {
        job.signal_members(Signal::TERM);
    })
    .usual(),
    from_outside(CTRL_C, &["stay"], |job, _| {
        job.signal_from_terminal(Signal::INT)
    }),
    from_outside(SIGUSR2, &["stay"], |job, _| {
        job.signal_launcher(Signal::USR2);
        std::thread::sleep(Duration::from_millis(300));
        job.signal_launcher(Signal::TERM);
    }),
    from_outside(
        "a rank that hangs in `MPI_Finalize`, SIGTERM to the launcher",
        &["hang"],
        |job, _| job.signal_launcher(Signal::TERM),
    ),
];

/// A run to its end, with the time that the end took.
fn run(job: Job, end: &End, observed: bool) -> (Ended, Duration) {
    let mut running = job.start();
    let Some(act) = end.act else {
        let begun = Instant::now();
        return (running.end(), begun.elapsed());
    };
    if observed {
        running.wait_for_answers();
    }
    running.wait_for_notes("ready");
    // A launcher that is told to end may drop what it has not written yet.
    running.until("what the ranks say", |job| {
        (job.stdout() == said()).then_some(())
    });
    // Rank 0 may still be on its way into the call that it stays in.
    std::thread::sleep(Duration::from_millis(100));
    act(&running, observed);
    let begun = Instant::now();
    while running.runs() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Open MPI's launcher itself hangs now and then when its ranks are told to end in
    // `MPI_Finalize`; never with Invivo.
    if !observed && running.runs() {
        running.signal_launcher(Signal::KILL);
    }
    (running.end(), begun.elapsed())
}

/// The statuses of an end of which bare runs end now with one, now with another, the usual one
/// first. MPICH's launcher kills the other processes when one leaves without `MPI_Finalize`, and
/// adds the statuses of those that it happens to see dying to its own; it may miss all of them when
/// it is told to end. Ranks of Open MPI that are told to end in `MPI_Finalize` may fault there.
fn varies(end: &End, family: Family) -> Option<Vec<i32>> {
    let own = || {
        end.way
            .get(1)
            .map_or(0, |code| code.parse().expect("a status"))
    };
    let (term, int) = (Signal::TERM.as_raw(), Signal::INT.as_raw());
    match (family.is_open_mpi(), end.way[0]) {
        // Intel's launcher says signals as a shell does, and always the same.
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

/// The number of SIGKILL, which is what a status says of who died of it.
fn killed() -> i32 {
    Signal::KILL.as_raw()
}

/// What the ranks have written when the end begins.
fn said() -> Vec<String> {
    (0..RANKS)
        .map(|rank| format!("rank {rank}: {ROUNDS} messages\n"))
        .collect()
}

/// What there is to see of an end, as the table of the manual has it.
fn look(end: &End, family: Family, language: Language) -> String {
    let what = format!("{}, {family:?}, {language:?}", end.title);
    let command = in_language(family, "ends", language, end.way);
    if end.title == PLACE_KILLED {
        let (observed, took) = run(Job::observed(family, RANKS, &command).beside(), end, true);
        assert!(took < LINGERS_AT_MOST, "{what}: {took:?}");
        assert_eq!(observed.stdout(), said(), "{what}");
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
        return format!("{}, 0 calls", observed.code());
    }
    // They wait more than they compute, so that both find a core.
    let (bare, observed) = std::thread::scope(|scope| {
        let bare = scope.spawn(|| run(Job::bare(family, RANKS, &command).beside(), end, false));
        let observed = run(Job::observed(family, RANKS, &command).beside(), end, true);
        (bare.join().expect("the bare run"), observed)
    });
    let ((bare, bare_took), (observed, took)) = (bare, observed);
    assert_eq!(bare.stdout(), observed.stdout(), "{what}: standard outputs");
    let begin_alike = |(found, expected): (&String, &String)| found.starts_with(expected);
    assert!(
        bare.stdout().iter().zip(&said()).all(begin_alike),
        "{what}: {:?}",
        bare.stdout()
    );
    assert!(
        took < bare_took + LINGERS_AT_MOST,
        "{what}: {took:?}, and {bare_took:?} in the bare run"
    );
    let Some(statuses) = varies(end, family) else {
        assert_eq!(bare.code(), observed.code(), "{what}: exit status");
        return seen(end, &what, &observed, &bare.code().to_string());
    };
    let hung = end.way[0] == "hang" && bare.code() == 128 + killed();
    assert!(
        hung || statuses.contains(&bare.code()),
        "{what}: {}, bare",
        bare.code()
    );
    // Where all leave by themselves, Invivo lets the launcher see it.
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
    seen(
        end,
        &what,
        &observed,
        &format!("varies: {}", statuses.join(" or ")),
    )
}

/// Nothing is left of the job, and what was recorded is in its report, if it has one.
fn seen(end: &End, what: &str, observed: &Ended, status: &str) -> String {
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
    // What a killed place held went with it.
    if let Some(path) = observed.timeline().filter(|_| end.title != PLACE_KILLED) {
        last_seconds_are_true(what, &path, observed, calls.values().sum());
        sentence_is_true(what, end, observed);
    }
    format!("{status}, {} calls", calls.values().sum::<u64>())
}

/// Whether every rank goes through `MPI_Finalize`.
fn is_a_usual_end(end: &End) -> bool {
    matches!(end.way[0], "normal" | "exit")
}

/// The last call of each rank in the timeline is the one that the rank wrote down last, and the
/// call that it was in is there without an end.
fn last_seconds_are_true(what: &str, path: &Path, observed: &Ended, calls: u64) {
    let found = timeline::read(path);
    assert_eq!(found.len(), RANKS as usize, "{what}: {found:?}");
    for (rank, last) in &found {
        let (done, open) = timeline::own_words(&observed.logs(), *rank);
        // What a rank does in MPI_Finalize is behind what it wrote down.
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

/// The job's line says what happened, who was waiting, and where the timeline is.
fn sentence_is_true(what: &str, end: &End, observed: &Ended) {
    let waiting = "; rank 0 was waiting for rank 1, for ";
    let early = "before MPI_Finalize was complete, outside MPI";
    let words = match end.way {
        ["kill", ..] => format!("; rank 1 was killed by signal 9 (SIGKILL), outside MPI{waiting}"),
        ["fault", ..] => {
            format!("; rank 1 was killed by signal 11 (SIGSEGV), outside MPI{waiting}")
        }
        ["abort", code] => format!("; rank 1 called MPI_Abort({code}){waiting}"),
        ["abort-late", code] => format!("; rank 1 called MPI_Abort({code})"),
        ["exit-early", code] => format!("; rank 1 left with exit code {code} {early}{waiting}"),
        ["return", ..] => early.to_owned(),
        // Its launcher kills the others within the same millisecond: who is named first is who was
        // seen first.
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
    // Nobody reads what is written when the launcher has died, which MPICH's does of SIGUSR2, or is
    // told to end and is Open MPI 5's: then the sentence is in the report alone.
    let deaf = match observed.family() {
        Family::Ompi5 => end.act.is_some(),
        family => !family.is_open_mpi() && end.title == SIGUSR2,
    };
    if line.is_none() && deaf {
        return;
    }
    let line = line.unwrap_or_else(|| panic!("{what}: {lines:?}"));
    assert!(line.contains(&words), "{what}: {line}");
    assert!(
        line.contains("; last seconds of all ranks: ") && line.ends_with("report.pftrace"),
        "{what}: {line}"
    );
}

/// Looks at some of the ends, at two at a time: most of their time is waiting, too.
fn ends(family: Family, language: Language, which: fn(&End) -> bool) {
    let _turn = turn();
    let chosen: Vec<&End> = ENDS.iter().filter(|end| which(end)).collect();
    let (one, other) = chosen.split_at(chosen.len() / 2);
    let of = |ends: &[&'static End]| -> Vec<(&str, String)> {
        let cells = ends
            .iter()
            .map(|end| (end.title, look(end, family, language)));
        cells.collect()
    };
    let mut cells = Vec::new();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| of(other));
        cells = of(one);
        cells.extend(other.join().expect("the other half"));
    });
    let column = Column {
        page: "reference/job-ends.md",
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

/// The ends that most jobs come to, where they come to another.
#[test]
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
    ends(Family::Impi, Language::C, |_| true);
}

#[test]
#[ignore = "long: in Fortran as in C"]
fn in_fortran() {
    for family in Family::ALL {
        ends(family, Language::Fortran, |_| true);
    }
}

/// One run shows one of the ways; several of each show whether there are others, with Invivo or
/// without.
#[test]
#[ignore = "long: repeats"]
fn what_varies_varies_alike() {
    let _turn = turn();
    for family in Family::ALL {
        for end in ENDS.iter().filter(|end| varies(end, family).is_some()) {
            let cells: BTreeSet<String> = (0..REPEATED)
                .map(|_| look(end, family, Language::C))
                .collect();
            assert_eq!(cells.len(), 1, "{}, {family:?}: {cells:?}", end.title);
        }
    }
}
