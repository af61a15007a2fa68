//! A thread's location: its status page, its open packet, its scratch memory. Found through thread-local
//! storage, made at the thread's first call, never freed (a thread's records may outlive it).

use crate::current;
use crate::family::{Request, Status as MpiStatus};
use crate::process;
use crate::shipping;
use crate::sizes::Sizes;
use core::sync::atomic::{AtomicU64, Ordering};
use invivo_proto::packet::{DropReason, Losses, PAYLOAD_BYTES};
use invivo_proto::record::{Call, Encoder, MAX_CALL_BYTES, MAX_PART_BYTES, MAX_PARTS, Part};
use invivo_proto::shm::{Control, LOCATIONS_MAX, SlotHeader, Status, inside, recording};

/// The last status page is nobody's own: threads beyond the others count their calls there.
pub const LOCATIONS: usize = LOCATIONS_MAX - 1;

/// See the module's head.
pub struct Location {
    /// The thread's number.
    pub index: u16,
    /// The kernel's id of the thread.
    pub tid: i32,
    /// Calls of ours that the thread is in: 0 or 1; inner calls are not looked at.
    pub depth: u32,
    /// The place's words to us.
    pub control: &'static Control,
    /// Our words to the place.
    pub status: &'static Status,
    /// Calls entered while recording was on.
    pub entered: u64,
    /// The epoch of recording of the record written last, or of the call that was entered last unrecorded.
    pub epoch: u32,
    /// The open packet, if there is one.
    pub slot: Option<&'static SlotHeader>,
    /// Which slot that is.
    pub slot_index: usize,
    /// Writes the open packet.
    pub encoder: Encoder,
    base: *mut u8,
    out: *mut u8,
    records: u32,
    /// Records since the packets on their way were looked after.
    pub since_polled: u32,
    /// Parts of the present call.
    pub parts: Vec<Part>,
    /// Request handles as they were before the present call.
    pub held: Vec<Request>,
    /// Statuses that the caller did not want and we do.
    pub statuses: Vec<MpiStatus>,
    /// Sizes of datatypes.
    pub sizes: Sizes,
}

/// The calling thread's location, or nothing when it can have none.
#[inline(always)]
pub fn current() -> Option<&'static mut Location> {
    let location = current::get();
    let location = if location.is_null() { make() } else { location };
    // SAFETY: null, or a leaked box that only this thread uses; callers drop the reference before they call
    // anything that could come back here (the depth guard holds what re-enters).
    unsafe { location.as_mut() }
}

#[cold]
#[inline(never)]
fn make() -> *mut Location {
    let Some(page) = process::page() else {
        return core::ptr::null_mut();
    };
    let index = page
        .locations
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| {
            ((n as usize) < LOCATIONS).then_some(n + 1)
        });
    let Ok(index) = index else {
        return core::ptr::null_mut();
    };
    let Some(status) = page.status.get(index as usize) else {
        return core::ptr::null_mut();
    };
    // SAFETY: gettid has no preconditions.
    let tid = unsafe { libc::gettid() };
    status.tid.store(tid as u32, Ordering::Release);
    let location = Box::into_raw(Box::new(Location {
        index: index as u16,
        tid,
        depth: 0,
        control: &page.control,
        status,
        entered: 0,
        epoch: recording::epoch(page.control.recording.load(Ordering::Relaxed)),
        slot: None,
        slot_index: 0,
        encoder: Encoder::new(0, 1),
        base: core::ptr::null_mut(),
        out: core::ptr::null_mut(),
        records: 0,
        since_polled: 0,
        parts: Vec::with_capacity(MAX_PARTS),
        held: Vec::with_capacity(MAX_PARTS),
        statuses: Vec::with_capacity(MAX_PARTS),
        sizes: Sizes::new(),
    }));
    current::set(location);
    location
}

