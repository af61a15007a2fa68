//! Makes one record of an enter and its leave, as a tool place does.

use invivo_otfx::{Attributes, Pass};
use invivo_proto::ids::RegionId;

/// Open regions and when they were entered, the outermost first.
#[derive(Debug, Default)]
pub struct Nesting(Vec<(RegionId, u64)>);

impl Nesting {
    /// A region is entered.
    #[inline]
    pub fn enter(&mut self, region: RegionId, time: u64) {
        self.0.push((region, time));
    }

    /// A region is left: its record and its depth, if it is the innermost one that is open.
    #[inline]
    pub fn leave(&mut self, region: RegionId, time: u64) -> Option<(Pass, Attributes)> {
        let (_, begin) = self.0.pop_if(|(open, _)| *open == region)?;
        let pass = Pass {
            region,
            end: time,
            duration: time.saturating_sub(begin),
        };
        let attributes = Attributes {
            depth: u8::try_from(self.0.len()).unwrap_or(u8::MAX),
            clipped: false,
        };
        Some((pass, attributes))
    }
}
