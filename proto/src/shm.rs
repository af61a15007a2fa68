//! The memory that a rank shares with its supervisor and its place: one sealed memfd per rank.
//!
//! The supervisor makes and allocates it before the application starts. `wire.md` draws it.
//!
//! ```text
//! Page         identity, phase, gate and flags, one Status per location, definition ring
//! Slot * n     packet pool: SlotHeader, then PAYLOAD_BYTES of records
//! ```
//!
//! Who writes what: the supervisor writes the identity before anybody else looks; the place writes
//! [`Control`], `taken` and the ring's `tail`; whoever samples writes orders to the rank's timers;
//! everything else is the rank's. A reader takes no
//! value on trust: every offset and length read from here is checked against the constants below.

pub mod fault;
mod program_metrics;
mod region;
mod sample_timers;

pub use fault::Fault;
pub use program_metrics::{PROGRAM_METRICS_MAX, PROGRAM_NAME_BYTES, ProgramMetric, program_metric};
pub use region::{Region, RegionError};
pub use sample_timers::{
    SampleTimers, TIMER_SAMPLE_HEAD, TIMER_SAMPLES, TIMER_STACK_BYTES, TIMER_THREADS_MAX,
    TimerSample, timer_refusal,
};

use crate::ids::RegionId;
use crate::packet::PAYLOAD_BYTES;
use crate::record::{REGIONS_END, REGIONS_MAX};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// First bytes of the memory.
pub const MAGIC: u64 = u64::from_le_bytes(*b"INVIVOSH");
/// Layout version; shim, supervisor and place of one release agree.
pub const VERSION: u32 = 13;
/// Threads of a rank that can have a location of their own at one time. Calls of more are counted
/// as dropped.
pub const LOCATIONS_MAX: usize = 64;
/// Packets of a rank, if nothing else is asked for: one open, some on their way, some for bursts
/// (1.6 MiB).
pub const PACKETS_DEFAULT: usize = 16;
/// More packets would be more than 100 MiB per rank.
pub const PACKETS_MAX: usize = 1024;
/// Bytes of the definition ring; a definition has at most a quarter of it.
pub const RING_BYTES: usize = 64 * 1024;

/// Life of a rank, in [`Page::phase`].
pub mod phase {
    /// The program has not initialised MPI.
    pub const STARTING: u32 = 0;
    /// Between initialisation and finalisation.
    pub const RUNNING: u32 = 1;
    /// In `MPI_Finalize`: the rank writes no more records and has nothing in flight over MPI.
    pub const DRAINED: u32 = 2;
    /// `MPI_Abort` was called. The status of the thread that did, unless it was in another call,
    /// names it as entered, though the thread is not [`super::inside::MPI`]: it is no call that is
    /// counted.
    pub const ABORTING: u32 = 3;
    /// The shim gave up (wrong MPI, no memory) and only passes calls through.
    pub const SILENT: u32 = 4;
}

/// Where a thread is, in [`Status::inside`]. On the last page it is a number: of the threads in MPI
/// without a page of their own.
pub mod inside {
    /// In the application's own code.
    pub const APPLICATION: u32 = 0;
    /// In MPI: never stop it there.
    pub const MPI: u32 = 1;
    /// Held by the gate before the call began.
    pub const HELD_AT_ENTER: u32 = 2;
    /// Held by the gate after the call was complete.
    pub const HELD_AT_LEAVE: u32 = 3;
}

/// The word [`Control::recording`]: the epoch times two, plus one while calls are recorded. Epochs
/// are numbered by the root; the word has room for 2^29 of them and then begins anew. The two
/// highest bits are about a program that has switched recording off for its rank: that it has, and
/// whether calls would be recorded otherwise.
pub mod recording {
    /// The program has switched recording off.
    pub const OFF_BY_PROGRAM: u32 = 1 << 31;
    /// Without that, calls would be recorded.
    pub const ON_BUT_FOR_PROGRAM: u32 = 1 << 30;
    const EPOCH: u32 = !(OFF_BY_PROGRAM | ON_BUT_FOR_PROGRAM | 1);

