//! Packets in flight: sent to the place by non-blocking MPI sends, and taken back when they have
//! arrived.
//!
//! Not over UCX: there the place fetches a large message from the memory of the rank that sent it,
//! and UCX ends the place by SIGABRT when that rank has died meanwhile. Packets are left in shared
//! memory then, which outlives the rank (ADR 0032).

use super::location::Location;
use crate::clock::{monotonic_ns, sleep_us};
use crate::doorbell;
use crate::family::{Request, STATUS_IGNORE, SUCCESS};
use crate::limits::{PACKET_POLL_US, SEND_MISSES_MAX};
use crate::process;
use crate::resolve::objects::is_loaded;
use crate::resolve::pmpi;
use crate::resolve::predefined::{request_null, type_byte};
use crate::spin_lock::SpinLock;
use crate::world::worlds::tool_comm;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use invivo_proto::channel::TAG_PACKET;
use invivo_proto::ids::{LocationId, Rank};
use invivo_proto::packet::{HEADER_BYTES, Header, VERSION};
use invivo_proto::shm::{SlotHeader, owner};

/// When observation began.
static STARTED_NS: AtomicU64 = AtomicU64::new(0);

/// Whether packets go over MPI.
static CARRIED_BY_MPI: AtomicBool = AtomicBool::new(true);
/// The library whose large messages end their receiver when the sender is dead.
const FATAL_TO_RECEIVERS: &[u8] = b"libucp";

/// A packet on its way over MPI.
struct InFlight {
    request: Request,
    slot: &'static SlotHeader,
}

/// All packets in flight, the oldest first.
struct SendQueue {
    sent: Vec<InFlight>,
    /// Polls in a row that found none arrived, as far as it matters.
    misses: u32,
    /// Polls to leave out before the next.
    skips: u32,
}

static QUEUE: SpinLock<SendQueue> = SpinLock::new(SendQueue {
    sent: Vec::new(),
    misses: 0,
    skips: 0,
});

/// Prepares, once, with room for `packets` packets in flight, so that later nothing is allocated.
pub fn start(packets: usize) {
    STARTED_NS.store(monotonic_ns(), Ordering::Relaxed);
    CARRIED_BY_MPI.store(!is_loaded(FATAL_TO_RECEIVERS), Ordering::Relaxed);
    QUEUE.with(|queue| queue.sent.reserve(packets));
}

/// When observation began (`CLOCK_MONOTONIC`).
pub fn started_ns() -> u64 {
    STARTED_NS.load(Ordering::Relaxed)
}

/// Sends a closed packet of `written` bytes. False where it is not sent, and still the thread's.
pub fn send(location: &Location, slot: &'static SlotHeader, written: usize) -> bool {
    let page = match process::page() {
        Some(page) if CARRIED_BY_MPI.load(Ordering::Relaxed) => page,
        _ => return false,
    };
    let header = Header {
        version: VERSION,
        location: LocationId {
            rank: Rank(page.rank.load(Ordering::Relaxed)),
            thread: location.index,
        },
        // The slot has it plus one: 0 there is a packet that is being opened.
        sequence: slot.sequence.load(Ordering::Relaxed) - 1,
        length: written as u32,
        records: slot.records.load(Ordering::Relaxed),
        first_time: slot.first_time.load(Ordering::Relaxed),
        last_time: slot.last_time.load(Ordering::Relaxed),
        next_request: slot.next_request.load(Ordering::Relaxed),
        epoch: slot.epoch.load(Ordering::Relaxed),
        losses: location.losses(),
    };

    // SAFETY: the packet is ours (owner RANK) and `written` bytes of it are; the header has its own
    // room before the payload, which nobody else looks at.
    let sent = unsafe {
        let payload = core::slice::from_raw_parts(slot.payload.get().cast::<u8>(), written);
        header.encode(payload, &mut *slot.wire.get());
        // Not waiting for the lock: whoever has it may be inside MPI.
        QUEUE.try_with(|queue| {
            let sent = &mut queue.sent;
            // Never beyond what `start` has reserved: nothing is allocated on the hot path.
            if sent.len() == sent.capacity() || !slot.pass(owner::RANK, owner::MPI) {
                return false;
            }
            let mut request = request_null();
            let place = page.place.load(Ordering::Relaxed) as c_int;
            let bytes = (HEADER_BYTES + written) as c_int;
            let buffer = slot.wire.get().cast();
            let result = pmpi::isend(
                buffer,
                bytes,
                type_byte(),
                place,
                TAG_PACKET,
                tool_comm(),
                &mut request,
            );
            // The caller leaves the packet for the place then.
            if result != SUCCESS {
                slot.pass(owner::MPI, owner::RANK);
                return false;
            }
            let length = sent.len();
            if let Some(free) = sent.spare_capacity_mut().first_mut() {
                free.write(InFlight { request, slot });
                // The one behind the last was just written. (A push could grow, and allocate.)
                sent.set_len(length + 1);
            }
            true
        })
    };

    if sent == Some(true) {
        page.sent_packets.fetch_add(1, Ordering::Relaxed);
    }
    sent == Some(true)
}

/// Leaves a packet of the owner `from` for the place to take from shared memory.
pub fn leave_for_place(slot: &SlotHeader, from: u32) {
    if let Some(page) = process::page() {
        page.left_packets.fetch_add(1, Ordering::Relaxed);
    }
    slot.pass(from, owner::PLACE);
}

/// Takes back what has arrived, unless it is to wait: the longer nothing arrives, the fewer polls
/// ask MPI.
pub fn poll() {
    QUEUE.try_with(SendQueue::poll);
}

/// Takes back what has arrived, for a thread that needs a packet now.
pub fn take_back() {
    QUEUE.try_with(SendQueue::take_back);
}

/// Waits, at most `bound_ns`, until nothing is in flight any more.
pub fn drain(bound_ns: u64) -> bool {
    let started = monotonic_ns();
    loop {
        // Waits for the lock, unlike the others: this is not the hot path.
        let empty = QUEUE.with(|queue| {
            queue.take_back();
            queue.sent.is_empty()
        });
        if empty || monotonic_ns() - started > bound_ns {
            return empty;
        }
        doorbell::ring();
        sleep_us(PACKET_POLL_US);
    }
}

impl SendQueue {
    fn poll(&mut self) {
        if self.skips > 0 {
            self.skips -= 1;
        } else if !self.sent.is_empty() {
            let arrived = self.take_back();
            self.misses = if arrived {
                0
            } else {
                (self.misses + 1).min(SEND_MISSES_MAX)
            };
            self.skips = (1 << self.misses) - 1;
        }
    }

    /// Takes back what has arrived, up to the first that has not: all go to one place, which takes
    /// them in their order. Says whether there was any.
    fn take_back(&mut self) -> bool {
        let mut arrived = 0;
        while let Some(packet) = self.sent.get_mut(arrived) {
            let mut done: c_int = 0;
            // SAFETY: the request is ours and active.
            let result = unsafe { pmpi::test(&mut packet.request, &mut done, STATUS_IGNORE) };
            if result != SUCCESS {
                // Whether it arrived is unknown; the place knows by the packet's number and takes
                // it if need be.
                leave_for_place(packet.slot, owner::MPI);
            } else if done == 0 {
                break;
            } else {
                packet.slot.pass(owner::MPI, owner::FREE);
            }
            arrived += 1;
        }
        // Never more than there are; said so that no panic is compiled in.
        self.sent.drain(..arrived.min(self.sent.len()));
        arrived > 0
    }
}
