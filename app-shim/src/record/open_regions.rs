//! Which of the program's regions a thread is in.

use super::open_packet::OpenPacket;
use crate::limits::SAMPLED_REGIONS;
use invivo_proto::ids::RegionId;
use invivo_proto::record::{Encoder, OPEN_MAX, OpenRegion};

/// In the place of a frame: of a marked region, which may be ended anywhere.
pub const MARKED: usize = usize::MAX;

/// The regions that a thread is in.
pub struct Regions {
    /// How many of `open` are.
    pub depth: usize,
    /// Open regions that lie deeper.
    pub deeper: u64,
    /// The place knows from the present packet which are open.
    pub is_told: bool,
    /// Where on the stack it is being changed, else 0: what a signal handler does meanwhile is left
    /// out.
    pub busy_at: usize,
    /// To the next event that is timed for what the shim itself costs.
    pub until_sample: u32,
    /// While no packet is free: events to the next look for one.
    pub until_try: u32,
    pub open: [Open; OPEN_MAX],
}

/// One of them.
#[derive(Clone, Copy)]
pub struct Open {
    /// 0 of one that was entered while nothing was recorded.
    pub begin: u64,
    /// The address on the stack at which its function called us.
    pub frame: usize,
    pub is_marked: bool,
    pub region: RegionId,
    /// Begins right inside it that are not recorded, and have not ended: of marked regions, and of
    /// its own function.
    pub passed: u16,
}

impl Regions {
    pub const fn new() -> Regions {
        Regions {
            depth: 0,
            deeper: 0,
            is_told: false,
            busy_at: 0,
            until_sample: SAMPLED_REGIONS,
            until_try: 0,
            open: [Open {
                begin: 0,
                frame: 0,
                is_marked: false,
                region: RegionId(0),
                passed: 0,
            }; OPEN_MAX],
        }
    }

    /// Another thread has the location: it is in none.
    pub fn leave_all(&mut self) {
        self.depth = 0;
        self.deeper = 0;
        self.busy_at = 0;
        self.is_told = false;
    }

    /// Writes which are open into the open packet, which has room for [`OPEN_BYTES_MAX`].
    ///
    /// [`OPEN_BYTES_MAX`]: invivo_proto::record::OPEN_BYTES_MAX
    pub fn tell(&mut self, encoder: &mut Encoder, packet: &mut OpenPacket, now: u64) {
        let open = self.open.get_mut(..self.depth).unwrap_or_default();
        let open = open.iter_mut().map(|open| {
            // For us it begins here.
            if open.begin == 0 {
                open.begin = now;
            }
            OpenRegion {
                region: open.region,
                begin: open.begin,
            }
        });
        // SAFETY: there is room for so many bytes.
        let out = unsafe { encoder.open(packet.out(), now, open) };
        packet.commit(out, 0);
        self.is_told = true;
    }

    /// The one that was entered last.
    #[inline(always)]
    pub fn innermost(&self) -> Option<&Open> {
        self.open.get(self.depth.checked_sub(1)?)
    }

    /// The same, to note something of it.
    #[inline(always)]
    pub fn innermost_mut(&mut self) -> Option<&mut Open> {
        self.open.get_mut(self.depth.checked_sub(1)?)
    }
}