    /// The word, the program having switched nothing.
    #[inline(always)]
    pub const fn word(epoch: u32, on: bool) -> u32 {
        (epoch << 1 & EPOCH) | on as u32
    }

    /// The word behind `before` when the place has switched: the program's switch stays.
    pub const fn by_place(before: u32, epoch: u32, on: bool) -> u32 {
        if !is_off_by_program(before) {
            return word(epoch, on);
        }
        let wish = if on { ON_BUT_FOR_PROGRAM } else { 0 };
        word(epoch, false) | OFF_BY_PROGRAM | wish
    }

    /// The word behind `before` when the program has switched.
    pub const fn by_program(before: u32, on: bool) -> u32 {
        let would_be_on = is_on(before) || before & ON_BUT_FOR_PROGRAM != 0;
        if on {
            return word(epoch(before), would_be_on);
        }
        let wish = if would_be_on { ON_BUT_FOR_PROGRAM } else { 0 };
        word(epoch(before), false) | OFF_BY_PROGRAM | wish
    }

    /// Whether the program has switched recording off.
    #[inline(always)]
    pub const fn is_off_by_program(word: u32) -> bool {
        word & OFF_BY_PROGRAM != 0
    }

    /// Epoch and switch alone: a later one is greater.
    #[inline(always)]
    pub const fn position(word: u32) -> u32 {
        word & (EPOCH | 1)
    }

    /// Whether calls are recorded.
    #[inline(always)]
    pub const fn is_on(word: u32) -> bool {
        word & 1 != 0
    }

    /// The epoch.
    #[inline(always)]
    pub const fn epoch(word: u32) -> u32 {
        (word & EPOCH) >> 1
    }
}

/// What a rank does when it needs a packet and none is free, in [`Control::back_pressure`].
pub mod back_pressure {
    /// It waits, but never long, and then drops and counts.
    pub const BOUNDED: u32 = 0;
    /// It drops and counts at once.
    pub const DROP: u32 = 1;
    /// It waits for as long as it takes.
    pub const BLOCK: u32 = 2;
}

/// Why a region of the program is not recorded as it was, in [`Status::region_losses`].
pub mod region_loss {
    /// It was entered or left while no packet was free.
    pub const DROPPED: usize = 0;
    /// It was left by a jump, or never by itself, and ends where that was seen; or it was to be
    /// left without having been entered.
    pub const REPAIRED: usize = 1;
    /// It lies more than [`crate::record::OPEN_MAX`] deep.
    pub const TOO_DEEP: usize = 2;
}

/// Owners of a packet, in [`SlotHeader::owner`]. Changed by compare-and-swap only.
pub mod owner {
    /// Nobody's: a thread may open it.
    pub const FREE: u32 = 0;
    /// A thread of the rank writes into it.
    pub const RANK: u32 = 1;
    /// A non-blocking send of it is under way.
    pub const MPI: u32 = 2;
    /// Closed and left for the place to take from here.
    pub const PLACE: u32 = 3;
}

/// Commands of the place to the rank. The first cache line is what the hot path reads: `gate` and
/// `recording`.
#[repr(C, align(64))]
pub struct Control {
    /// 0 is open; any other number is the generation of the pause that closed the gate. A futex.
    pub gate: AtomicU32,
    /// Whether calls are recorded, and in which epoch, in one word, so that nobody ever sees the
    /// one without the other: see [`recording`]. It only changes to another epoch where recording
    /// begins, or would begin but for the program, which writes its part of it.
    pub recording: AtomicU32,
    /// `CLOCK_MONOTONIC` in ns at which a closed gate opens by itself. The place pushes it on while
    /// the root is alive and the pause's lease lasts, so that no death on our side leaves the
    /// application standing.
    pub gate_until_ns: AtomicU64,
    /// When recording was switched on last, in ticks: where a call that was under way begins for
    /// us. Written before `recording`.
    pub recording_since: AtomicU64,
    /// See [`back_pressure`]. The supervisor writes it before the rank begins.
    pub back_pressure: AtomicU32,
    /// The place's process while it rests and wants to be woken when packets wait, else 0. Who
    /// wakes it puts 0 there first.
    pub bell: AtomicU32,
    /// 1 while nobody wants to know where calls are made; 0 from the start, so that no call of a
    /// rank that is ahead of its place lacks it.
    pub without_sites: AtomicU32,
    /// 1 while nobody wants to know of the program's regions; 0 from the start.
    pub without_regions: AtomicU32,
    /// 1 once `off` has had a bit: after that, regions end that were not recorded when they began.
    pub has_selection: AtomicU32,
    /// 1 while something of [`Page::sample_timers`] waits to be done by the rank, which puts 0 here
    /// before it does. Whoever samples writes it.
    pub errand: AtomicU32,
    reserved: [u32; 2],
    /// What is not recorded.
    pub off: Off,
}

