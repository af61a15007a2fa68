//! What iterations need to know of time when somebody asks for them.

/// What ticks are in ns.
pub trait Clock {
    /// The time of the job at a tick.
    fn job_ns(&self, at: u64) -> u64;
    /// How long so many ticks are.
    fn duration_ns(&self, ticks: u64) -> u64;
}
