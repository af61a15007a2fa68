//! The life of one rank of the place: absent, alive, ending (its last records are taken), finished.

use crate::memory::Memory;
use crate::metric_series::MetricSeries;
use crate::notes::Trouble;
use crate::process::Process;
use crate::rank::{Eagerness, Feed, RankRecords};
use crate::time_point::Now;
use invivo_mpi_link::bell;
use invivo_proto::control::fault::{Fault, STEPS_MAX};
use invivo_proto::control::results::RankState;
use invivo_proto::control::tree::Ended;
use invivo_proto::ids::Rank;
use invivo_proto::shm::{phase, recording};
use rustix::process::Pid;
use std::sync::atomic::Ordering;

/// How long a rank may outlive its supervisor before it is taken for one that is not killed with
/// it.
const ORPHAN_NS_MAX: u64 = 1_000_000_000;

/// Where a rank is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Its memory is not here.
    Absent,
    /// It may record.
    Alive,
    /// It has drained, ended or gone silent: what it left is being taken.
    Ending,
    /// All is taken.
    Finished,
}

/// What one look at a rank has led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// There was something to do.
    pub worked: bool,
    /// The rank is through, and all that it left is taken.
    pub is_through: bool,
}

/// A rank of this place.
pub struct LocalRank {
    pub records: RankRecords,
    /// What is measured of it beside its calls.
    pub metrics: MetricSeries,
    pub life: Life,
    /// Time on a processor that sampling and measuring it took, in ns.
    pub spent_ns: u64,
    /// Time that samples took from it, in the kernel, in ns.
    pub sampled_ns: u64,
    /// When the frequency of its samples was ordered last, in ticks.
    pub sampling_ordered: u64,
    /// How often its buffers want its samples halved, as its supervisor was told last.
    pub halvings_told: u32,
    /// What comes of its samples is of a frequency that is not ordered any more.
    pub samples_are_old: bool,
    /// Its last samples were asked for.
    pub is_sampled_out: bool,
    /// They are waited for until then.
    pub samples_until_ns: u64,
    /// How it ended, otherwise than through `MPI_Finalize`.
    pub ended: Option<Ended>,
    /// Where the thread was that ended it.
    pub fault: Option<Fault>,
    /// Its supervisor holds the job's end back.
    pub lingers: bool,
    /// It can wake this process.
    pub rings: bool,
    /// It was paused when it was saved: nothing else says so of a saved observation.
    pub was_paused: bool,
    /// Its program had switched recording off when it was looked at last.
    was_off_by_program: bool,
    process: Process,
    /// Its number.
    pub pid: Option<Pid>,
    /// The kernel kills it with its supervisor, which is gone, but only a moment later: no longer
    /// than until then.
    orphan_until_ns: u64,
}

impl LocalRank {
    pub fn new(rank: Rank) -> LocalRank {
        LocalRank {
            records: RankRecords::new(rank),
            metrics: MetricSeries::default(),
            spent_ns: 0,
            sampled_ns: 0,
            sampling_ordered: 0,
            halvings_told: 0,
            samples_are_old: false,
            is_sampled_out: false,
            samples_until_ns: 0,
            life: Life::Absent,
            ended: None,
            fault: None,
            lingers: false,
            rings: false,
            was_paused: false,
            was_off_by_program: false,
            process: Process::default(),
            pid: None,
            orphan_until_ns: 0,
        }
    }

    pub fn memory(&self) -> Option<&Memory> {
        self.records.memory()
    }

    /// Its supervisor attached, with its memory and its process id.
    pub fn attach(&mut self, memory: Memory, pid: u32) {
        self.records.attach(memory);
        self.life = Life::Alive;
        self.pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        self.process = self.pid.map(Process::of).unwrap_or_default();
        self.rings = bell::can_ring(pid);
    }

    /// Its supervisor attached, with its memory, after the death of the place that it had: what
    /// lies there is taken.
    pub fn salvage(&mut self, memory: Memory) {
        self.records.salvage(memory);
        self.life = Life::Ending;
    }

    /// Its supervisor is gone. The kernel kills a rank with its supervisor, behind whose end it may
    /// go on for a moment.
    pub fn orphaned(&mut self, now_ns: u64) {
        self.orphan_until_ns = now_ns.saturating_add(ORPHAN_NS_MAX);
    }

    /// Its supervisor has seen a thread that met a fault.
    pub fn faulted(&mut self, mut fault: Fault) {
        fault.path.truncate(STEPS_MAX);
        self.fault = Some(fault);
    }

    /// Its process has ended. `lingers`: its supervisor waits for our release.
    pub fn process_ended(&mut self, how: Ended, lingers: bool) {
        self.lingers = lingers;
        if self.life != Life::Alive {
            return;
        }
        self.life = Life::Ending;
        let page = self.records.memory().map(Memory::page);
        let in_phase = page.map_or(phase::STARTING, |page| page.phase.load(Ordering::Acquire));
        // The code given to MPI_Abort tells more than the signal by which the launcher then killed
        // it.
        let how = match page.filter(|_| in_phase == phase::ABORTING) {
            Some(page) => Ended::Code(page.abort_code.load(Ordering::Relaxed) as i32),
            None => how,
        };
        // A drained rank has reached `MPI_Finalize`; of an unobserved one only the exit code is
        // known.
        let fine =
            in_phase == phase::DRAINED || (in_phase == phase::SILENT && how == Ended::Code(0));
        if !fine {
            self.ended = Some(how);
        }
    }

