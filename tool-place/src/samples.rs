//! What is known of a rank's samples beside those in its buffers.

use crate::contexts::RankContexts;

/// What is known of a rank's samples.
#[derive(Debug, Default)]
pub struct Samples {
    pub contexts: RankContexts,
    /// How often their frequency was halved when the last ones were taken; nothing before the
    /// first.
    pub halvings: Option<u32>,
    /// Samples that the sampler has taken and not told.
    pub left_out: u64,
    /// Samples of threads that have no location (such never called MPI, or have ended), or of which
    /// buffers keep none.
    pub elsewhere: u64,
}

impl Samples {
    /// Samples that no buffer has got.
    pub fn dropped(&self) -> u64 {
        self.left_out.saturating_add(self.elsewhere)
    }
}
