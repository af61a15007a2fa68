//! Records of the program's regions: entered, left, and which are open.

use super::{Encoder, TOKEN_ENTER, TOKEN_LEAVE, TOKEN_OPEN};
use crate::ids::RegionId;
use crate::varint;

/// Regions that a record says to be open, at most: how deep regions of a thread are recorded.
pub const OPEN_MAX: usize = 256;
/// Upper bound of the bytes of a record that says which are open: token, time, the number of
/// regions, and a number and an age of each.
pub const OPEN_BYTES_MAX: usize = 1 + 2 * varint::MAX_BYTES + OPEN_MAX * 2 * varint::MAX_BYTES;

/// A region that is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenRegion {
    /// Which: [`REGIONS_END`](super::REGIONS_END) or above.
    pub region: RegionId,
    /// When it was entered, in ticks; not before time 0.
    pub begin: u64,
}

impl Encoder {
    /// Writes that a region was entered.
    ///
    /// # Safety
    /// [`MAX_CALL_BYTES`](super::MAX_CALL_BYTES) bytes from `out` on must be writable.
    #[inline(always)]
    pub unsafe fn enter(&mut self, out: *mut u8, time: u64, region: RegionId) -> *mut u8 {
        let since = self.pass(time);
        // SAFETY: one token and two varints, far below MAX_CALL_BYTES.
        unsafe {
            out.write(TOKEN_ENTER);
            let out = varint::put(out.add(1), since);
            varint::put(out, u64::from(region.0))
        }
    }

    /// Writes that the region entered last, of those that are open, was left.
    ///
    /// # Safety
    /// As for [`Encoder::enter`].
    #[inline(always)]
    pub unsafe fn leave(&mut self, out: *mut u8, time: u64) -> *mut u8 {
        let since = self.pass(time);
        // SAFETY: one token and one varint.
        unsafe {
            out.write(TOKEN_LEAVE);
            varint::put(out.add(1), since)
        }
    }

    /// Writes which regions are open, the outermost first: of more than [`OPEN_MAX`] the first.
    ///
    /// # Safety
    /// [`OPEN_BYTES_MAX`] bytes from `out` on must be writable.
    #[inline(never)]
    pub unsafe fn open(
        &mut self,
        out: *mut u8,
        time: u64,
        open: impl ExactSizeIterator<Item = OpenRegion>,
    ) -> *mut u8 {
        let since = self.pass(time);
        // SAFETY: OPEN_BYTES_MAX counts every field written here.
        unsafe {
            out.write(TOKEN_OPEN);
            let out = varint::put(out.add(1), since);
            let mut out = varint::put(out, open.len().min(OPEN_MAX) as u64);
            for OpenRegion { region, begin } in open.take(OPEN_MAX) {
                out = varint::put(out, u64::from(region.0));
                out = varint::put(out, self.time().saturating_sub(begin));
            }
            out
        }
    }
}
