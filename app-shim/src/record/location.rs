//! A thread's location: its status page, its open packet, its scratch memory.
//!
//! Found through thread-local storage (`thread_location.rs`), made at the thread's first call,
//! never freed: when the thread has ended, it waits for another one (`parked.rs`).

use super::open_packet::OpenPacket;
use super::open_regions::Regions;
use super::scratch::Scratch;
use super::stack_bounds::StackBounds;
use crate::clock::ticks;
use crate::family::{Request, Status as MpiStatus, THREAD_SERIALIZED};
use crate::limits::{LOCATIONS, OVERFLOW_FIRST_REQUEST, POLLED_CALLS};
use crate::process;
use crate::track::datatype_sizes::DatatypeSizes;
use core::mem::offset_of;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};
use invivo_proto::packet::Losses;
use invivo_proto::record::{Encoder, Words};
use invivo_proto::shm::{Control, Page, Status, inside, recording};

/// What a location is settled for that has not seen a call yet.
const NEVER: u64 = u64::MAX;

/// Something else that a call did, as [`invivo_proto::record::Part`].
#[derive(Clone, Copy)]
pub struct Part {
    /// What was done.
    pub facts: Words,
    /// The number of a completed request.
    pub request: u64,
    /// When it was posted.
    pub posted: u64,
}

/// One thread of the rank after the other. What every call needs comes first, in one cache line.
#[repr(C, align(64))]
pub struct Location {
    /// Read by the place.
    pub status: &'static Status,
    /// Written by the place.
    pub control: &'static Control,
    /// Gate and recording as calls find them when there is nothing to do about them: see
    /// `settle.rs`.
    pub settled_for: u64,
    /// Where the wrapper's frame lies of the call that the thread is in; 0 while it is in none.
    /// Inner calls are not looked at.
    pub open_at: usize,
    /// Calls to the next poll.
    pub until_poll: u32,
    pub packet: OpenPacket,
    /// Encodes records into the open packet, and numbers requests from packet to packet.
    pub encoder: Encoder,
    /// Parts of the present call.
    pub parts: Scratch<Part>,
    /// Request handles as they were before the present call.
    pub held: Scratch<Request>,
    /// Statuses that the caller did not want and we do.
    pub statuses: Scratch<MpiStatus>,
    pub sizes: DatatypeSizes,
    /// The epoch of recording of the record written last, or of the call that was entered last
    /// unrecorded.
    pub epoch: u32,
    /// Its number in the rank.
    pub index: u16,
    /// Threads that had it before.
    pub occupant: u32,
    /// Borrowed by a thread that has none of its own: see `overflow.rs`.
    pub is_overflow: bool,
    /// The present call is timed for what the shim itself costs.
    pub is_sampled: bool,
    /// Own ticks before the real call, of a sampled call.
    pub own: u64,
    /// The kernel's id of the thread.
    pub tid: i32,
    /// Where the thread's stack lies, once somebody has asked.
    pub stack: StackBounds,
    /// The communicator that was made last inside the present call, as a number; 0 for none.
    pub made_inside: u64,
    /// The program's regions that the thread is in.
    pub regions: Regions,
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
        // SAFETY: as for `deref`.
        unsafe { self.0.as_mut() }
    }
}

impl Here {
    /// A location of the calling thread; nothing for a null pointer.
    ///
    /// # Safety
    /// Null, or a leaked box that only the calling thread uses.
    #[inline(always)]
    pub unsafe fn of(location: *mut Location) -> Option<Here> {
        NonNull::new(location).map(Here)
    }

    /// For [`Here::of`].
    pub fn pointer(self) -> *mut Location {
        self.0.as_ptr()
    }

    /// Notes that the thread is in a call, whose wrapper's frame is the caller's.
    #[inline(always)]
    pub fn open(self) {
        // In one store, as the number 1 would be: who left a call without its leave is found by
        // where its frame was (`left_call.rs`).
        // SAFETY: writes a register into a field of the location, which only this thread uses.
        unsafe {
            core::arch::asm!(
                "mov [{location} + {open_at}], rsp",
                location = in(reg) self.0.as_ptr(),
                open_at = const offset_of!(Location, open_at),
                options(nostack, preserves_flags),
            );
        }
    }
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
    /// The location of the thread `tid`, with the status page of this number.
    pub fn new(
        index: u16,
        tid: i32,
        control: &'static Control,
        status: &'static Status,
    ) -> Location {
        Location {
            index,
            occupant: 0,
            tid,
            open_at: 0,
            stack: StackBounds::UNKNOWN,
            is_overflow: false,
            is_sampled: false,
            own: 0,
            control,
            status,
            settled_for: NEVER,
            epoch: recording::epoch(control.recording.load(Ordering::Relaxed)),
            packet: OpenPacket::none(),
            encoder: Encoder::new(0, 1),
            until_poll: POLLED_CALLS,
            // Room from the start, so that recording a call allocates nothing.
            parts: Scratch::new(),
            held: Scratch::new(),
            statuses: Scratch::new(),
            sizes: DatatypeSizes::new(),
            made_inside: 0,
            regions: Regions::new(),
        }
    }

    /// A location for a thread that has none of its own: with a status page that nobody reads, and
    /// requests numbered where those of records never are.
    #[cold]
    #[inline(never)]
    pub fn overflow(page: &'static Page) -> Here {
        // Never freed: it goes from thread to thread as long as the process lives.
        // SAFETY: a page of atomic numbers, for which all zeroes are valid.
        let status: &'static Status =
            Box::leak(unsafe { Box::<Status>::new_zeroed().assume_init() });
        let location = Box::leak(Box::new(Location {
            is_overflow: true,
            encoder: Encoder::new(0, OVERFLOW_FIRST_REQUEST),
            ..Location::new(LOCATIONS as u16, 0, &page.control, status)
        }));
        Here(NonNull::from(location))
    }

    /// Whether the calling thread, which is in an outermost MPI call of the application, may make
    /// calls of its own.
    pub fn may_call_mpi(&self) -> bool {
        // Below that level MPI may only be called from the thread that initialised it. At it, the
        // application sees to it that no other thread is in MPI now.
        process::THREAD_LEVEL.load(Ordering::Relaxed) >= THREAD_SERIALIZED
            || self.tid == process::MAIN_THREAD.load(Ordering::Relaxed)
    }

    /// The location's loss ledger.
    pub fn losses(&self) -> Losses {
        Losses {
            entered: self.status.entered.load(Ordering::Relaxed),
            dropped: self
                .status
                .dropped
                .each_ref()
                .map(|d| d.load(Ordering::Relaxed)),
        }
    }

    /// Times what the shim itself costs in the present call, which began then, as far as the real
    /// call.
    #[cold]
    #[inline(never)]
    pub fn sample(&mut self, begin: u64) {
        self.is_sampled = true;
        // The poll at the leave takes the rest.
        self.until_poll = 1;
        self.own = ticks() - begin;
    }

    /// Names the call that made the rank run. To be done before the rank's phase says so.
    pub fn announce(&self, region: u16, begin: u64) {
        self.status
            .region
            .store(u32::from(region), Ordering::Relaxed);
        self.status.entered_at.store(begin, Ordering::Relaxed);
        // Last: who sees the thread in MPI sees in which call.
        self.status.inside.store(inside::MPI, Ordering::Release);
    }
}
