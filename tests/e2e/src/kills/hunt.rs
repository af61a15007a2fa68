//! One case on a real job: struck, watched to its end, and judged.

use super::case::{Case, Phase, Way};
use super::marks::Marks;
use super::outcome::{Outcome, Reported, Run, objection, statuses};
use super::victim::Victim;
use crate::apps::program;
use crate::checks;
use crate::counts::Calls;
use crate::ended::Ended;
use crate::hosts::possible;
use crate::job::{Job, Running};
use crate::processes::{self, Process, signal};
use crate::report::Report;
use rustix::process::Signal;
use std::ffi::OsString;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Rounds of the program: a third of a second where nothing disturbs it.
const ROUNDS: &str = "100";
/// The longest that a case may take. A second or two usually; supervisors keep an end back for 10 s
/// at most, and on a machine that is busy with something else, programs that spin while they wait
/// take ten times as long as usual.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a launcher may be without processes of its job before it is taken for one that hangs.
const ALONE: Duration = Duration::from_secs(10);
/// Between two looks for a moment.
const LOOK: Duration = Duration::from_millis(2);
/// MPIs leave files of processes that are killed, with Invivo and without: in the job's own
/// directory, and in a `/dev/shm` of its own where that may be.
const OWN_FILES: &str = r#"mkdir tmp; export TMPDIR="$PWD/tmp"; exec "$@""#;
const OWN_MEMORY: &str = "mount -t tmpfs tmpfs /dev/shm; ";

/// Open MPI's own handler of faults loads a library for its stack trace, which a process cannot
/// that is struck while it loads one or leaves: then it ends in another way than by the signal,
/// with Invivo and without. No signal is handled here.
const SIGNALS_HANDLED: &str = "OMPI_MCA_opal_signal";

/// Whether it may.
static OWN_MOUNTS: LazyLock<bool> = LazyLock::new(possible);

/// Runs a case; gives what became of the job.
///
/// # Panics
/// Where a promise does not hold.
pub fn run(case: &Case) -> Outcome {
    let command = program(case.family, "hunted", [ROUNDS]);
    if !case.victim.is_of_the_program() || case.spares_the_program() {
        return observed(case, &command);
    }
    // They wait more than they compute.
    std::thread::scope(|scope| {
        let bare = scope.spawn(|| bare(case, &command));
        let outcome = observed(case, &command);
        bare.join().expect("the bare run");
        outcome
    })
}

/// The same without Invivo ends as the observed run is held to.
fn bare(case: &Case, command: &[OsString]) {
    let program = Case {
        victim: Victim::Rank,
        ..case.clone()
    };
    let Struck {
        ended,
        launcher_hung,
        ..
    } = struck(
        Job::bare(case.family, case.victim.ranks(), command),
        &program,
    );
    let is_right = ended.code() == 0 && ended.stdout() == right_output(case);
    assert!(
        is_right || launcher_hung || statuses(case).contains(&ended.code()),
        "{case}: {}, bare",
        ended.code()
    );
}

fn right_output(case: &Case) -> Vec<String> {
    let line = |rank| format!("rank {rank}: 0 wrong in {ROUNDS} rounds\n");
    (0..case.victim.ranks()).map(line).collect()
}

fn observed(case: &Case, command: &[OsString]) -> Outcome {
    let job = Job::observed(case.family, case.victim.ranks(), command).fan_in(case.victim.fan_in());
    let Struck {
        ended,
        took,
        launcher_hung,
    } = struck(job, case);
    // A rank that starts when the root is gone already makes the directory of the sockets again,
    // for whoever finds it dead.
    if (case.victim, case.phase) != (Victim::RootSupervisor, Phase::Start) {
        ended.assert_nothing_left();
    }
    let marks = Marks::read(&ended.logs());
    let reported = match ended.has_report() {
        true => reported(case, &ended.report(), &marks),
        false => Reported::Nothing,
    };
    let outcome = Outcome {
        output_is_right: ended.stdout() == right_output(case),
        status: ended.code(),
        reported,
    };
    let through_init = |calls: &Calls| {
        (0..case.victim.ranks()).all(|rank| calls.get(&(rank, "MPI_Init".into())) == Some(&1))
    };
    let run = Run {
        all_began: through_init(&marks.ended),
        took,
        launcher_hung,
    };
    assert_eq!(
        objection(case, outcome, run),
        None,
        "{case}: {outcome}, {took:?} after the strike"
    );
    outcome
}