/// Counts a call of a thread that has no location.
#[cold]
pub fn count_homeless() {
    let Some(page) = process::page() else { return };
    if !recording::is_on(page.control.recording.load(Ordering::Relaxed)) {
        return;
    }
    if let Some(status) = page.status.last() {
        status.entered.fetch_add(1, Ordering::Relaxed);
        status.dropped[DropReason::NoLocation as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// Adds to a counter that only this thread writes, without the cost of an atomic addition.
#[inline(always)]
pub fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

impl Location {
    /// Begins to write into `slot`.
    pub fn open(&mut self, slot: &'static SlotHeader, slot_index: usize) {
        self.base = slot.payload.get().cast();
        self.out = self.base;
        self.records = 0;
        self.slot = Some(slot);
        self.slot_index = slot_index;
    }

    /// Payload bytes written.
    pub fn written(&self) -> usize {
        self.out as usize - self.base as usize
    }

    /// Calls in the open packet.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// The location's loss ledger.
    pub fn losses(&self) -> Losses {
        Losses {
            entered: self.entered,
            dropped: self.status.dropped.each_ref().map(|d| d.load(Ordering::Relaxed)),
        }
    }

    /// Begins the records of another epoch: a packet has those of one alone.
    #[cold]
    #[inline(never)]
    pub fn begin_epoch(&mut self, epoch: u32) {
        shipping::close(self);
        self.epoch = epoch;
    }

    /// The first call that is not recorded after the place's word became this one. The page would go on to name the
    /// last call recorded; now it names none, and tells the word.
    #[cold]
    #[inline(never)]
    pub fn pass_unseen(&mut self, word: u32) {
        self.status.region.store(0, Ordering::Relaxed);
        self.status.entered_at.store(u64::from(word), Ordering::Release);
        // Also where the epoch goes on: requests that are numbered from here on are in no record, and only a packet's
        // head tells where numbers go on.
        self.begin_epoch(recording::epoch(word));
    }

    /// Takes the place's word on how often the frequency of this thread's samples is halved. A sampler keeps to what is
    /// known here, and it takes no lock to read that.
    #[inline]
    pub fn hear_frequency(&self) {
        let halvings = self.status.halvings.load(Ordering::Acquire);
        if halvings != self.status.halvings_known.load(Ordering::Relaxed) {
            self.status.halvings_known.store(halvings, Ordering::Release);
        }
    }

    /// The rank is about to run, and this is the call that made it so. To be said before the rank's phase is.
    pub fn announce(&self, region: u16, begin: u64) {
        self.status.region.store(u32::from(region), Ordering::Relaxed);
        self.status.entered_at.store(begin, Ordering::Relaxed);
        self.status.inside.store(inside::MPI, Ordering::Release);
    }

    #[inline(always)]
    fn has_room(&self, bytes: usize) -> bool {
        self.slot.is_some() && PAYLOAD_BYTES - self.written() >= bytes
    }

    /// Writes a call with the first `count` of this location's parts, opening packets as needed; drops and
    /// counts it where none can be had.
    #[inline(always)]
    pub fn record(&mut self, call: &Call, parts: usize) {
        let together = parts.min(MAX_PARTS);
        let room = MAX_CALL_BYTES + together * MAX_PART_BYTES;
        if !self.has_room(room) && !shipping::next_packet(self, call.end - call.duration) {
            return self.drop_record(call, parts);
        }
        // SAFETY: `room` bytes are free behind `out`, which is what the call and its parts need at most.
        unsafe {
            let mut out = self.encoder.call(self.out, call, together);
            for part in self.parts.get(..together).unwrap_or_default() {
                out = self.encoder.part(out, part);
            }
            self.out = out;
        }
        self.records += 1;
        self.commit();
        if parts > together {
            self.continuations(together, parts, call.end);
        }
    }

    /// Parts that did not fit beside their call.
    #[cold]
    fn continuations(&mut self, mut from: usize, parts: usize, end: u64) {
        while from < parts {
            let together = (parts - from).min(MAX_PARTS);
            if !self.has_room(MAX_CALL_BYTES + together * MAX_PART_BYTES) && !shipping::next_packet(self, end)
            {
                return;
            }
            // SAFETY: as in `record`.
            unsafe {
                let mut out = self.encoder.continuation(self.out, together);
                for part in self.parts.get(from..from + together).unwrap_or_default() {
                    out = self.encoder.part(out, part);
                }
                self.out = out;
            }
            self.commit();
            from += together;
        }
    }

    /// Lets the place see what is written. The release order makes the bytes visible before their count.
    #[inline(always)]
    fn commit(&mut self) {
        if let Some(slot) = self.slot {
            slot.records.store(self.records, Ordering::Relaxed);
            slot.committed.store(self.written() as u32, Ordering::Release);
        }
    }

    #[cold]
    fn drop_record(&mut self, call: &Call, parts: usize) {
        add(&self.status.dropped[DropReason::NoPacket as usize], 1);
        let posted = self
            .parts
            .iter()
            .take(parts)
            .filter(|p| p.facts.kind.posts())
            .count();
        for _ in 0..posted + usize::from(call.facts.kind.posts()) {
            self.encoder.skip_request();
        }
    }
}
