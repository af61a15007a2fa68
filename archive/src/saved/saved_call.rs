//! A record of an observation with its job time.

use invivo_otfx::{Contents, Head};
use std::ops::Range;

/// The end of what was not left, in ticks.
pub const OPEN_END: u64 = u64::MAX;

/// A call of an observation, or a visit of a region; of [`super::records::Records`] also a sample.
#[derive(Clone, Debug)]
pub struct SavedCall {
    /// What it was, with times in ticks.
    pub contents: Contents,
    /// When it began and ended, in job time.
    pub job_ns: Range<u64>,
}

impl SavedCall {
    /// The call was given up by the buffer, and more of what it completed was not: that is all
    /// that is known of it.
    pub fn is_rest(&self) -> bool {
        matches!(self.contents.head, Head::Rest { .. })
    }

    /// It was not left: its end is [`OPEN_END`].
    pub fn is_open(&self) -> bool {
        self.contents.head.end() == OPEN_END
    }
}
