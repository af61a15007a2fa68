//! How a buffer is cut into bins. Small bins lose little when one is given up and leave little of
//! an open one unused; large ones pay the restart of the dictionary less often. Measured with 100
//! MB and some twenty levels: 8 KiB bins are as good as the ideal, 64 KiB shift removals 1 to 2 %
//! earlier, 1 MiB 20 %.

use crate::strategy::LEVELS_MAX;

/// Bins of buffers up to 16 MiB, as long as there are enough of them.
pub const BIN_BYTES_DEFAULT: usize = 8 * 1024;
/// The largest bin: more would let removals come noticeably earlier.
pub const BIN_BYTES_MAX: usize = 64 * 1024;
/// The smallest bin: a call and at least ten of its parts fit, however large their numbers.
pub const BIN_BYTES_MIN: usize = 1024;
/// Each level has one bin that is not full; with 32 bins for each, that is at most 3 % of the
/// buffer.
pub const BINS_PER_LEVEL_MIN: usize = 32;
/// A strategy that comes later must live with the bins that there are: a quarter is the most that
/// may lie unused.
pub const BINS_PER_LEVEL_LEAST: usize = 4;
/// Above it, bins grow with the buffer.
const SMALL_BUFFER_BYTES: usize = 16 * 1024 * 1024;

/// Bins of a buffer: how many, how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of one bin.
    pub bin_bytes: usize,
    /// Number of bins.
    pub bins: u32,
}

/// Why a strategy does not fit a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The buffer is smaller than [`BINS_PER_LEVEL_MIN`] smallest bins for each level; or, of one
    /// that exists, has fewer than [`BINS_PER_LEVEL_LEAST`] bins for each.
    TooSmall {
        /// Its bytes.
        bytes: usize,
        /// The least that the strategy works with.
        bytes_min: usize,
    },
    /// More levels than [`LEVELS_MAX`].
    TooManyLevels {
        /// As many.
        levels: usize,
    },
}

impl core::fmt::Display for Unfit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Unfit::TooSmall { bytes, bytes_min } => write!(
                f,
                "a buffer of {bytes} bytes is too small: this strategy needs at least {bytes_min}"
            ),
            Unfit::TooManyLevels { levels } => {
                write!(
                    f,
                    "a strategy of {levels} levels has more than {LEVELS_MAX}"
                )
            }
        }
    }
}

impl core::error::Error for Unfit {}

impl Geometry {
    /// The least bytes that a strategy of so many levels works with: 32 KiB for one level.
    pub const fn bytes_min(levels: usize) -> usize {
        BIN_BYTES_MIN * BINS_PER_LEVEL_MIN * levels
    }

    /// Cuts `bytes`, of which less than a bin may be left over and is not allocated.
    ///
    /// # Errors
    /// When there are fewer than [`Geometry::bytes_min`], or too many levels.
    pub fn of(bytes: usize, levels: usize) -> Result<Geometry, Unfit> {
        if levels > LEVELS_MAX {
            return Err(Unfit::TooManyLevels { levels });
        }
        let bytes_min = Geometry::bytes_min(levels);
        if bytes < bytes_min {
            return Err(Unfit::TooSmall { bytes, bytes_min });
        }

        let mut bin_bytes = BIN_BYTES_DEFAULT;
        while bin_bytes < BIN_BYTES_MAX
            && bytes / bin_bytes > SMALL_BUFFER_BYTES / BIN_BYTES_DEFAULT
        {
            bin_bytes *= 2;
        }

        // Ends at BIN_BYTES_MIN at the latest, as `bytes_min` was checked above.
        while bytes / bin_bytes < BINS_PER_LEVEL_MIN * levels {
            bin_bytes /= 2;
        }

        Ok(Geometry::with_bins(bytes, bin_bytes))
    }

    /// Cuts `bytes` into bins of a given size, which is brought between [`BIN_BYTES_MIN`] and
    /// [`BIN_BYTES_MAX`].
    pub fn with_bins(bytes: usize, bin_bytes: usize) -> Geometry {
        let bin_bytes = bin_bytes.clamp(BIN_BYTES_MIN, BIN_BYTES_MAX);
        let bins = u32::try_from(bytes / bin_bytes).unwrap_or(u32::MAX - 1);
        Geometry { bin_bytes, bins }
    }

    /// Whether a strategy of so many levels works with these bins.
    ///
    /// # Errors
    /// When there are fewer than [`BINS_PER_LEVEL_LEAST`] for each, or too many levels.
    pub fn bears(&self, levels: usize) -> Result<(), Unfit> {
        if levels > LEVELS_MAX {
            return Err(Unfit::TooManyLevels { levels });
        }
        if (self.bins as usize) < BINS_PER_LEVEL_LEAST * levels {
            return Err(Unfit::TooSmall {
                bytes: self.arena_bytes(),
                bytes_min: BINS_PER_LEVEL_LEAST * levels * self.bin_bytes,
            });
        }
        Ok(())
    }

    /// Bytes of the arena.
    pub const fn arena_bytes(&self) -> usize {
        self.bin_bytes * self.bins as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KIB: usize = 1024;
    const MIB: usize = 1024 * KIB;

    #[test]
    fn usual_sizes() {
        let cut = |bytes| Geometry::of(bytes, 1).map(|g| (g.bin_bytes / KIB, g.bins));
        assert_eq!(cut(32 * KIB), Ok((1, 32)));
        assert_eq!(cut(256 * KIB), Ok((8, 32)));
        assert_eq!(cut(MIB), Ok((8, 128)));
        assert_eq!(cut(16 * MIB), Ok((8, 2048)));
        assert_eq!(cut(22 * MIB), Ok((16, 1408)));
        assert_eq!(cut(1024 * MIB), Ok((64, 16384)));
        assert_eq!(
            cut(32 * KIB - 1),
            Err(Unfit::TooSmall {
                bytes: 32 * KIB - 1,
                bytes_min: 32 * KIB
            })
        );
    }

    proptest! {
        #[test]
        fn every_cut_keeps_the_limits(bytes in 0usize..1 << 36, levels in 1usize..80) {
            match Geometry::of(bytes, levels) {
                Ok(g) => {
                    prop_assert!(g.arena_bytes() <= bytes && bytes - g.arena_bytes() < g.bin_bytes);
                    prop_assert!((BIN_BYTES_MIN..=BIN_BYTES_MAX).contains(&g.bin_bytes));
                    prop_assert!(g.bins as usize >= BINS_PER_LEVEL_MIN * levels);
                }
                Err(Unfit::TooSmall { bytes_min, .. }) => prop_assert!(bytes < bytes_min),
                Err(Unfit::TooManyLevels { .. }) => prop_assert!(levels > LEVELS_MAX),
            }
        }
    }
}
