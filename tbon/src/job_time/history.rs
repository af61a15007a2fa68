//! Remembers how own clock was off from job time, so that an old event does not get a wrong time
//! because the two have run apart since.
//!
//! Between two marks the offset is taken to change evenly. There is a bounded number of marks: what
//! lies back for an hour has them some 14 seconds apart.

use alloc::vec::Vec;
use invivo_proto::clock::thinning::least_missed;

/// Marks at most.
pub const MARKS_MAX: usize = 512;

/// What one measurement told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub own_ns: u64,
    /// Job time less own time.
    pub offset_ns: i128,
    pub error_ns: u64,
    /// How far the clocks may have run apart since the mark before.
    pub drift_ppm: u64,
    /// How far the two marks contradict each other.
    pub jump_ns: u64,
}

impl Mark {
    fn job_ns(&self) -> i128 {
        i128::from(self.own_ns) + self.offset_ns
    }

    /// Its error at any moment of its own round trip, which took twice that at most.
    fn error_ns(&self) -> u64 {
        grown(
            self.error_ns,
            self.error_ns.saturating_mul(2),
            self.drift_ppm,
        )
    }
}

/// The marks, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    marks: Vec<Mark>,
}

impl History {
    /// A measurement is believed from now on.
    pub fn add(&mut self, mark: Mark) {
        let is_newer = |last: &Mark| last.own_ns < mark.own_ns;
        if !self.marks.last().is_none_or(is_newer) {
            return;
        }
        // What is known now tells more about the time of a worse one than that did.
        while let Some(last) = self.marks.last().copied() {
            let age_ns = mark.own_ns - last.own_ns;
            let is_certain = mark.jump_ns == 0 && last.jump_ns == 0;
            if !is_certain || last.error_ns() <= grown(mark.error_ns(), age_ns, mark.drift_ppm) {
                break;
            }
            self.marks.pop();
        }
        if self.marks.len() == MARKS_MAX {
            self.thin();
        }
        self.marks.push(mark);
    }

    fn thin(&mut self) {
        let index = least_missed(self.marks.len(), |index| self.marks[index].own_ns);
        let gone = self.marks.remove(index);
        let next = &mut self.marks[index];
        next.drift_ppm = next.drift_ppm.max(gone.drift_ppm);
        next.jump_ns = next.jump_ns.saturating_add(gone.jump_ns);
    }

    /// The offset when own clock showed `own_ns`; nothing behind the last mark.
    pub fn offset_ns(&self, own_ns: u64) -> Option<i128> {
        let next = self.marks.partition_point(|mark| mark.own_ns <= own_ns);
        let after = self.marks.get(next)?;
        let Some(before) = next.checked_sub(1).map(|index| self.marks[index]) else {
            return Some(after.offset_ns);
        };
        let since_ns = i128::from(own_ns - before.own_ns);
        let length_ns = i128::from(after.own_ns - before.own_ns);
        let change_ns = after.offset_ns - before.offset_ns;
        Some(before.offset_ns + change_ns * since_ns / length_ns)
    }

    /// Less job time than the last mark has, as own time.
    pub fn own_ns(&self, job_ns: u64) -> Option<i128> {
        let job_ns = i128::from(job_ns);
        let next = self.marks.partition_point(|mark| mark.job_ns() <= job_ns);
        let after = self.marks.get(next)?;
        let Some(before) = next.checked_sub(1).map(|index| self.marks[index]) else {
            return Some(job_ns - after.offset_ns);
        };
        // At least 1: the mark before is not later in job time, the one behind is.
        let length_ns = (after.job_ns() - before.job_ns()).max(1);
        let own_ns = i128::from(after.own_ns - before.own_ns);
        Some(i128::from(before.own_ns) + (job_ns - before.job_ns()) * own_ns / length_ns)
    }

    /// How far times from `own_ns` to the last mark may be off.
    pub fn error_ns(&self, own_ns: u64) -> u64 {
        let next = self.marks.partition_point(|mark| mark.own_ns <= own_ns);
        let from = next.saturating_sub(1);
        // Where the clocks may run apart by so much, a way between two points that are known is off
        // from the straight one by half of it at most.
        let between = self.marks[from..].windows(2).map(|pair| {
            let [before, after] = pair else { return 0 };
            let length_ns = after.own_ns - before.own_ns;
            let error_ns = before.error_ns().max(after.error_ns());
            grown(error_ns, length_ns / 2 + 1, after.drift_ppm).saturating_add(after.jump_ns)
        });
        let before_all = self.marks.first().map_or(0, |first| {
            let age_ns = first.own_ns.saturating_sub(own_ns);
            grown(first.error_ns(), age_ns, first.drift_ppm)
        });
        let first = if next == 0 { before_all } else { 0 };
        between.max().unwrap_or(0).max(first)
    }
}

/// An error that has grown for `ns`, rounded up: the bound must hold.
pub(super) fn grown(error_ns: u64, ns: u64, drift_ppm: u64) -> u64 {
    let drift_ns = (u128::from(ns) * u128::from(drift_ppm)).div_ceil(1_000_000);
    error_ns.saturating_add(u64::try_from(drift_ns).unwrap_or(u64::MAX))
}
