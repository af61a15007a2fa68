//! Every end that a job can have, with and without Invivo, in C and in Fortran: the same status, the same output, nothing
//! left, soon; and what had been recorded before the end is in the report. The table of `docs/manual/ends.md` is what these
//! tests find: `INVIVO_BLESS=1` writes it.

use invivo_e2e::apps::{Language, in_language};
use invivo_e2e::checks;
use invivo_e2e::ended::Ended;
use invivo_e2e::family::Family;
use invivo_e2e::job::{Job, Running};
use invivo_e2e::manual::{Column, same_column};
use invivo_e2e::processes::kill;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Ranks of the jobs.
const RANKS: u32 = 2;
/// Messages between them before the end begins.
const ROUNDS: u64 = 40;
/// How long a bare run may take to end, before it is killed.
const PATIENCE: Duration = Duration::from_secs(15);
/// How much longer an end may take than the bare run's.
const LINGERS_AT_MOST: Duration = Duration::from_secs(5);

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
}

const fn by_itself(title: &'static str, way: &'static [&'static str]) -> End {
    End {
        title,
        way,
        act: None,
    }
}

const fn from_outside(title: &'static str, way: &'static [&'static str], act: Act) -> End {
    End {
        title,
        way,
        act: Some(act),
    }
}

const SIGTERM: &str = "SIGTERM to the launcher";
const CTRL_C: &str = "Ctrl-C";

const ENDS: &[End] = &[
    by_itself("normal, status 0", &["normal"]),
    by_itself("normal, status 3", &["normal", "3"]),
    by_itself("`exit(3)` behind `MPI_Finalize`", &["exit", "3"]),
    by_itself(
        "`exit(3)` of one rank without `MPI_Finalize`",
        &["exit-early", "3"],
    ),
    by_itself("return without `MPI_Finalize`, status 0", &["return"]),
    by_itself("return without `MPI_Finalize`, status 3", &["return", "3"]),
    by_itself("`MPI_Abort(7)`", &["abort", "7"]),
    by_itself("SIGSEGV in a rank", &["fault"]),
    by_itself("SIGKILL of a rank", &["kill"]),
    from_outside("SIGKILL of a rank's supervisor", &["stay"], |job, observed| {
        let name = if observed { "invivo" } else { job.program_name() };
        kill(&job.member(name, 1));
    }),
    from_outside(SIGTERM, &["stay"], |job, _| {
        job.signal_launcher(Signal::TERM);
    }),
    from_outside(CTRL_C, &["stay"], |job, _| job.signal_from_terminal(Signal::INT)),
    from_outside("SIGUSR2, then SIGTERM, to the launcher", &["stay"], |job, _| {
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
    // Rank 0 may still be on its way into the call that it stays in.
    std::thread::sleep(Duration::from_millis(100));
    act(&running, observed);
    let begun = Instant::now();
    while running.runs() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Open MPI's launcher itself hangs now and then when its ranks are told to end in `MPI_Finalize`; never with Invivo.
    if !observed && running.runs() {
        running.signal_launcher(Signal::KILL);
    }
    (running.end(), begun.elapsed())
}

/// The statuses of an end that is a race in bare runs, the usual one first. MPICH's launcher kills the other processes when one
/// leaves without `MPI_Finalize`, and adds the statuses of those that it happens to see dying to its own; it may miss all of
/// them when it is told to end. Ranks of Open MPI that are told to end in `MPI_Finalize` may fault there.
fn race(end: &End, family: Family) -> Option<[i32; 2]> {
    let own = || end.way.get(1).map_or(0, |code| code.parse().expect("a status"));
    let (term, int) = (Signal::TERM.as_raw(), Signal::INT.as_raw());
    match (family, end.way[0]) {
        (Family::Mpich, "exit-early" | "return") => Some([own(), killed()]),
        (Family::Mpich, _) if end.title == CTRL_C => Some([int, int | killed()]),
        (Family::Mpich, "hang") => Some([term, 0]),
        (Family::Mpich, _) if end.title == SIGTERM => Some([term, 0]),
        (Family::Ompi, "hang") => Some([1, 128 + Signal::SEGV.as_raw()]),
        _ => None,
    }
}

/// The number of SIGKILL, which is what a status says of who died of it.
fn killed() -> i32 {
    Signal::KILL.as_raw()
}

/// What there is to see of an end, as the table of the manual has it.
fn look(end: &End, family: Family, language: Language) -> String {
    let command = in_language(family, "ends", language, end.way);
    let (bare, bare_took) = run(Job::bare(family, RANKS, &command), end, false);
    let (observed, took) = run(Job::observed(family, RANKS, &command), end, true);
    let what = format!("{}, {family:?}, {language:?}", end.title);
    let race = race(end, family);
    match race {
        Some(statuses) => {
            let hung = end.way[0] == "hang" && bare.code() == 128 + killed();
            assert!(hung || statuses.contains(&bare.code()), "{what}: {}", bare.code());
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
        }
        None => assert_eq!(bare.code(), observed.code(), "{what}: exit status"),
    }
    assert_eq!(bare.stdout(), observed.stdout(), "{what}: standard outputs");
    assert!(
        took < bare_took + LINGERS_AT_MOST,
        "{what}: {took:?}, and {bare_took:?} in the bare run"
    );
    observed.assert_nothing_left();
    let status = race.map_or_else(
        || bare.code().to_string(),
        |[one, other]| format!("{one} or {other}"),
    );
    if !observed.has_report() {
        return format!("{status}, no report");
    }
    let report = observed.report();
    checks::conserved(&report, RANKS);
    let calls = report.calls();
    let of = |rank: u32, function: &str| calls.get(&(rank, function.to_owned())).copied().unwrap_or(0);
    assert_eq!(
        (of(0, "MPI_Send"), of(1, "MPI_Recv")),
        (ROUNDS, ROUNDS),
        "{what}: {calls:?}"
    );
    assert!(
        of(0, "MPI_Barrier") >= 1 && of(1, "MPI_Barrier") >= 1,
        "{what}: {calls:?}"
    );
    format!("{status}, {} calls", calls.values().sum::<u64>())
}

fn ends(family: Family, language: Language) {
    let cells = ENDS.iter().map(|end| (end.title, look(end, family, language)));
    let column = Column {
        page: "ends.md",
        rows: "end",
        name: &format!("{}, {language:?}", family.title()),
        cells: &cells.collect::<Vec<_>>(),
    };
    same_column(&column);
}

#[test]
fn in_c_on_open_mpi() {
    ends(Family::Ompi, Language::C);
}

#[test]
fn in_fortran_on_open_mpi() {
    ends(Family::Ompi, Language::Fortran);
}

#[test]
fn in_c_on_mpich() {
    ends(Family::Mpich, Language::C);
}

#[test]
fn in_fortran_on_mpich() {
    ends(Family::Mpich, Language::Fortran);
}
