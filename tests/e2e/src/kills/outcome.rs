//! The outcome of a case, and whether it is one that Invivo promises. No process is touched here.

use super::case::{Case, Phase};
use std::fmt;
use std::time::Duration;

/// The longest time for which supervisors delay the end of a job, until the report is made.
const END_DELAYED_MAX: Duration = Duration::from_secs(10);

/// How much the report has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reported {
    /// All calls until the end of each rank.
    All,
    /// A part of the calls, and it says that it is not complete.
    Part,
    /// There is no report.
    Nothing,
}

/// What is seen of a job that a fault has hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// All ranks have printed exactly what they print without a fault.
    pub output_is_right: bool,
    /// The exit status of the launcher.
    pub status: i32,
    pub reported: Reported,
}

impl Outcome {
    /// Whether a rank died and the report says that it is not complete. Where a launcher kills all
    /// processes at once, there is half a second for the last answers, which is not enough now and
    /// then on a busy machine: rare in a campaign, and the report always says so.
    pub fn is_late(self, case: &Case) -> bool {
        self.reported == Reported::Part && case.target.is_part_of_the_program()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, self.output_is_right) {
            (0, true) => write!(f, "unharmed")?,
            (status, true) => write!(f, "whole output, {status}")?,
            (status, false) => write!(f, "{status}")?,
        }
        match (self.reported, self.status) {
            (Reported::All, 0) => Ok(()),
            (Reported::All, _) => write!(f, ", all in the report"),
            (Reported::Part, _) => write!(f, ", a part in the report"),
            (Reported::Nothing, _) => write!(f, ", no report"),
        }
    }
}

/// The status of MPICH's launcher when a process dies in `MPI_Finalize` between its last request to
/// the launcher and the answer.
const LAUNCHER_BROKE: i32 = 255;

/// The status of MPICH's launcher when it writes to a process that died at its start, and gets
/// SIGPIPE: in one of some 500 cases, without Invivo.
const LAUNCHER_WROTE: i32 = 141;

/// The statuses that a launcher may have when a rank gets this fault, as bare runs show. MPICH's
/// combines those that it sees, the ones of the ranks that it kills itself included.
pub fn statuses(case: &Case) -> Vec<i32> {
    let number = case.fault.signal().as_raw();
    if case.family.is_open_mpi() {
        return vec![128 + number];
    }
    // The statuses are combined bit by bit: with those that it kills, and with a rank that aborts
    // because it was reading from the memory of the dead one (UCX does).
    let killed = rustix::process::Signal::KILL.as_raw();
    let aborted = rustix::process::Signal::ABORT.as_raw();
    let mut statuses = vec![number, number | killed, number | aborted, LAUNCHER_BROKE];
    statuses.push(number | killed | aborted);
    statuses.extend((case.phase == Phase::Start).then_some(LAUNCHER_WROTE));
    statuses
}

/// What is known of a run beside its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// All ranks had returned from `MPI_Init`.
    pub all_began: bool,
    /// From the fault to the end of the job.
    pub took: Duration,
    /// All processes were gone but the launcher, which did not end: it was killed, and its status
    /// means nothing.
    pub launcher_hung: bool,
}

/// Why this outcome breaks a promise; `None` where it keeps all of them.
pub fn objection(case: &Case, outcome: Outcome, run: Run) -> Option<String> {
    let Outcome {
        output_is_right,
        status,
        reported,
    } = outcome;
    // The strictest case first: nothing is to be excused then.
    let unharmed = status == 0 && output_is_right && reported == Reported::All;
    if unharmed {
        return None;
    }

    if case.spares_the_program() {
        return Some("the program and its report were to be as if nothing had happened".into());
    }
    // MPI must have ended the job, and with an error.
    if status == 0 {
        return Some("a job that was harmed looks as if it had succeeded".into());
    }
    if run.launcher_hung || !case.target.is_part_of_the_program() {
        // MPI ends a job of which a process dies; the process that makes the report may be dead.
        return None;
    }
    if !statuses(case).contains(&status) {
        return Some(format!(
            "without Invivo the status is one of {:?}",
            statuses(case)
        ));
    }
    // The end is not delayed any longer: a machine may be too busy to make a report meanwhile.
    if run.took > END_DELAYED_MAX {
        return None;
    }
    // Before all ranks were through `MPI_Init` the tree may not have been connected.
    (reported == Reported::Nothing && run.all_began).then(|| "there is no report".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kills::case::Fault;
    use crate::kills::target::Target;
    use crate::mpi::Family;

    fn case(family: Family, target: Target, fault: Fault) -> Case {
        Case {
            target,
            fault,
            ..Case::of(0, family)
        }
    }

    fn outcome(status: i32, output_is_right: bool, reported: Reported) -> Outcome {
        Outcome {
            output_is_right,
            status,
            reported,
        }
    }

    const SOON: Run = Run {
        all_began: true,
        took: Duration::from_secs(1),
        launcher_hung: false,
    };

    #[test]
    fn a_rank_dies_with_the_status_of_a_bare_run() {
        let case = case(Family::Ompi, Target::Rank, Fault::Kill);
        let objects = |status, reported, all_began| {
            let run = Run { all_began, ..SOON };
            objection(&case, outcome(status, false, reported), run).is_some()
        };
        assert!(!objects(137, Reported::All, true));
        assert!(!objects(137, Reported::Nothing, false));
        assert!(objects(137, Reported::Nothing, true));
        let late = outcome(137, false, Reported::Part);
        assert!(late.is_late(&case) && !outcome(137, false, Reported::All).is_late(&case));
        assert!(objects(1, Reported::All, true));
        assert!(objects(0, Reported::All, true));
        let late = Run {
            took: 2 * END_DELAYED_MAX,
            ..SOON
        };
        assert_eq!(
            objection(&case, outcome(137, false, Reported::Nothing), late),
            None
        );
    }

    #[test]
    fn a_killed_gateway_and_a_stop_change_nothing() {
        for case in [
            case(Family::Ompi, Target::Gateway, Fault::Kill),
            case(Family::Mpich, Target::Place, Fault::Stop),
        ] {
            assert_eq!(
                objection(&case, outcome(0, true, Reported::All), SOON),
                None
            );
            for harm in [
                outcome(1, true, Reported::All),
                outcome(0, false, Reported::All),
                outcome(0, true, Reported::Part),
                outcome(0, true, Reported::Nothing),
            ] {
                assert!(objection(&case, harm, SOON).is_some(), "{harm}");
            }
        }
    }

    #[test]
    fn a_job_without_a_tool_process_fails() {
        let case = case(Family::Mpich, Target::Root, Fault::Kill);
        assert_eq!(
            objection(&case, outcome(9, false, Reported::Nothing), SOON),
            None
        );
        assert!(objection(&case, outcome(0, false, Reported::Nothing), SOON).is_some());
        assert!(objection(&case, outcome(0, true, Reported::Nothing), SOON).is_some());
    }

    #[test]
    fn outcomes_read_as_the_manual_has_them() {
        for (outcome, text) in [
            (outcome(0, true, Reported::All), "unharmed"),
            (outcome(0, true, Reported::Nothing), "unharmed, no report"),
            (
                outcome(1, true, Reported::Nothing),
                "whole output, 1, no report",
            ),
            (outcome(9, false, Reported::All), "9, all in the report"),
        ] {
            assert_eq!(outcome.to_string(), text);
        }
    }
}
