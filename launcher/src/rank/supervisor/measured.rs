//! Measures the rank for its place: takes readings at even intervals, and passes them on.

use super::Supervisor;
use crate::rank::measuring::{Measuring, Open};
use crate::rank::program_metrics;
use crate::rank::shared_memory::monotonic_ns;
use invivo_inspect::metrics::{Meter, without};
use invivo_proto::control::local::FromSupervisor;
use invivo_proto::control::metrics::{Measured, NoMetric, Reading, SystemMetric};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

impl Supervisor<'_> {
    /// Measures this from now on, instead of what was before.
    pub(super) fn order_measuring(&mut self, measuring: u32, measured: Measured) {
        let outcome = self.measure(measuring, measured);
        self.tell(&FromSupervisor::Measuring { measuring, outcome });
        // Where the new ones begin to count.
        self.read_metrics();
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
                Some(Meter::open(pid, measured.set)?)
            }
        };
        // What has been added since the last reading.
        self.read_metrics();
        self.measuring.open = opened.map(|meter| Open::new(measuring, measured, meter));
        Ok(measured)
    }

    /// There is nothing to measure any more.
    pub(super) fn refuse_measuring(&mut self, measuring: u32) {
        let outcome = Err((SystemMetric::CpuTime, NoMetric::Ended));
        self.tell(&FromSupervisor::Measuring { measuring, outcome });
    }

    /// Nobody is there any more who wants to know it.
    pub(super) fn end_measuring(&mut self) {
        self.measuring = Measuring::default();
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
        if self.before_reading() == Some(Duration::ZERO) {
            self.read_metrics();
        }
    }

    fn read_metrics(&mut self) {
        let Some(open) = &mut self.measuring.open else {
            return;
        };
        let before = cpu_time();
        let at_ns = monotonic_ns();
        let system = open.meter.read();
        let program = match open.measured.set.has_program() {
            true => program_metrics::read(self.memory.region().page()),
            false => Vec::new(),
        };
        open.read();
        self.measuring.cost += cpu_time().saturating_sub(before);
        let reading = Reading {
            measuring: open.measuring,
            at_ns,
            cost_ns: self
                .measuring
                .cost
                .as_nanos()
                .try_into()
                .unwrap_or(u64::MAX),
            system,
            program,
        };
        // Values since the rank's begin: one that a busy place has no room for is in the next.
        self.offer(&FromSupervisor::Measured(reading));
    }
}

/// Time on a processor of this thread, which is all of this process.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}
