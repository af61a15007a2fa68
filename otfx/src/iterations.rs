//! A summary of every iteration, kept or not, in memory of fixed size. No user reaches it yet:
//! answers over iterations will.

use crate::pyramid::Pyramid;

/// Iterations (or, of longer runs, groups of as many neighbours) that summaries tell apart.
pub const SUMMARIES_MAX: usize = 256;

/// What happened in each iteration. Each pyramid has bins of one iteration, which merge in pairs
/// when there are more than [`SUMMARIES_MAX`].
#[derive(Clone, Debug)]
pub struct Summaries {
    /// How long they took, in ticks.
    pub duration: Pyramid,
    /// How many records ended in them.
    pub records: Pyramid,
    /// Time in MPI calls that ended in them, in ticks.
    pub call_time: Pyramid,
    /// Bytes that these calls sent.
    pub bytes_out: Pyramid,
    current: Current,
}

#[derive(Clone, Copy, Debug, Default)]
struct Current {
    begun: u64,
    records: u64,
    call_time: u64,
    bytes_out: u64,
}

impl Summaries {
    pub(crate) fn new() -> Self {
        let pyramid = || Pyramid::new(SUMMARIES_MAX, 1);
        Summaries {
            duration: pyramid(),
            records: pyramid(),
            call_time: pyramid(),
            bytes_out: pyramid(),
            current: Current::default(),
        }
    }

    pub(crate) fn begin(&mut self, now: u64) {
        self.current = Current {
            begun: now,
            ..Current::default()
        };
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, call_time: u64, bytes_out: u64) {
        self.current.records += 1;
        self.current.call_time = self.current.call_time.saturating_add(call_time);
        self.current.bytes_out = self.current.bytes_out.saturating_add(bytes_out);
    }

    pub(crate) fn end(&mut self, iteration: u64, now: u64) {
        let current = self.current;
        self.duration
            .add(iteration, now.saturating_sub(current.begun));
        self.records.add(iteration, current.records);
        self.call_time.add(iteration, current.call_time);
        self.bytes_out.add(iteration, current.bytes_out);
    }
}
