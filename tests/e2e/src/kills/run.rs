//! Runs one case on a real job: injects the fault, waits for the end, and judges the outcome.

use super::case::{Case, Fault, Phase};
use super::marks::Marks;
use super::outcome::{Outcome, Reported, Run, objection, statuses};
use super::target::Target;
use crate::checks;
use crate::cluster::hosts;
use crate::job::{Ended, Job, Running};
use crate::logs::counts::Calls;
use crate::processes::{self, Process, signal};
use crate::programs::program;
use crate::results::report::Report;
use rustix::process::Signal;
use std::ffi::OsString;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Rounds of the program: a third of a second on a quiet machine.
const ROUNDS: &str = "100";
/// Calls that each round begins with, one after the other. They have no facts and take some eight
/// bytes each, so that a packet is full after a dozen rounds: processes die while packets are
/// written, full, and on their way.
const PROBES: &str = "1000";
/// The longest that a case may take. Usually a second or two; supervisors delay the end by 10 s at
/// most, and on a busy machine programs that spin while they wait take ten times as long as usual.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a launcher may be without processes of its job before it counts as one that hangs.
const ALONE: Duration = Duration::from_secs(10);
/// Between two checks whether the moment has come.
const POLL: Duration = Duration::from_millis(2);
/// MPIs leave files of processes that are killed, with Invivo and without: in the job's own
/// directory, and in a `/dev/shm` of its own where that may be.
const OWN_FILES: &str = r#"mkdir tmp; export TMPDIR="$PWD/tmp"; exec "$@""#;
const OWN_MEMORY: &str = "mount -t tmpfs tmpfs /dev/shm; ";

/// Open MPI's own handler of SIGSEGV loads a library for its stack trace. A process that is hit
/// while it loads a library or exits cannot, and then does not end by the signal, with Invivo and
/// without. An empty list turns the handler off.
const SIGNALS_HANDLED: &str = "OMPI_MCA_opal_signal";

/// Whether jobs may have mounts of their own.
static OWN_MOUNTS: LazyLock<bool> = LazyLock::new(hosts::possible);

/// Runs a case, and beside it the bare run that it is compared with.
///
/// # Panics
/// Where a promise does not hold.
pub fn run(case: &Case) -> Outcome {
    let command = program(case.family, "marked_calls", [ROUNDS, PROBES]);
    // Without harm to a rank there is nothing to compare: a bare run has no such process.
    if !case.target.is_part_of_the_program() || case.spares_the_program() {
        return observed(case, &command);
    }
    // Both wait more than they compute, so that they may share the processors.
    std::thread::scope(|scope| {
        let bare = scope.spawn(|| bare(case, &command));
        let outcome = observed(case, &command);
        bare.join().expect("the bare run");
        outcome
    })
}