/// What a report has, held against what the ranks have marked.
fn reported(case: &Case, report: &Report, marks: &Marks) -> Reported {
    let ranks = case.victim.ranks();
    let says = |words: &str| report.notes.iter().any(|note| note.contains(words));
    let unanswered = says("were not answered in time");
    let dropped = report.coverage.ledger.dropped.all();
    let lost = marks.contradicts(&report.calls(), dropped);
    // The program may run on meanwhile, and the last questions are not answered in the same moment.
    let early = says("the end of the job was asked for") && lost.is_some();
    if early
        || unanswered
        || report.coverage.ranks_reporting < ranks
        || report.coverage.members_missing > 0
    {
        return Reported::Part;
    }
    checks::conserved(report, ranks);
    assert_eq!(lost, None, "{case}");
    Reported::All
}

/// A job at its end, with
struct Struck {
    ended: Ended,
    /// the time since the strike, and
    took: Duration,
    /// whether its launcher had to be killed.
    launcher_hung: bool,
}

/// A job to its end, with the strike.
fn struck(job: Job, case: &Case) -> Struck {
    let job = job.limit(LIMIT).beside().env(SIGNALS_HANDLED, "");
    let job = match *OWN_MOUNTS {
        true => job.behind_mounts(&format!("{OWN_MEMORY}{OWN_FILES}")),
        false => job.behind(OWN_FILES),
    };
    let mut running = job.start();
    if let Some(victim) = aim(&mut running, case) {
        signal(&victim, case.way.signal());
        match case.way {
            Way::Stop => {
                std::thread::sleep(case.stop);
                signal(&victim, Signal::CONT);
            }
            // A fault of its own comes again, where somebody only takes note of the first one.
            Way::Fault => {
                std::thread::sleep(LOOK);
                signal(&victim, case.way.signal());
            }
            _ => {}
        }
    }
    let begun = Instant::now();
    // Open MPI's launcher hangs by itself now and then when a process dies on its way to it:
    // everybody is gone, and it waits.
    let may_hang = case.family.is_open_mpi() && case.phase == Phase::Start;
    let mut launcher_hung = false;
    while may_hang && running.runs() {
        if begun.elapsed() > ALONE && running.is_launcher_alone() {
            running.signal_launcher(Signal::KILL);
            launcher_hung = true;
        }
        std::thread::sleep(LOOK);
    }
    Struck {
        ended: running.end(),
        took: begun.elapsed(),
        launcher_hung,
    }
}

/// Waits for the moment; gives the victim if it is still there.
fn aim(running: &mut Running, case: &Case) -> Option<Process> {
    let number = case.victim.number(case.rank).to_string();
    let is_it = |process: &Process| {
        processes::variable(process, case.family.number_variable())
            .is_some_and(|value| value == number)
    };
    let find = |job: &Running| {
        let named = case.victim.names().iter().flat_map(|name| job.named(name));
        named.into_iter().find(is_it)
    };
    while running.runs() {
        let has_come = match case.phase {
            Phase::Start => find(running).is_some(),
            Phase::Run => running.notes("begun") == case.victim.ranks(),
            Phase::End => running.notes("leaving") > 0,
        };
        if has_come {
            std::thread::sleep(case.delay);
            return find(running);
        }
        std::thread::sleep(LOOK);
    }
    None
}
