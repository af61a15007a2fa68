//! Has metrics of the ranks measured by their supervisors, and acknowledges when all of them do.

use super::local_ranks::LocalRanks;
use super::supervisor_orders::{NOBODY, SupervisorOrders};
use crate::notes::Trouble;
use crate::time_point::Now;
use invivo_proto::control::local::ToSupervisor;
use invivo_proto::control::metrics::{Measured, NoMetric, Reading, SystemMetric};
use invivo_proto::control::tree::Up;
use invivo_proto::ids::{CommandId, Rank};
use invivo_tbon::job_time::JobClock;

/// What is to be measured, and commands under way.
#[derive(Default)]
pub struct Measuring {
    /// Nothing where its set is empty.
    measured: Measured,
    pub orders: SupervisorOrders,
}

impl Measuring {
    /// What is measured from the start.
    pub fn begin(&mut self, measured: Measured, local: &mut LocalRanks) {
        self.measured = measured;
        for rank in local.numbers() {
            self.attached(rank, local);
        }
    }

    /// A supervisor has come: its rank is measured as the others are.
    pub fn attached(&self, rank: Rank, local: &mut LocalRanks) {
        if !self.measured.set.is_empty() {
            local.tell(rank, &order(NOBODY, self.measured));
        }
    }

    /// A command came. The answer, where no supervisor has to be waited for.
    pub fn command(
        &mut self,
        now: Now,
        command: CommandId,
        measured: Measured,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        self.measured = measured;
        let make = |measuring| order(measuring, measured);
        self.orders.give(now, command, make, local)
    }

    /// A supervisor measures its rank as ordered, or says why not.
    pub fn answered(
        &mut self,
        now: Now,
        rank: Rank,
        measuring: u32,
        outcome: Result<Measured, (SystemMetric, NoMetric)>,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        let outcome = match outcome {
            Ok(measured) => {
                if let Some(index) = local.index(rank) {
                    local.ranks[index].metrics.in_force = measured;
                }
                Ok(())
            }
            // There is nothing left to measure, which is no failure.
            Err((_, NoMetric::Ended)) => Ok(()),
            Err((metric, why)) => Err(format!("{}: {}", metric.facts().name, reason(why))),
        };
        if measuring == NOBODY
            && let Err(why) = &outcome
        {
            local.feed.notes.add(Trouble::Metrics, || {
                format!("no metrics of rank {rank} are measured: {why}")
            });
        }
        self.orders.answered(now, rank, measuring, outcome)
    }

    /// A rank has no supervisor any more.
    pub fn lost(&mut self, now: Now, rank: Rank, local: &mut LocalRanks) -> Vec<Up> {
        if let Some(index) = local.index(rank) {
            local.ranks[index].metrics.in_force = Measured::default();
        }
        self.orders.lost(now, rank)
    }

    /// The measurement is over: nothing is measured any longer.
    pub fn end(&mut self, local: &mut LocalRanks) {
        if !std::mem::take(&mut self.measured).set.is_empty() {
            for rank in local.numbers() {
                local.tell(rank, &order(NOBODY, Measured::default()));
            }
        }
    }
}

/// A supervisor has read its rank's metrics.
pub fn read(now: Now, rank: Rank, reading: &Reading, clock: &JobClock, local: &mut LocalRanks) {
    let Some(index) = local.index(rank) else {
        return;
    };
    let moment = crate::time_point::TimePoint::new(now, local.feed.analyses.clock(), clock);
    let (_, pauses) = local.feed.analyses.over_time(rank);
    local.ranks[index].metrics.add(reading, &moment, pauses);
}

fn order(measuring: u32, measured: Measured) -> ToSupervisor {
    ToSupervisor::Measure {
        measuring,
        measured,
    }
}

/// Why a metric of a rank is not measured, and what would help.
fn reason(why: NoMetric) -> String {
    match why {
        NoMetric::Unsupported => {
            "this machine does not count it, as many virtual machines do not".to_owned()
        }
        NoMetric::Forbidden { paranoid } => format!(
            "the kernel does not allow it (kernel.perf_event_paranoid is {paranoid}; with 2 or \
             less a user's own programs can be measured)"
        ),
        NoMetric::Unreadable => {
            "what /proc says of the process cannot be read, as of a program that may not be traced"
                .to_owned()
        }
        NoMetric::NoRoom => {
            "there is no memory or descriptor left for it (see ulimit -n)".to_owned()
        }
        NoMetric::Starting => "it has not called MPI_Init".to_owned(),
        NoMetric::Ended => "it has ended".to_owned(),
        NoMetric::Silent => "its supervisor did not answer".to_owned(),
    }
}
