//! Has the ranks sampled by their supervisors, and acknowledges when all of them are.

use super::local_ranks::LocalRanks;
use super::supervisor_orders::{NOBODY, SupervisorOrders};
use crate::notes::Trouble;
use crate::time_point::Now;
use invivo_proto::control::local::ToSupervisor;
use invivo_proto::control::profile::NoSamples;
use invivo_proto::control::tree::Up;
use invivo_proto::ids::{CommandId, Rank};

/// What of sampling is in force, and commands under way.
#[derive(Default)]
pub struct Sampling {
    /// Samples a second; 0 for none.
    frequency: u32,
    pub orders: SupervisorOrders,
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
            local.tell(rank, &order(NOBODY, self.frequency));
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
        let make = |sampling| order(sampling, frequency);
        self.orders.give(now, command, make, local)
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
        // There is nothing left to sample of one that has ended, which is no failure.
        let outcome = match outcome {
            Err(why) if why != NoSamples::Ended => Err(reason(why)),
            _ => Ok(()),
        };
        if sampling == NOBODY
            && let Err(why) = &outcome
        {
            local.feed.notes.add(Trouble::Sampling, || {
                format!("rank {rank} is not sampled: {why}")
            });
        }
        self.orders.answered(now, rank, sampling, outcome)
    }

    /// The measurement is over: ranks are not sampled any longer.
    pub fn end(&mut self, local: &mut LocalRanks) {
        if std::mem::take(&mut self.frequency) > 0 {
            for rank in local.numbers() {
                local.tell(rank, &order(NOBODY, 0));
            }
        }
    }
}

fn order(sampling: u32, frequency: u32) -> ToSupervisor {
    ToSupervisor::Sample {
        sampling,
        frequency,
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
