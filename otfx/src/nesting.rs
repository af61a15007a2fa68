//! Makes one record of an enter and its leave: the stack of open regions of one location. No user
//! reaches it yet: regions will.

use crate::event::{Attributes, Pass};
use alloc::vec::Vec;
use invivo_proto::ids::RegionId;

/// Regions that may be open at once; what is deeper is counted and not recorded, so that endless
/// recursion stays in its memory.
pub const DEPTH_MAX: usize = 1024;

/// A region that was entered and not left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub region: RegionId,
    /// When it was entered.
    pub begin: u64,
}

/// Open regions, outermost first.
#[derive(Debug)]
pub struct Nesting {
    open: Vec<Open>,
    /// Open regions beyond [`DEPTH_MAX`].
    beyond: u64,
    unmatched: u64,
}

impl Default for Nesting {
    fn default() -> Self {
        Nesting {
            // All at once: entering a region never allocates.
            open: Vec::with_capacity(DEPTH_MAX),
            beyond: 0,
            unmatched: 0,
        }
    }
}

impl Nesting {
    /// A region is entered.
    #[inline]
    pub fn enter(&mut self, region: RegionId, time: u64) {
        if self.open.len() < DEPTH_MAX {
            self.open.push(Open {
                region,
                begin: time,
            });
        } else {
            self.beyond += 1;
        }
    }

    /// A region is left: returns its record and its depth. A leave that does not match the
    /// innermost open region, or lies beyond [`DEPTH_MAX`], is counted and gives nothing.
    #[inline]
    pub fn leave(&mut self, region: RegionId, time: u64) -> Option<(Pass, Attributes)> {
        // Innermost first: regions beyond the limit are left before those on the stack.
        if self.beyond > 0 {
            self.beyond -= 1;
            self.unmatched += 1;
            return None;
        }

        // A leave that does not fit leaves the stack as it is: one lost record must not undo all
        // others.
        let Some(open) = self.open.pop_if(|open| open.region == region) else {
            self.unmatched += 1;
            return None;
        };

        let pass = Pass {
            region,
            end: time,
            duration: time.saturating_sub(open.begin),
        };

        let attributes = Attributes {
            depth: self.depth(),
            clipped: false,
        };

        Some((pass, attributes))
    }

    /// How many regions are open; more than 255 are 255.
    #[inline(always)]
    pub fn depth(&self) -> u8 {
        u8::try_from(self.open.len()).unwrap_or(u8::MAX)
    }

    /// The open regions, outermost first.
    pub fn open(&self) -> &[Open] {
        &self.open
    }

    /// Leaves that gave no record.
    pub fn unmatched(&self) -> u64 {
        self.unmatched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_fused_and_the_rest_is_counted() {
        let mut nesting = Nesting::default();
        let region = RegionId;
        nesting.enter(region(1), 10);
        nesting.enter(region(2), 12);
        assert_eq!(nesting.leave(region(7), 13), None);
        let pass = |region, end, duration, depth| {
            let attributes = Attributes {
                depth,
                clipped: false,
            };
            Some((
                Pass {
                    region,
                    end,
                    duration,
                },
                attributes,
            ))
        };

        assert_eq!(nesting.leave(region(2), 15), pass(region(2), 15, 3, 1));
        assert_eq!(
            nesting.open(),
            [Open {
                region: region(1),
                begin: 10
            }]
        );
        for _ in 0..2 * DEPTH_MAX {
            nesting.enter(region(3), 20);
        }

        for _ in 0..2 * DEPTH_MAX {
            nesting.leave(region(3), 30);
        }
        assert_eq!(nesting.leave(region(1), 40), pass(region(1), 40, 30, 0));
        assert_eq!(nesting.leave(region(1), 41), None);
        assert_eq!(nesting.unmatched(), DEPTH_MAX as u64 + 3);
    }
}
