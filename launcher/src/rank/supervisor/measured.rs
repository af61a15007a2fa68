//! Measures the rank for its place: takes readings at even intervals, and passes them on.

use super::Supervisor;
use crate::rank::measuring::Open;
use crate::rank::program_metrics;
use crate::rank::shared_memory::monotonic_ns;
use crate::tool::processors;
use invivo_inspect::metrics::{Meter, without};
use invivo_proto::control::local::FromSupervisor;
use invivo_proto::control::metrics::{Measured, NoMetric, Reading, SystemMetric};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

impl Supervisor<'_> {
    /// Measures this from now on, instead of what was before.
    pub(super) fn order_measuring(&mut self, measuring: u32, measured: Measured) {
        let outcome = self.measure(measuring, measured);
        self.tell(&FromSupervisor::Measuring { measuring, outcome });
        // Where the new ones begin to count.
        if let Some(reading) = self.read_metrics() {
            self.tell(&FromSupervisor::Measured(reading));
        }
    }

    fn measure(
        &mut self,
        measuring: u32,
        measured: Measured,
    ) -> Result<Measured, (SystemMetric, NoMetric)> {
        let opened = match measured.set.is_empty() {
            true => None,
            false => {
                // Of one that has not called MPI nothing is asked for; of one that has ended there
                // is nothing.
                let ended = (SystemMetric::CpuTime, NoMetric::Ended);
                let pid = self.process_in_mpi().ok_or(ended)?;
                self.prepare_to_measure();
                Some(Meter::open(pid, measured.set)?)
            }
        };
        // What has been added since the last reading: no other one of these follows.
        if let Some(reading) = self.read_metrics() {
            self.tell(&FromSupervisor::Measured(reading));
        }
        self.measuring.open = opened.map(|meter| Open::new(measuring, measured, meter));
        Ok(measured)
    }

    /// Readings are not to take their time from the rank where there is another processor,
    /// and each event and file of a thread is a descriptor. The rank keeps what it was started
    /// with.
    fn prepare_to_measure(&mut self) {
        if self.measuring.is_prepared {
            return;
        }
        let (launcher, barrier) = (self.assignment.launcher, self.assignment.barrier.as_ref());
        // Nothing is waited for here. Where notes are missing, the next order tries again.
        self.measuring.is_prepared = processors::step_aside(launcher, barrier, Duration::ZERO);
        let limit = getrlimit(Resource::Nofile);
        let most = Rlimit {
            current: limit.maximum,
            ..limit
        };
        // Where that is refused, fewer threads are seen, which is told.
        let _ = setrlimit(Resource::Nofile, most);
    }

    /// There is nothing to measure any more.
    pub(super) fn refuse_measuring(&mut self, measuring: u32) {
        let outcome = Err((SystemMetric::CpuTime, NoMetric::Ended));
        self.tell(&FromSupervisor::Measuring { measuring, outcome });
    }

    /// Nobody is there any more who wants to know it.
    pub(super) fn end_measuring(&mut self) {
        self.measuring.open = None;
    }

    /// What cannot be measured of the rank.
    pub(super) fn try_metrics(&mut self, trying: u32) {
        let without = match self.process_in_mpi() {
            Some(pid) => without(pid),
            None => SystemMetric::ALL
                .map(|metric| (metric, NoMetric::Ended))
                .into(),
        };
        self.tell(&FromSupervisor::MetricsTried { trying, without });
    }

    /// How long to sleep at most before the next reading.
    pub(super) fn before_reading(&self) -> Option<Duration> {
        self.measuring.open.as_ref().map(Open::before_reading)
    }

    /// Takes the reading that is due.
    pub(super) fn take_due_reading(&mut self) {
        if self.before_reading() == Some(Duration::ZERO)
            && let Some(reading) = self.read_metrics()
        {
            // Values since the rank's begin: one that a busy place has no room for is in the next.
            self.offer_now(&FromSupervisor::Measured(reading));
        }
    }

    /// How long to sleep at most before the place is told what this takes.
    pub(super) fn before_spent(&self) -> Option<Duration> {
        let is_on = self.measuring.open.is_some() || self.sampling.sampler.is_some();
        let is_due = is_on || self.spent.lacks(self.spent_so_far());
        is_due.then(|| self.spent.before(Instant::now()))
    }

    /// Tells the place what sampling and measuring took, if it is time.
    pub(super) fn tell_spent(&mut self) {
        if self.before_spent() != Some(Duration::ZERO) {
            return;
        }
        let cost = self.spent_so_far();
        let cpu_ns = nanoseconds(cost);
        let is_told = self.offer_now(&FromSupervisor::Spent { cpu_ns });
        self.spent.tried(Instant::now(), is_told.then_some(cost));
    }

    fn spent_so_far(&self) -> Duration {
        self.measuring.cost + self.sampling.cost()
    }

    fn read_metrics(&mut self) -> Option<Reading> {
        let open = self.measuring.open.as_mut()?;
        let before = cpu_time();
        let at_ns = monotonic_ns();
        let system = open.meter.read();
        let program = match open.measured.set.has_program() {
            true => program_metrics::read(self.memory.region().page()),
            false => Vec::new(),
        };
        open.read();
        self.measuring.cost += cpu_time().saturating_sub(before);
        Some(Reading {
            measuring: open.measuring,
            at_ns,
            cost_ns: nanoseconds(self.measuring.cost),
            unseen: open.meter.unseen(),
            system,
            program,
        })
    }
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// Time on a processor of this thread, which is all of this process.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}