/// Runs the same fault without Invivo: it must end as the observed run is expected to.
fn bare(case: &Case, command: &[OsString]) {
    // In a bare run the rank stands for its supervisor, too.
    let program = Case {
        target: Target::Rank,
        ..case.clone()
    };
    let HitJob {
        ended,
        launcher_hung,
        ..
    } = run_with_fault(
        Job::bare(case.family, case.target.ranks(), command),
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
    (0..case.target.ranks()).map(line).collect()
}

fn observed(case: &Case, command: &[OsString]) -> Outcome {
    let job = Job::observed(case.family, case.target.ranks(), command).fan_in(case.target.fan_in());
    let HitJob {
        ended,
        took,
        launcher_hung,
    } = run_with_fault(job, case);
    // A rank that starts when the root is gone already makes the directory of the sockets again,
    // and the next job removes it.
    if (case.target, case.phase) != (Target::RootSupervisor, Phase::Start) {
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
        (0..case.target.ranks()).all(|rank| calls.get(&(rank, "MPI_Init".into())) == Some(&1))
    };
    let run = Run {
        all_began: through_init(&marks.ended),
        took,
        launcher_hung,
    };

    assert_eq!(
        objection(case, outcome, run),
        None,
        "{case}: {outcome}, {took:?} after the fault"
    );
    outcome
}

/// How much a report has, compared with what the ranks have marked.
fn reported(case: &Case, report: &Report, marks: &Marks) -> Reported {
    let ranks = case.target.ranks();
    // By the words of the report, as a user would learn it.
    let says = |words: &str| report.notes.iter().any(|note| note.contains(words));
    let unanswered = says("were not answered in time");
    let dropped = report.coverage.ledger.dropped.all();
    let lost = marks.contradicts(&report.calls(), dropped);

    // The program may run on meanwhile, and places do not answer the last questions in one moment.
    let early = says("the end of the job was asked for") && lost.is_some();

    if early
        || unanswered
        || report.coverage.ranks_reporting < ranks
        || report.coverage.members_missing > 0
    {
        return Reported::Part;
    }
    // From here on the report claims to be complete, and is held to that.
    checks::conserved(report, ranks);
    assert_eq!(lost, None, "{case}");
    let entered = report.coverage.ledger.entered;
    // One of a moment before the end has fewer.
    let is_of_the_end = !says("the end of the job was asked for");
    assert!(
        !is_of_the_end || marks.allow(entered),
        "{case}: {entered} calls entered, and {marks:?}"
    );
    Reported::All
}

/// A job that has ended after a fault.
struct HitJob {
    ended: Ended,
    /// From the fault to the end.
    took: Duration,
    /// Whether its launcher had to be killed.
    launcher_hung: bool,
}

fn run_with_fault(job: Job, case: &Case) -> HitJob {
    let job = job.limit(LIMIT).at_the_same_time().env(SIGNALS_HANDLED, "");

    let job = match *OWN_MOUNTS {
        true => job.behind_mounts(&format!("{OWN_MEMORY}{OWN_FILES}")),
        false => job.behind(OWN_FILES),
    };

    let mut running = job.start();
    if let Some(target) = wait_for_target(&mut running, case) {
        // The target may end between the look-up and the signal: the case is then one without a
        // fault.
        signal(&target, case.fault.signal());
        match case.fault {
            Fault::Stop => {
                std::thread::sleep(case.stop);
                signal(&target, Signal::CONT);
            }
            // A real fault comes again when a handler returns from the first one.
            Fault::Segv => {
                std::thread::sleep(POLL);
                signal(&target, case.fault.signal());
            }
            _ => {}
        }
    }

    let begun = Instant::now();
    // Open MPI's launcher hangs by itself now and then when a process dies while it connects: all
    // processes are gone, and it waits for them.
    let may_hang = case.family.is_open_mpi() && case.phase == Phase::Start;

    let mut launcher_hung = false;
    while may_hang && running.runs() {
        if begun.elapsed() > ALONE && running.is_launcher_alone() {
            running.signal_launcher(Signal::KILL);
            launcher_hung = true;
        }
        std::thread::sleep(POLL);
    }

    HitJob {
        ended: running.end(),
        took: begun.elapsed(),
        launcher_hung,
    }
}

/// Waits for the moment of the fault; returns the target if it is still alive.
fn wait_for_target(running: &mut Running, case: &Case) -> Option<Process> {
    let number = case.target.number(case.rank).to_string();

    let is_it = |process: &Process| {
        processes::variable(process, case.family.number_variable())
            .is_some_and(|value| value == number)
    };

    let find = |job: &Running| {
        let named = case.target.names().iter().flat_map(|name| job.named(name));
        named.into_iter().find(is_it)
    };

    while running.runs() {
        let phase_has_begun = match case.phase {
            Phase::Start => find(running).is_some(),
            Phase::Run => running.notes("begun") == case.target.ranks(),
            Phase::End => running.notes("leaving") > 0,
        };
        if phase_has_begun {
            std::thread::sleep(case.delay);
            // Looked up again: it may have ended during the delay, and a place may have got its own
            // name.
            return find(running);
        }
        std::thread::sleep(POLL);
    }
    None
}
