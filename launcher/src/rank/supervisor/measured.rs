//! Measures the rank for its place: takes readings at even intervals, and passes them on, those of
//! a quarter of a second together.

use super::Supervisor;
use crate::rank::measuring::Open;
use crate::rank::program_metrics;
use crate::rank::readings::Readings;
use crate::rank::shared_memory::monotonic_ns;
use crate::rank::spent::Cost;
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
        self.read_metrics();
        self.tell_readings();
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
        self.read_metrics();
        self.tell_readings();
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
        self.measuring.readings = Readings::default();
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

    /// Takes the reading that is due, and offers the place those that are due together.
    pub(super) fn take_due_reading(&mut self) {
        if self.before_reading() != Some(Duration::ZERO) {
            return;
        }
        self.read_metrics();
        if self.measuring.readings.are_due() {
            self.offer_readings();
            if self.spent.is_soon(Instant::now()) {
                self.offer_spent();
            }
        }
    }

    /// What the place has no room for waits here: values since the rank's begin, so that nothing is
    /// missed where it never has.
    fn offer_readings(&mut self) {
        let mut readings = self.measuring.readings.take();
        while let Some(reading) = readings.front() {
            if !self.offer_now(reading) {
                break;
            }
            readings.pop_front();
        }
        if self.place.is_some() {
            self.measuring.readings.sent_but(readings);
        }
    }

    /// Sends all readings that wait.
    pub(super) fn tell_readings(&mut self) {
        let mut readings = self.measuring.readings.take();
        while let Some(reading) = readings.pop_front() {
            self.tell(&reading);
        }
        self.measuring.readings.sent_but(readings);
    }

    /// The rank has ended, or is about to: what waits to be told is told now.
    pub(super) fn tell_last(&mut self) {
        self.tell_readings();
        self.offer_spent();
    }

    /// How long to sleep at most before the place is told what this takes.
    pub(super) fn before_spent(&self) -> Option<Duration> {
        let is_on = self.measuring.open.is_some() || self.sampling.sampler.is_some();
        let is_due = is_on || self.spent.to_tell(self.spent_so_far()).is_some();
        is_due.then(|| self.spent.before(Instant::now()))
    }

    /// Tells the place what sampling and measuring took, if it is time.
    pub(super) fn tell_spent(&mut self) {
        if self.before_spent() == Some(Duration::ZERO) {
            self.offer_spent();
        }
    }

    fn offer_spent(&mut self) {
        let told = self.spent.to_tell(self.spent_so_far());
        let taken = told.filter(|cost| {
            self.offer_now(&FromSupervisor::Spent {
                cpu_ns: nanoseconds(cost.beside),
                in_rank_ns: nanoseconds(cost.in_rank),
            })
        });
        self.spent.tried(Instant::now(), taken);
    }

    fn spent_so_far(&self) -> Cost {
        let mut cost = self.sampling.cost();
        cost.beside += self.measuring.cost;
        cost
    }

    /// Reads what is measured now, if anything is.
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
        self.measuring.readings.keep(Reading {
            measuring: open.measuring,
            at_ns,
            cost_ns: nanoseconds(self.measuring.cost),
            unseen: open.meter.unseen(),
            system,
            program,
        });
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