/// Functions and regions that are not recorded: a bit for each number, 0 from the start. Those that
/// no region has yet say what holds for one that is met next.
#[repr(C, align(64))]
pub struct Off {
    /// By 64 numbers.
    pub words: [AtomicU64; OFF_WORDS],
}

/// Words of [`Off`]: for all numbers that ranks give.
pub const OFF_WORDS: usize = (REGIONS_END as usize + REGIONS_MAX as usize).div_ceil(64);

impl Off {
    /// Whether a function or region is not recorded. Of a number that no rank gives it is.
    #[inline(always)]
    pub fn has(&self, region: RegionId) -> bool {
        let word = self.words.get(usize::from(region.0 / 64));
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (region.0 % 64) & 1 != 0)
    }
}

impl Control {
    /// `gate` and `recording` as one number, `gate` in the lower half: what a call asks for on its
    /// way in.
    #[inline(always)]
    pub fn gate_and_recording(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        {
            let both;
            // In assembly because Rust has no atomic load of two atomic numbers at once. The
            // compiler must not move stores of before behind it, as it takes it for a reader of all
            // memory.
            // SAFETY: reads eight bytes of `self`, which lie on a boundary of eight, so that the
            // processor reads them at once.
            unsafe {
                core::arch::asm!(
                    "mov {both}, qword ptr [{control}]",
                    both = lateout(reg) both,
                    control = in(reg) self,
                    options(nostack, preserves_flags, readonly),
                );
            }
            both
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let recording = self.recording.load(Ordering::Acquire);
            u64::from(recording) << 32 | u64::from(self.gate.load(Ordering::Relaxed))
        }
    }
}

/// A location's status page: written by its own thread, and read by anybody at any time.
#[repr(C, align(64))]
pub struct Status {
    /// See [`inside`].
    pub inside: AtomicU32,
    /// The region entered last, or 0 when that call was not recorded; the one that initialises MPI
    /// is named also where it is not recorded, before the phase says that the rank runs: by this a
    /// rank is told that stands right behind it.
    pub region: AtomicU32,
    /// When it was entered, in ticks; with region 0, the word [`Control::recording`] as the call
    /// found it.
    pub entered_at: AtomicU64,
    /// What the call was given: a handle, see [`crate::mpi::Needs`]. Noted raw, as the application
    /// gave it, because it is noted at each call: who reads it has the time to understand it.
    pub handle: AtomicU64,
    /// Numbers that it was given, see [`crate::mpi::Needs`].
    pub numbers: [AtomicU32; 4],
    /// The wrapper's stack pointer when it called the MPI library: right below lies where that
    /// comes back to, or the arguments that do not fit into registers and then that.
    pub stack: AtomicU64,
    /// Its frame register then.
    pub frame: AtomicU64,
    /// Calls counted at the entry while recording was on.
    pub entered: AtomicU64,
    /// Kernel's thread id, 0 while no thread has the location.
    pub tid: AtomicU32,
    /// The slot that the location writes into, plus one; 0 is none.
    pub open_slot: AtomicU32,
    /// Calls whose records were dropped, by [`crate::packet::DropReason`].
    pub dropped: [AtomicU64; 3],
    /// Packets opened so far, so that the next one's sequence number is known.
    pub packets: AtomicU64,
    /// Ticks spent in our own code, summed over the sampled calls.
    pub overhead_ticks: AtomicU64,
    /// How many calls were sampled for it.
    pub overhead_samples: AtomicU64,
    /// Where in the rank's own memory a number of four bytes changes at each leave of a call,
    /// recorded or not; 0 where nobody knows. It comes round with [`Status::polls`].
    pub progress_at: AtomicU64,
    /// How often that number has come round.
    pub polls: AtomicU64,
    /// Ticks spent in our own code at the begins and ends of the program's regions: those of the
    /// ones that were sampled, times as many as each stands for.
    pub region_ticks: AtomicU64,
    /// Regions that are not recorded as they were, by [`region_loss`].
    pub region_losses: [AtomicU64; 3],
}

