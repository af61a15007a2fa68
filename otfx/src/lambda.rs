//! Sorts samples into levels by their ordinals, so that giving up a level leaves the others evenly
//! spaced.
//!
//! Sample `n` (1, 2, 3, ...) belongs to level lambda(n), the exponent of the largest power of two
//! that divides it. Level `k` holds every 2^(k+1)-th sample and all levels from `k` on every
//! 2^k-th, so giving up the lowest level halves the frequency of what was kept. No user reaches
//! levels of samples yet.
//!
//! Ordinals count in units of the *base* interval for ever. After `k` halvings only multiples of
//! 2^k are due, so the grid stays aligned whenever a halving arrives, and lambda needs no offset.
//! An interval may be one of time or of any counter that grows.

/// The level of sample `ordinal`. Ordinals begin at 1; 0 counts as divisible by everything.
#[inline(always)]
pub const fn lambda(ordinal: u64) -> u32 {
    ordinal.trailing_zeros()
}

/// The grid of a producer of samples: when the next one is due, by any counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    interval: u64,
    halvings: u32,
    ordinal: u64,
}

impl Grid {
    /// One sample per `interval` of the counter (at least 1), counted from where the counter is 0.
    pub const fn new(interval: u64) -> Self {
        Grid {
            // The grid divides by it.
            interval: if interval == 0 { 1 } else { interval },
            halvings: 0,
            ordinal: 0,
        }
    }

    /// How often the frequency has been halved.
    pub const fn halvings(&self) -> u32 {
        self.halvings
    }

    /// The frequency is that of `halvings` halvings from now on. Beyond 63 there is nothing to
    /// halve.
    pub fn set_halvings(&mut self, halvings: u32) {
        // A shift of 64 would be no shift at all.
        self.halvings = halvings.min(63);
    }

    /// The ordinal of the next sample: the next multiple of 2^halvings.
    pub const fn next(&self) -> u64 {
        ((self.ordinal >> self.halvings) + 1) << self.halvings
    }

    /// Where the counter stands when the next sample is due.
    pub const fn due(&self) -> u64 {
        self.next().saturating_mul(self.interval)
    }

    /// The sample that is due when the counter stands at `now`, or none. Of several that were
    /// missed, the last.
    pub fn take(&mut self, now: u64) -> Option<u64> {
        // Rounded down to the grid, so late calls do not shift later samples.
        let reached = ((now / self.interval) >> self.halvings) << self.halvings;
        (reached > self.ordinal).then(|| {
            self.ordinal = reached;
            reached
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// The published form for 32 bits: isolate the lowest bit, multiply, look up.
    fn de_bruijn(n: u32) -> u32 {
        const TABLE: [u8; 32] = [
            0, 1, 28, 2, 29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4, 8, 31, 27, 13, 23, 21, 19, 16,
            7, 26, 12, 18, 6, 11, 5, 10, 9,
        ];
        u32::from(TABLE[((n & n.wrapping_neg()).wrapping_mul(0x077C_B531) >> 27) as usize])
    }

    #[test]
    fn the_first_levels() {
        let first: Vec<u32> = (1..=8).map(lambda).collect();
        assert_eq!(first, [0, 1, 0, 2, 0, 1, 0, 3]);
        for k in 0..20u32 {
            for level in 0..k {
                let members = (1..=1u64 << k).filter(|n| lambda(*n) == level).count();
                assert_eq!(members as u64, 1 << (k - 1 - level));
            }
        }
    }

    proptest! {
        #[test]
        fn equals_the_published_table(n in 1u32..) {
            prop_assert_eq!(lambda(u64::from(n)), de_bruijn(n));
        }

        /// Whenever halvings arrive, what is taken afterwards lies on the coarser grid, evenly,
        /// without a gap of more than one interval of it.
        #[test]
        fn a_grid_stays_aligned(
            interval in 1u64..1000,
            steps in prop::collection::vec((0u64..3000, 0u32..2), 1..200),
        ) {
            let mut grid = Grid::new(interval);
            let (mut now, mut last) = (0, 0);
            for (step, halve) in steps {
                grid.set_halvings(grid.halvings() + halve);
                now += step;
                let due = grid.due();
                match grid.take(now) {
                    Some(ordinal) => {
                        prop_assert!(now >= due && ordinal > last);
                        prop_assert!(lambda(ordinal) >= grid.halvings());
                        prop_assert!(now - ordinal * interval < interval << grid.halvings());
                        last = ordinal;
                    }
                    None => prop_assert!(now < due),
                }
            }
        }
    }
}
