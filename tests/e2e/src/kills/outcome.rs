//! What became of a case, and what may become of it. Pure.

use super::case::{Case, Phase};
use std::fmt;
use std::time::Duration;

/// How long supervisors keep the end of a job back, at most.
const KEPT_BACK: Duration = Duration::from_secs(10);

/// What the report has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reported {
    /// Everything until the end of each rank.
    All,
    /// Something, and it says that it is not all.
    Part,
    /// There is none.
    Nothing,
}

/// What became of a job of which somebody was struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// All ranks have printed what they print, and nothing else.
    pub output_is_right: bool,
    /// The launcher's status.
    pub status: i32,
    /// The report.
    pub reported: Reported,
}

impl Outcome {
    /// A rank died, and the report of it says that it is not all. Where a launcher kills everybody
    /// at once, the last answers have half a second, which is not enough now and then on a busy
    /// machine: rare in a campaign, and never in silence.
    pub fn is_late(self, case: &Case) -> bool {
        self.reported == Reported::Part && case.victim.is_of_the_program()
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

/// What MPICH's launcher says of itself when a process dies between its last question, in
/// `MPI_Finalize`, and the answer.
const LAUNCHER_BROKE: i32 = 255;

/// The same of one that dies at the start: the launcher writes to it, and dies of SIGPIPE. Bare in
/// one of some 500 cases.
const LAUNCHER_WROTE: i32 = 141;

/// Statuses of a launcher of which a rank ends this way, as bare runs show; MPICH's adds up those
/// that it sees, and that of the others, which it kills.
pub fn statuses(case: &Case) -> Vec<i32> {
    let number = case.way.signal().as_raw();
    if case.family.is_open_mpi() {
        return vec![128 + number];
    }
    let with_the_others = number | rustix::process::Signal::KILL.as_raw();
    let mut statuses = vec![number, with_the_others, LAUNCHER_BROKE];
    statuses.extend((case.phase == Phase::Start).then_some(LAUNCHER_WROTE));
    statuses
}

/// What is known of a run beside what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// All ranks were through `MPI_Init`.
    pub all_began: bool,
    /// From the strike to the end.
    pub took: Duration,
    /// Nobody was left but the launcher, which waited for ever: then it was killed, and its status
    /// tells nothing.
    pub launcher_hung: bool,
}

/// Why this may not become of this case.
pub fn objection(case: &Case, outcome: Outcome, run: Run) -> Option<String> {
    let Outcome {
        output_is_right,
        status,
        reported,
    } = outcome;
    let unharmed = status == 0 && output_is_right && reported == Reported::All;
    if unharmed {
        return None;
    }
    if case.spares_the_program() {
        return Some("the program and its report were to be as if nothing had happened".into());
    }
    if status == 0 {
        return Some("a job that was harmed looks as if it had succeeded".into());
    }
    if run.launcher_hung || !case.victim.is_of_the_program() {
        // MPI ends a job of which a process dies; who makes the report may be dead.
        return None;
    }
    if !statuses(case).contains(&status) {
        return Some(format!(
            "without Invivo the status is one of {:?}",
            statuses(case)
        ));
    }
    // An end is kept back for so long and no longer: a machine may be too busy to make a report
    // meanwhile.
    if run.took > KEPT_BACK {
        return None;
    }
    (reported == Reported::Nothing && run.all_began).then(|| "there is no report".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Family;
    use crate::kills::case::Way;
    use crate::kills::victim::Victim;

    /// A case of this kind, whatever its seed.
    fn case(family: Family, victim: Victim, way: Way) -> Case {
        Case {
            victim,
            way,
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
    fn a_rank_that_dies_dies_as_without_us_and_is_reported() {
        let case = case(Family::Ompi, Victim::Rank, Way::Kill);
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
            took: 2 * KEPT_BACK,
            ..SOON
        };
        assert_eq!(
            objection(&case, outcome(137, false, Reported::Nothing), late),
            None
        );
    }

    #[test]
    fn a_gateway_and_a_stop_harm_nobody() {
        for case in [
            case(Family::Ompi, Victim::Gateway, Way::Kill),
            case(Family::Mpich, Victim::Place, Way::Stop),
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
    fn a_tool_that_dies_takes_the_job_with_it_and_never_in_silence() {
        let case = case(Family::Mpich, Victim::Root, Way::Kill);
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