/// What the rank's MPI library calls things, and where in the rank's own memory the shim follows
/// them: for those who want to understand a pending call from outside. Written by the rank.
#[repr(C, align(64))]
pub struct Library {
    /// Its communicators: [`crate::handles::Known`] by handle.
    pub comms: Handles,
    /// Its requests: [`crate::handles::Posted`] by handle.
    pub requests: Handles,
    /// Its windows and files: [`crate::handles::Shared`] by handle.
    pub shared: Handles,
    /// The library's `MPI_ANY_SOURCE`.
    pub any_source: AtomicU32,
    /// Its `MPI_PROC_NULL`.
    pub proc_null: AtomicU32,
    /// Bytes of a request's handle.
    pub request_bytes: AtomicU32,
    /// 1 where several threads of the rank may be in MPI at once.
    pub thread_multiple: AtomicU32,
    reserved: [u32; 4],
}

/// Where a table of [`crate::handles`] lies in the rank's memory.
#[repr(C)]
pub struct Handles {
    /// The address of its first slot, 0 while there is none.
    pub slots: AtomicU64,
    /// How many slots it has, a power of two.
    pub slot_count: AtomicU64,
    /// The address of its first entry.
    pub entries: AtomicU64,
    /// For how many entries there is room.
    pub entry_count: AtomicU64,
}

impl Handles {
    /// Publishes where the table lies now: slots and entries, each the address of the first and how
    /// many.
    pub fn lie(&self, slots: (u64, u64), entries: (u64, u64)) {
        self.slot_count.store(slots.1, Ordering::Relaxed);
        self.entries.store(entries.0, Ordering::Relaxed);
        self.entry_count.store(entries.1, Ordering::Relaxed);
        self.slots.store(slots.0, Ordering::Release);
    }
}

/// The channel of definitions: one writer (under the shim's lock), one reader (the place). Offsets
/// run on and are taken modulo [`RING_BYTES`]. An entry is its length as two bytes, then a
/// definition.
#[repr(C, align(64))]
pub struct Ring {
    /// Bytes written so far.
    pub head: AtomicU64,
    /// Bytes taken so far.
    pub tail: AtomicU64,
    reserved: [u64; 6],
    /// The bytes.
    pub bytes: [core::cell::UnsafeCell<u8>; RING_BYTES],
}

/// [`Page::place`] of a rank that has not heard from its tool place.
pub const PLACE_UNKNOWN: u32 = u32::MAX;

