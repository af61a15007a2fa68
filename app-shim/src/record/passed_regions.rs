//! Passes by what begins and ends of regions that are not selected: no time is taken, and nothing
//! is written.
//!
//! A region may be open that was selected when it began. So that it ends with its own end, begins
//! right inside it that could be taken for its own are counted.

use super::location::{Here, Location};
use super::open_regions::Open;
use super::regions::change;
use crate::limits::PASSED_MAX;
use invivo_proto::ids::RegionId;

/// A region begins that is not selected.
#[inline(always)]
pub fn begins(mut here: Here, region: RegionId, is_marked: bool) {
    if let Some(innermost) = here.regions.innermost_mut()
        && (is_marked || innermost.region == region)
    {
        innermost.passed = (innermost.passed + 1).min(PASSED_MAX);
    }
}

/// A region ends that is not selected, of a function whose frame is this.
#[inline(always)]
pub fn ends(mut here: Here, region: RegionId, is_marked: bool, frame: usize) {
    let is_open = |innermost: &Open| is_marked || innermost.region == region;
    if here.regions.innermost().is_some_and(is_open) && !here.is_end_of_passed(region, is_marked) {
        change(here, |location| location.leave_region(region, frame));
    }
}

impl Location {
    /// Whether an end is that of a begin that was passed by; then it counts as ended.
    #[cold]
    #[inline(never)]
    pub fn is_end_of_passed(&mut self, region: RegionId, is_marked: bool) -> bool {
        self.pass_end(|innermost| is_marked || innermost.region == region)
    }

    /// The same, where that could be so right inside this region.
    pub fn pass_end(&mut self, could_be: impl Fn(&Open) -> bool) -> bool {
        let innermost = self.regions.innermost_mut();
        let passed = innermost.filter(|innermost| innermost.passed > 0 && could_be(innermost));
        passed.map(|innermost| innermost.passed -= 1).is_some()
    }
}
