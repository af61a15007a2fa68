//! Has the ranks sampled by their supervisors, and acknowledges when all of them are.

use super::local_ranks::LocalRanks;
use crate::notes::Trouble;
use crate::time_point::Now;
use invivo_proto::control::local::ToSupervisor;
use invivo_proto::control::profile::NoSamples;
use invivo_proto::control::tree::{Acks, FAILURES_MAX, Up};
use invivo_proto::ids::{CommandId, Rank};
use std::collections::BTreeSet;

/// How long a supervisor may take: it starts a process, which opens an event for each thread.
const PATIENCE_NS: u64 = 1_500_000_000;
/// The number of an order that nobody waits for: of ranks that come later.
const NOBODY: u32 = 0;

/// What of sampling is in force, and commands under way.
#[derive(Default)]
pub struct Sampling {
    /// Samples a second; 0 for none.
    frequency: u32,
    last: u32,
    ordered: Vec<Ordered>,
}

struct Ordered {
    command: CommandId,
    sampling: u32,
    begun_ns: u64,
    waiting: BTreeSet<Rank>,
    acks: Acks,
}

impl Ordered {
    fn answered(&mut self, now_ns: u64, rank: Rank, outcome: Result<(), NoSamples>) {
        if !self.waiting.remove(&rank) {
            return;
        }
        let took_ns = now_ns.saturating_sub(self.begun_ns);
        if self
            .acks
            .slowest
            .is_none_or(|(_, slowest)| took_ns > slowest)
        {
            self.acks.slowest = Some((rank, took_ns));
        }
        match outcome {
            // There is nothing left to sample, which is no failure.
            Ok(()) | Err(NoSamples::Ended) => self.acks.done += 1,
            Err(why) => self.fail(rank, &reason(why)),
        }
    }

    fn fail(&mut self, rank: Rank, why: &str) {
        if self.acks.failures.len() < FAILURES_MAX {
            self.acks.failures.push((rank, why.to_owned()));
        }
    }
}

impl Sampling {
    /// The job's frequency from the start; 0 for none.
    pub fn begin(&mut self, frequency: u32, local: &mut LocalRanks) {
        if frequency == 0 {
            return;
        }
        self.frequency = frequency;
        for rank in local.numbers() {
            self.attached(rank, local);
        }
    }

    /// A supervisor has come: its rank is sampled as the others are.
    pub fn attached(&self, rank: Rank, local: &mut LocalRanks) {
        if self.frequency > 0 {
            let sampling = NOBODY;
            let frequency = self.frequency;
            local.tell(
                rank,
                &ToSupervisor::Sample {
                    sampling,
                    frequency,
                },
            );
        }
    }

    /// A command came. The answer, where no supervisor has to be waited for.
    pub fn command(
        &mut self,
        now: Now,
        command: CommandId,
        frequency: u32,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        self.frequency = frequency;
        self.last = self.last.wrapping_add(1).max(NOBODY + 1);
        let sampling = self.last;
        let mut ordered = Ordered {
            command,
            sampling,
            begun_ns: now.ns,
            waiting: BTreeSet::new(),
            acks: Acks {
                targets: local.len() as u32,
                ..Acks::default()
            },
        };
        for rank in local.numbers() {
            let told = local.tell(
                rank,
                &ToSupervisor::Sample {
                    sampling,
                    frequency,
                },
            );
            match told {
                true => {
                    ordered.waiting.insert(rank);
                }
                // One that has not come yet is told when it does, and one that has ended needs
                // nothing.
                false if !local.has_supervisor(rank) => ordered.acks.done += 1,
                false => ordered.fail(rank, &reason(NoSamples::Silent)),
            }
        }
        self.ordered.push(ordered);
        self.due(now)
    }

    /// A supervisor samples its rank as ordered, or says why not.
    pub fn answered(
        &mut self,
        now: Now,
        rank: Rank,
        sampling: u32,
        outcome: Result<(), NoSamples>,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        if sampling == NOBODY
            && let Err(why) = outcome
            && why != NoSamples::Ended
        {
            local.feed.notes.add(Trouble::Sampling, || {
                format!("rank {rank} is not sampled: {}", reason(why))
            });
        }
        if let Some(ordered) = self.ordered.iter_mut().find(|one| one.sampling == sampling) {
            ordered.answered(now.ns, rank, outcome);
        }
        self.due(now)
    }

    /// A rank has no supervisor any more: there is nothing to sample.
    pub fn lost(&mut self, now: Now, rank: Rank) -> Vec<Up> {
        for ordered in &mut self.ordered {
            ordered.answered(now.ns, rank, Err(NoSamples::Ended));
        }
        self.due(now)
    }

    /// Answers what is done or has waited for long enough.
    pub fn due(&mut self, now: Now) -> Vec<Up> {
        for ordered in &mut self.ordered {
            if now.ns.saturating_sub(ordered.begun_ns) >= PATIENCE_NS {
                for rank in std::mem::take(&mut ordered.waiting) {
                    ordered.fail(rank, &reason(NoSamples::Silent));
                }
            }
        }
        let done = self.ordered.extract_if(.., |one| one.waiting.is_empty());
        done.map(|one| Up::Ack {
            command: one.command,
            acks: one.acks,
        })
        .collect()
    }

    /// The measurement is over: ranks are not sampled any longer.
    pub fn end(&mut self, local: &mut LocalRanks) {
        if std::mem::take(&mut self.frequency) > 0 {
            let (sampling, frequency) = (NOBODY, 0);
            for rank in local.numbers() {
                let order = ToSupervisor::Sample {
                    sampling,
                    frequency,
                };
                local.tell(rank, &order);
            }
        }
    }

    /// What is under way will not be done, for this reason.
    pub fn refuse(&mut self, refusal: &Acks) -> Vec<Up> {
        let all = self.ordered.drain(..);
        all.map(|one| Up::Ack {
            command: one.command,
            acks: refusal.clone(),
        })
        .collect()
    }
}

/// Why a rank is not sampled, and what would help.
fn reason(why: NoSamples) -> String {
    match why {
        NoSamples::Off => "sampling is off".to_owned(),
        NoSamples::Starting => "it has not called MPI_Init".to_owned(),
        NoSamples::Ended => "it has ended".to_owned(),
        NoSamples::Silent => "its supervisor did not answer".to_owned(),
        NoSamples::Forbidden { paranoid } => format!(
            "the kernel does not allow it (kernel.perf_event_paranoid is {paranoid}; with 2 or \
             less a user's own programs can be sampled)"
        ),
        NoSamples::Unsupported => "the kernel has no perf events".to_owned(),
        NoSamples::NoRoom => {
            "there is no memory or descriptor left for it (see ulimit -l and ulimit -n)".to_owned()
        }
        NoSamples::Broken => "its sampler has ended".to_owned(),
    }
}