/// The first part of the memory.
#[repr(C, align(4096))]
pub struct Page {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// Packets in the pool.
    pub packets: AtomicU32,
    /// The application's rank; while `ranks` is 0, the world rank.
    pub rank: AtomicU32,
    /// Ranks of the application; 0 where the rank finds its numbers out in `MPI_Init`.
    pub ranks: AtomicU32,
    /// The tool place's world rank; then, until its welcome has come, [`PLACE_UNKNOWN`].
    pub place: AtomicU32,
    /// The process that attached; forked children are not it and stay silent.
    pub pid: AtomicU32,
    /// See [`phase`].
    pub phase: AtomicU32,
    /// Locations that are or were in use: `status[..locations]`.
    pub locations: AtomicU32,
    /// Packets whose records went over MPI.
    pub sent_packets: AtomicU64,
    /// Packets left for the place because no thread could send them.
    pub left_packets: AtomicU64,
    /// Code of `MPI_Abort`, while aborting.
    pub abort_code: AtomicU32,
    reserved: u32,
    /// The handles and constants of its MPI library.
    pub library: Library,
    /// What the place tells the rank.
    pub control: Control,
    /// Per location.
    pub status: [Status; LOCATIONS_MAX],
    /// The number of each location's present or last occupant: threads that had it before. Its
    /// thread writes it before its id.
    pub occupants: [AtomicU32; LOCATIONS_MAX],
    /// The fault that a thread has met.
    pub fault: Fault,
    /// The definition channel.
    pub ring: Ring,
    /// Calls that a callback of the program has left by a jump.
    pub left_calls: AtomicU32,
    /// Processes that this rank, as the root of the calls, has spawned.
    pub spawned: AtomicU32,
    /// What the program keeps, from the first on; free ones lie behind those in use.
    pub program_metrics: [ProgramMetric; PROGRAM_METRICS_MAX],
    /// 1 where the name of a counter or a value found none of them free.
    pub program_metrics_lost: AtomicU32,
    /// Timers that sample the rank's threads.
    pub sample_timers: SampleTimers,
}

/// What stands before a packet's payload in shared memory.
#[repr(C, align(64))]
pub struct SlotHeader {
    /// See [`owner`].
    pub owner: AtomicU32,
    /// The location that writes or wrote it.
    pub location: AtomicU32,
    /// The packet's sequence number plus one; 0 while it is being opened. Written last at opening.
    pub sequence: AtomicU64,
    /// Payload bytes that are whole records, written with release order.
    pub committed: AtomicU32,
    /// Payload bytes that the place has taken already.
    pub taken: AtomicU32,
    /// As in [`crate::packet::Header`].
    pub first_time: AtomicU64,
    /// As in [`crate::packet::Header`].
    pub next_request: AtomicU64,
    /// End of the last record.
    pub last_time: AtomicU64,
    /// Calls in it.
    pub records: AtomicU32,
    /// As in [`crate::packet::Header`].
    pub epoch: AtomicU32,
    /// Room for the header that goes over MPI: it stands right before the payload, so that both are
    /// one send.
    pub wire: core::cell::UnsafeCell<[u8; crate::packet::HEADER_BYTES]>,
    /// The records.
    pub payload: core::cell::UnsafeCell<[u8; PAYLOAD_BYTES]>,
}

// SAFETY: the bytes behind the cells are guarded by `head`/`tail` (Ring) and by the owner word and
// `committed` (SlotHeader); whoever touches them goes through raw pointers under those rules.
unsafe impl Sync for Ring {}
// SAFETY: as above.
unsafe impl Sync for SlotHeader {}

/// Bytes of one packet slot.
pub const SLOT_BYTES: usize = size_of::<SlotHeader>();
/// Bytes of the first part.
pub const PAGE_BYTES: usize = size_of::<Page>();

const _: () = {
    assert!(size_of::<Control>() == 64 + size_of::<Off>());
    assert!(core::mem::offset_of!(Control, gate) == 0);
    assert!(core::mem::offset_of!(Control, recording) == 4);
    assert!(size_of::<Library>() == 128);
    assert!(size_of::<Status>() == 192);
    assert!(PAGE_BYTES.is_multiple_of(4096));
    assert!(
        core::mem::offset_of!(SlotHeader, wire) + crate::packet::HEADER_BYTES
            == core::mem::offset_of!(SlotHeader, payload)
    );
};

/// Bytes of the memory with `packets` packets.
pub const fn region_bytes(packets: usize) -> usize {
    PAGE_BYTES + packets * SLOT_BYTES
}

impl SlotHeader {
    /// Passes the packet on; false when it was not `from`'s.
    #[inline]
    pub fn pass(&self, from: u32, to: u32) -> bool {
        self.owner
            // Acquire and release: the payload is handed over together with the owner word.
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}
