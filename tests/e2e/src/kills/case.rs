//! Who dies, how and when: all of it is made of a seed.

use super::victim::Victim;
use crate::family::Family;
use fastrand::Rng;
use rustix::process::Signal;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// What it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Without a chance.
    Kill,
    /// As from a fault of its own.
    Fault,
    /// As from an assertion of its own.
    Abort,
    /// A request to end.
    Term,
    /// Stopped, and continued after a while.
    Stop,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 5] = [Way::Kill, Way::Fault, Way::Abort, Way::Term, Way::Stop];

    /// As the manual calls it.
    pub fn title(self) -> &'static str {
        match self {
            Way::Kill => "SIGKILL",
            Way::Fault => "SIGSEGV",
            Way::Abort => "SIGABRT",
            Way::Term => "SIGTERM",
            Way::Stop => "SIGSTOP, SIGCONT",
        }
    }

    /// The signal that it begins with.
    pub fn signal(self) -> Signal {
        match self {
            Way::Kill => Signal::KILL,
            Way::Fault => Signal::SEGV,
            Way::Abort => Signal::ABORT,
            Way::Term => Signal::TERM,
            Way::Stop => Signal::STOP,
        }
    }
}

/// From when on the time to the strike counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// From when the victim is first seen.
    Start,
    /// From when all ranks are behind `MPI_Init`.
    Run,
    /// From when the first rank is about to call `MPI_Finalize`.
    End,
}

impl Phase {
    /// When the strike comes, at the latest.
    fn delays(self) -> Duration {
        Duration::from_millis(match self {
            Phase::Start => 400,
            Phase::Run => 200,
            Phase::End => 60,
        })
    }
}

/// How long a victim stands still: usually not long enough for anybody to notice, sometimes longer
/// than the others wait for an answer.
const STOPS_MS: [Range<u64>; 2] = [20..400, 1000..2000];
/// One of so many stops is a long one.
const LONG_STOPS: u32 = 6;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// What all the rest but the MPI is made of.
    pub seed: u64,
    /// The MPI.
    pub family: Family,
    /// Who.
    pub victim: Victim,
    /// Which, where there are several: of the ranks and their supervisors.
    pub rank: u32,
    /// How.
    pub way: Way,
    /// When, from
    pub phase: Phase,
    /// on.
    pub delay: Duration,
    /// How long it stands still, where it does.
    pub stop: Duration,
}

impl Case {
    /// The case of a seed.
    pub fn of(seed: u64, family: Family) -> Case {
        let mut random = Rng::with_seed(seed);
        let mut one_of = |number: usize| random.usize(..number);
        let victim = Victim::ALL[one_of(Victim::ALL.len())];
        let way = Way::ALL[one_of(Way::ALL.len())];
        let phase = [Phase::Start, Phase::Run, Phase::Run, Phase::End][one_of(4)];
        let rank = one_of(victim.ranks() as usize) as u32;
        let delay = Duration::from_micros(random.u64(..phase.delays().as_micros() as u64));
        let is_long = random.u32(..LONG_STOPS) == 0;
        let stop = Duration::from_millis(random.u64(STOPS_MS[usize::from(is_long)].clone()));
        Case {
            seed,
            family,
            victim,
            rank,
            way,
            phase,
            delay,
            stop,
        }
    }

    /// The cases of a campaign: the MPIs take turns.
    pub fn campaign(seed: u64, families: &[Family]) -> impl Iterator<Item = Case> {
        let mut random = Rng::with_seed(seed);
        let seeds = std::iter::repeat_with(move || random.u64(..1 << 32));
        seeds
            .zip(families.iter().copied().cycle())
            .map(|(seed, family)| Case::of(seed, family))
    }

    /// Nothing of the program is touched for good: it ends as it would have.
    pub fn spares_the_program(&self) -> bool {
        self.way == Way::Stop || self.victim == Victim::Gateway || self.asks_a_tool()
    }

    /// Who is asked to end stays with the ranks, from when it has come so far that it knows of the
    /// signal.
    fn asks_a_tool(&self) -> bool {
        self.way == Way::Term && !self.victim.is_of_the_program() && self.phase != Phase::Start
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case {
            seed,
            family,
            victim,
            rank,
            way,
            phase,
            delay,
            stop,
        } = self;
        write!(
            f,
            "--case {seed} --mpi {}: {} for {}",
            family.name(),
            way.title(),
            victim.title()
        )?;
        if victim.is_of_the_program() {
            write!(f, " ({rank})")?;
        }
        let from = match phase {
            Phase::Start => "after it is first seen",
            Phase::Run => "after MPI_Init",
            Phase::End => "after the first rank comes to MPI_Finalize",
        };
        write!(f, ", {:.1} ms {from}", delay.as_secs_f64() * 1e3)?;
        match way {
            Way::Stop => write!(f, ", for {} ms", stop.as_millis()),
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
    fn in_a_long_campaign_everybody_dies_in_every_way_on_every_mpi_at_every_time() {
        let cases: Vec<Case> = Case::campaign(1, &Family::ALL).take(1000).collect();
        let kinds: BTreeSet<_> = cases
            .iter()
            .map(|case| (case.victim, case.way, case.family.name()))
            .collect();
        assert_eq!(
            kinds.len(),
            Victim::ALL.len() * Way::ALL.len() * Family::ALL.len()
        );
        let times: BTreeSet<_> = cases.iter().map(|case| (case.victim, case.phase)).collect();
        assert_eq!(times.len(), Victim::ALL.len() * 3);
    }
}
