//! One case: the process, the fault and the moment, all made of a seed.

use super::target::Target;
use crate::mpi::Family;
use fastrand::Rng;
use rustix::process::Signal;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// A fault that is injected into a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    Kill,
    /// As from an error of the process itself.
    Segv,
    /// As from an assertion of the process itself.
    Abort,
    /// A request to end.
    Term,
    /// Stopped, and continued after a while.
    Stop,
}

impl Fault {
    pub const ALL: [Fault; 5] = [
        Fault::Kill,
        Fault::Segv,
        Fault::Abort,
        Fault::Term,
        Fault::Stop,
    ];

    /// The name in the manual's table.
    pub fn title(self) -> &'static str {
        match self {
            Fault::Kill => "SIGKILL",
            Fault::Segv => "SIGSEGV",
            Fault::Abort => "SIGABRT",
            Fault::Term => "SIGTERM",
            Fault::Stop => "SIGSTOP, SIGCONT",
        }
    }

    /// The first signal of the fault.
    pub fn signal(self) -> Signal {
        match self {
            Fault::Kill => Signal::KILL,
            Fault::Segv => Signal::SEGV,
            Fault::Abort => Signal::ABORT,
            Fault::Term => Signal::TERM,
            Fault::Stop => Signal::STOP,
        }
    }
}

/// The moment from which the delay to the fault counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The target is first seen.
    Start,
    /// All ranks are behind `MPI_Init`.
    Run,
    /// The first rank is about to call `MPI_Finalize`.
    End,
}

impl Phase {
    /// The longest delay of the fault.
    fn delay_max(self) -> Duration {
        Duration::from_millis(match self {
            Phase::Start => 400,
            Phase::Run => 200,
            Phase::End => 60,
        })
    }
}

/// Times for which a target is stopped: usually too short for other processes to notice, sometimes
/// longer than they wait for an answer.
const STOPS_MS: [Range<u64>; 2] = [20..400, 1000..2000];
/// One of so many stops is a long one.
const LONG_STOPS: u32 = 6;

#[derive(Clone, Debug)]
pub struct Case {
    /// Gives everything else but the MPI.
    pub seed: u64,
    pub family: Family,
    pub target: Target,
    /// The rank, where the target is a rank or a rank's supervisor.
    pub rank: u32,
    pub fault: Fault,
    pub phase: Phase,
    /// From the beginning of the phase to the fault.
    pub delay: Duration,
    /// From SIGSTOP to SIGCONT, for [`Fault::Stop`].
    pub stop: Duration,
}

impl Case {
    /// The case of a seed.
    pub fn of(seed: u64, family: Family) -> Case {
        let mut random = Rng::with_seed(seed);
        let mut one_of = |number: usize| random.usize(..number);

        // Drawn in a fixed order: another order gives every seed another case.
        let target = Target::ALL[one_of(Target::ALL.len())];
        let fault = Fault::ALL[one_of(Fault::ALL.len())];
        let phase = [Phase::Start, Phase::Run, Phase::Run, Phase::End][one_of(4)];
        let rank = one_of(target.ranks() as usize) as u32;
        let delay = Duration::from_micros(random.u64(..phase.delay_max().as_micros() as u64));

        let is_long = random.u32(..LONG_STOPS) == 0;
        let stop = Duration::from_millis(random.u64(STOPS_MS[usize::from(is_long)].clone()));
        Case {
            seed,
            family,
            target,
            rank,
            fault,
            phase,
            delay,
            stop,
        }
    }

    /// The cases of a campaign, without end: the MPIs take turns.
    pub fn campaign(seed: u64, families: &[Family]) -> impl Iterator<Item = Case> {
        let mut random = Rng::with_seed(seed);
        let seeds = std::iter::repeat_with(move || random.u64(..1 << 32));
        seeds
            .zip(families.iter().copied().cycle())
            .map(|(seed, family)| Case::of(seed, family))
    }

    /// Whether the program must end as it would without the fault.
    pub fn spares_the_program(&self) -> bool {
        // A stopped process goes on; the gateway is outside of MPI; a tool that ends in order waits
        // for the ranks.
        self.fault == Fault::Stop || self.target == Target::Gateway || self.terminates_a_tool()
    }

    /// Whether a tool process gets SIGTERM: it stays until the ranks have ended, once it has come
    /// so far that it handles the signal.
    fn terminates_a_tool(&self) -> bool {
        self.fault == Fault::Term
            && !self.target.is_part_of_the_program()
            && self.phase != Phase::Start
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case {
            seed,
            family,
            target,
            rank,
            fault,
            phase,
            delay,
            stop,
        } = self;
        write!(
            f,
            "--case {seed} --mpi {}: {} for {}",
            family.name(),
            fault.title(),
            target.title()
        )?;
        // Other targets exist once in a job.
        if target.is_part_of_the_program() {
            write!(f, " ({rank})")?;
        }
        let from = match phase {
            Phase::Start => "after it is first seen",
            Phase::Run => "after MPI_Init",
            Phase::End => "after the first rank comes to MPI_Finalize",
        };
        write!(f, ", {:.1} ms {from}", delay.as_secs_f64() * 1e3)?;
        match fault {
            Fault::Stop => write!(f, ", for {} ms", stop.as_millis()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_is_a_case() {
        let cases = || {
            Case::campaign(7, &Family::ALL)
                .take(50)
                .map(|case| case.to_string())
        };
        assert!(cases().eq(cases()));
        for case in Case::campaign(7, &Family::ALL).take(50) {
            assert_eq!(
                Case::of(case.seed, case.family).to_string(),
                case.to_string()
            );
        }
    }

    #[test]
    fn a_long_campaign_has_every_combination() {
        let cases: Vec<Case> = Case::campaign(1, &Family::ALL).take(1000).collect();
        let kinds: BTreeSet<_> = cases
            .iter()
            .map(|case| (case.target, case.fault, case.family.name()))
            .collect();
        assert_eq!(
            kinds.len(),
            Target::ALL.len() * Fault::ALL.len() * Family::ALL.len()
        );
        let times: BTreeSet<_> = cases.iter().map(|case| (case.target, case.phase)).collect();
        assert_eq!(times.len(), Target::ALL.len() * 3);
    }
}
