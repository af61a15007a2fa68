//! One point in time by three clocks: the node's `CLOCK_MONOTONIC`, the ranks' ticks and job time.

use invivo_mpi_link::clock::NodeClock;
use invivo_tbon::job_time::JobClock;

/// The latency bound: what a packet holds is looked at no later than this after it was recorded. A
/// tenth of a second is what a screen shows; a shorter bound would disturb the writer's cache lines
/// more often.
pub const LATENCY_NS: u64 = 100_000_000;

/// The time, by the node's two clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// `CLOCK_MONOTONIC`.
    pub ns: u64,
    /// The ranks' ticks.
    pub ticks: u64,
}

/// A point in time, with what is needed to name others.
#[derive(Clone, Copy)]
pub struct TimePoint<'a> {
    now: Now,
    node: &'a NodeClock,
    job: &'a JobClock,
}

impl<'a> TimePoint<'a> {
    /// Now, by these clocks.
    pub fn new(now: Now, node: &'a NodeClock, job: &'a JobClock) -> TimePoint<'a> {
        TimePoint { now, node, job }
    }

    /// In ns of the node.
    pub fn ns(&self) -> u64 {
        self.now.ns
    }

    /// In ticks.
    pub fn ticks(&self) -> u64 {
        self.now.ticks
    }

    /// Whether job time is known at all; until then the node's is used for it.
    pub fn is_known(&self) -> bool {
        self.job.is_known()
    }

    /// In job time.
    pub fn job_ns(&self) -> u64 {
        self.job.job_ns(self.now.ns)
    }

    /// How far job time may be off, in ns.
    pub fn error_ns(&self) -> u64 {
        self.job.error_ns(self.now.ns)
    }

    /// How far the job time of events since `job_ns` may be off, in ns: what lies back is no better
    /// known than the clocks were then.
    pub fn error_since_ns(&self, job_ns: u64) -> u64 {
        let own_ns = self.job.from_job(job_ns);
        self.job.error_since_ns(own_ns, self.now.ns)
    }

    /// How far job times of now may be off from those of another process of this node, in ns: each
    /// reads the node's clocks by itself.
    pub fn reading_error_ns(&self) -> u64 {
        self.node.error_since_ns(self.now.ns)
    }

    /// The same of times since `job_ns`.
    pub fn reading_error_since_ns(&self, job_ns: u64) -> u64 {
        self.node.error_since_ns(self.job.from_job(job_ns))
    }

    /// Another point in ticks, in job time. The past is told by what was measured around then:
    /// since then the clocks may have run apart.
    pub fn job_of_ticks(&self, ticks: u64) -> u64 {
        if ticks >= self.now.ticks {
            let since_ns = self.node.duration_ns(ticks - self.now.ticks);
            return self.job_ns().saturating_add(since_ns);
        }
        let own_ns = if ticks >= self.node.last().ticks {
            let ago_ns = self.node.duration_ns(self.now.ticks - ticks);
            self.now.ns.saturating_sub(ago_ns)
        } else {
            self.node.at_ns(ticks)
        };
        self.job.job_at(own_ns)
    }

    /// Another point in ns of the node, in job time.
    pub fn job_at(&self, ns: u64) -> u64 {
        self.job.job_at(ns)
    }

    /// How long a tick takes, in picoseconds.
    pub fn tick_ps(&self) -> u64 {
        // Of many ticks at once, as `duration_ns` gives whole nanoseconds.
        const MANY: u64 = 1_000_000;
        self.node.duration_ns(MANY * 1000) / MANY
    }

    /// The node's clock.
    pub fn node(&self) -> &NodeClock {
        self.node
    }

    /// Another point in job time, in ticks: the inverse of [`TimePoint::job_of_ticks`].
    pub fn ticks_of(&self, job_ns: u64) -> u64 {
        let ns = self.job.from_job(job_ns);
        if ns < self.node.last().ns.min(self.now.ns) {
            self.node.at_ticks(ns)
        } else if ns >= self.now.ns {
            self.now
                .ticks
                .saturating_add(self.node.duration_ticks(ns - self.now.ns))
        } else {
            self.now
                .ticks
                .saturating_sub(self.node.duration_ticks(self.now.ns - ns))
        }
    }
}