    /// Takes what is there of its records, if it is time. `look` says whether all of its packets
    /// are looked at, not only what it left; `is_over` that nothing is measured any more.
    pub fn look(&mut self, now: Now, look: bool, is_over: bool, feed: &mut Feed) -> Looked {
        if self.life == Life::Alive {
            self.records.prepare(feed);
        }
        let Some(memory) = self.records.memory() else {
            return Looked::default();
        };

        if self.life == Life::Alive {
            let in_phase = memory.page().phase.load(Ordering::Acquire);
            if in_phase == phase::SILENT {
                let rank = self.records.rank();
                feed.notes.add(Trouble::Silent, || {
                    format!(
                        "rank {rank} is not observed: the preloaded library gave up (see its line \
                         on stderr)"
                    )
                });
            }
            let word = memory.page().control.recording.load(Ordering::Relaxed);
            if recording::is_off_by_program(word) && !self.was_off_by_program {
                let rank = self.records.rank();
                feed.notes.add(Trouble::OffByProgram, || {
                    format!(
                        "rank {rank} has switched its own recording off (MPI_Pcontrol): what it \
                         calls is missing until it switches it on"
                    )
                });
            }
            self.was_off_by_program = recording::is_off_by_program(word);
            // No more records come from either, though the process may run for long.
            if matches!(in_phase, phase::DRAINED | phase::SILENT) {
                self.life = Life::Ending;
            }
        }

        if is_over {
            // What was open when the measurement ended belongs to no answer: those that are made
            // now, one after the other, are of one moment. Definitions must not fill their channel.
            if look {
                self.records.define(feed);
            }
            return Looked {
                worked: false,
                is_through: self.life == Life::Ending,
            };
        }
        self.take_records(now, look, feed)
    }

    fn take_records(&mut self, now: Now, look: bool, feed: &mut Feed) -> Looked {
        match self.life {
            Life::Alive if look || self.records.has_left_packets() => {
                let worked = self.records.peek(now.ns, now.ticks, Eagerness::Late, feed);
                Looked {
                    worked,
                    is_through: false,
                }
            }
            Life::Absent | Life::Finished | Life::Alive => Looked::default(),
            Life::Ending => {
                // Read before the scan: a process that lives during the scan may write after it.
                let is_still = now.ns >= self.orphan_until_ns || self.process.is_gone();
                let is_still = is_still && now.ns >= self.samples_until_ns;
                let worked = self.records.peek(now.ns, now.ticks, Eagerness::All, feed);
                Looked {
                    worked,
                    is_through: is_still && self.records.is_taken(),
                }
            }
        }
    }

    /// What it is doing, by its life and its status page.
    pub fn state(&self, said: RankState, is_paused: bool) -> RankState {
        match (self.life, said) {
            (Life::Absent, _) => RankState::Starting,
            // It runs on: only its records are finished with.
            (_, said) if self.records.is_salvaged() => said,
            (Life::Finished | Life::Ending, _) => RankState::Finished,
            // Wherever it is, it gets no further than the end of its call.
            (Life::Alive, RankState::Computing | RankState::InMpi)
                if is_paused || self.was_paused =>
            {
                RankState::Paused
            }
            (Life::Alive, state) => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::memory;

    /// A rank whose page says that it is in this phase.
    fn alive(in_phase: u32) -> LocalRank {
        let (descriptor, region) = memory(3, 4);
        region.page().phase.store(in_phase, Ordering::Release);
        region.page().abort_code.store(7, Ordering::Relaxed);
        let mut rank = LocalRank::new(Rank(3));
        rank.attach(Memory::map(&descriptor).expect("a rank's memory"), 0);
        rank
    }

    #[test]
    fn an_end_is_judged_by_the_phase() {
        for (in_phase, how, told) in [
            (phase::RUNNING, Ended::Code(0), Some(Ended::Code(0))),
            (phase::RUNNING, Ended::Signal(11), Some(Ended::Signal(11))),
            (phase::DRAINED, Ended::Signal(9), None),
            (phase::SILENT, Ended::Code(0), None),
            (phase::SILENT, Ended::Code(1), Some(Ended::Code(1))),
            (phase::ABORTING, Ended::Signal(9), Some(Ended::Code(7))),
        ] {
            let mut rank = alive(in_phase);
            rank.process_ended(how, true);
            assert_eq!((rank.life, rank.ended), (Life::Ending, told), "{in_phase}");
            // What comes later changes nothing.
            rank.process_ended(Ended::Signal(4), false);
            assert_eq!((rank.ended, rank.lingers), (told, false));
        }
    }

    #[test]
    fn a_pause_hides_what_a_living_rank_does() {
        let mut rank = alive(phase::RUNNING);
        assert_eq!(rank.state(RankState::InMpi, true), RankState::Paused);
        assert_eq!(rank.state(RankState::Held, true), RankState::Held);
        assert_eq!(rank.state(RankState::InMpi, false), RankState::InMpi);
        rank.life = Life::Ending;
        assert_eq!(rank.state(RankState::InMpi, true), RankState::Finished);
        let absent = LocalRank::new(Rank(0));
        assert_eq!(absent.state(RankState::InMpi, true), RankState::Starting);
    }
}
