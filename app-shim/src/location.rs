//! A thread's location: its status page, its open packet, its scratch memory. Found through
//! thread-local storage, made at the thread's first call, never freed (a thread's records may
//! outlive it).

use crate::current;
use crate::family::{Request, Status as MpiStatus};
use crate::process;
use crate::shipping;
use crate::sizes::Sizes;
use core::cell::Cell;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};
use invivo_proto::packet::{DropReason, Losses, PAYLOAD_BYTES};
use invivo_proto::record::{Call, Encoder, MAX_CALL_BYTES, MAX_PART_BYTES, MAX_PARTS, Part};
use invivo_proto::shm::{Control, LOCATIONS_MAX, Page, SlotHeader, Status, inside, recording};

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
    /// It is borrowed by a thread that has none of its own.
    pub homeless: bool,
    /// The place's words to us.
    pub control: &'static Control,
    /// Our words to the place.
    pub status: &'static Status,
    /// Calls entered while recording was on.
    pub entered: u64,
    /// The epoch of recording of the record written last, or of the call that was entered last
    /// unrecorded.
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
    /// The communicator that was made last inside the present call, as a number; 0 for none.
    pub made_inside: u64,
}

/// A thread's location, as a pointer: what re-enters during a call (callbacks that call MPI) looks
/// at the location, too, so that no reference may live across the call. Each use makes one of its
/// own.
#[derive(Clone, Copy)]
pub struct Here(NonNull<Location>);

// SAFETY: used by one thread at a time; only a location that nobody uses is handed on.
unsafe impl Send for Here {}

impl Deref for Here {
    type Target = Location;

    #[inline(always)]
    fn deref(&self) -> &Location {
        // SAFETY: a leaked box that only this thread uses; no reference to it lives across a call
        // of MPI.
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for Here {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Location {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}

/// The calling thread's location, or nothing when it has none of its own.
#[inline(always)]
pub fn current() -> Option<Here> {
    let location = current::get();
    let location = if location.is_null() { make() } else { location };
    NonNull::new(location).map(Here)
}

/// The calling thread's location if it has one, for whoever may not make it: signal handlers.
pub fn known() -> Option<Here> {
    NonNull::new(current::get()).map(Here)
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
    let location = Box::new(Location {
        tid,
        ..Location::new(index as u16, &page.control, status)
    });
    let location = Box::into_raw(location);
    current::set(location);
    // A thread that is ending already keeps what it opens now.
    let _ = OWN.try_with(|own| own.0.set(location));
    location
}

/// The location that goes when its thread does.
struct Own(Cell<*mut Location>);

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: null, or this thread's, which is in no call of ours any more: threads end
        // outside, or were cancelled.
        if let Some(location) = unsafe { self.0.get().as_mut() } {
            shipping::leave_behind(location);
        }
    }
}

thread_local! {
    static OWN: Own = const { Own(Cell::new(core::ptr::null_mut())) };
}

/// Adds to a counter that only this thread writes, without the cost of an atomic addition.
#[inline(always)]
pub fn add(counter: &AtomicU64, n: u64) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(n),
        Ordering::Relaxed,
    );
}

impl Location {
    fn new(index: u16, control: &'static Control, status: &'static Status) -> Location {
        Location {
            index,
            tid: 0,
            depth: 0,
            homeless: false,
            control,
            status,
            entered: 0,
            epoch: recording::epoch(control.recording.load(Ordering::Relaxed)),
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
            made_inside: 0,
        }
    }

    /// One for a thread that has none of its own: with a status page that nobody reads, and
    /// requests numbered where those of records never are.
    pub fn homeless(page: &'static Page) -> Here {
        const FIRST_REQUEST: u64 = 1 << 40;
        // SAFETY: a page of atomic numbers, for which all zeroes are valid.
        let status: &'static Status =
            Box::leak(unsafe { Box::<Status>::new_zeroed().assume_init() });
        let location = Box::leak(Box::new(Location {
            homeless: true,
            encoder: Encoder::new(0, FIRST_REQUEST),
            ..Location::new(LOCATIONS as u16, &page.control, status)
        }));
        Here(NonNull::from(location))
    }

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
            dropped: self
                .status
                .dropped
                .each_ref()
                .map(|d| d.load(Ordering::Relaxed)),
        }
    }

    /// Begins the records of another epoch: a packet has those of one alone.
    #[cold]
    #[inline(never)]
    pub fn begin_epoch(&mut self, epoch: u32) {
        shipping::close(self);
        self.epoch = epoch;
    }

    /// The first call that is not recorded after the place's word became this one. The page would
    /// go on to name the last call recorded; now it names none, and tells the word.
    #[cold]
    #[inline(never)]
    pub fn pass_unseen(&mut self, word: u32) {
        self.status.region.store(0, Ordering::Relaxed);
        self.status
            .entered_at
            .store(u64::from(word), Ordering::Release);
        // Also where the epoch goes on: requests that are numbered from here on are in no record,
        // and only a packet's head tells where numbers go on.
        self.begin_epoch(recording::epoch(word));
    }

    /// Takes the place's word on how often the frequency of this thread's samples is halved. A
    /// sampler keeps to what is known here, and it takes no lock to read that.
    #[inline]
    pub fn hear_frequency(&self) {
        let halvings = self.status.halvings.load(Ordering::Acquire);
        if halvings != self.status.halvings_known.load(Ordering::Relaxed) {
            self.status
                .halvings_known
                .store(halvings, Ordering::Release);
        }
    }

    /// The rank is about to run, and this is the call that made it so. To be said before the rank's
    /// phase is.
    pub fn announce(&self, region: u16, begin: u64) {
        self.status
            .region
            .store(u32::from(region), Ordering::Relaxed);
        self.status.entered_at.store(begin, Ordering::Relaxed);
        self.status.inside.store(inside::MPI, Ordering::Release);
    }

    #[inline(always)]
    fn has_room(&self, bytes: usize) -> bool {
        self.slot.is_some() && PAYLOAD_BYTES - self.written() >= bytes
    }

    /// Writes a call with the first `count` of this location's parts, opening packets as needed;
    /// drops and counts it where none can be had.
    #[inline(always)]
    pub fn record(&mut self, call: &Call, parts: usize) {
        let together = parts.min(MAX_PARTS);
        let room = MAX_CALL_BYTES + together * MAX_PART_BYTES;
        if !self.has_room(room) && !shipping::next_packet(self, call.end - call.duration) {
            return self.drop_record(call, parts);
        }
        // SAFETY: `room` bytes are free behind `out`, which is what the call and its parts need at
        // most.
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
            if !self.has_room(MAX_CALL_BYTES + together * MAX_PART_BYTES)
                && !shipping::next_packet(self, end)
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

    /// Lets the place see what is written. The release order makes the bytes visible before their
    /// count.
    #[inline(always)]
    fn commit(&mut self) {
        if let Some(slot) = self.slot {
            slot.records.store(self.records, Ordering::Relaxed);
            slot.committed
                .store(self.written() as u32, Ordering::Release);
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
