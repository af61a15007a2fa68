//! Packets: opened from the pool, closed when full, sent over MPI or left for the place to take.
//!
//! The pool is the memory bound. What happens when no packet is free is the back-pressure policy.
//! Unless another one was asked for the record waits, but never long: at most [`WAIT_ONCE_NS`] at a
//! time and one part in [`WAIT_PART`] of the run in all; then records are dropped and counted until
//! a packet comes back.

use crate::clock::{monotonic_ns, sleep_us};
use crate::family::{Request, STATUS_IGNORE, SUCCESS, request_null, type_byte};
use crate::location::{Location, add};
use crate::ring::{self, Locked};
use crate::{comms, homeless, process, real};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use invivo_proto::channel::TAG_PACKET;
use invivo_proto::ids::{LocationId, Rank};
use invivo_proto::packet::{HEADER_BYTES, Header};
use invivo_proto::shm::{SlotHeader, back_pressure, owner, recording};

/// The longest that one call waits for a packet: 10 ms.
const WAIT_ONCE_NS: u64 = 10_000_000;
/// All waiting together stays below one hundredth of the run.
const WAIT_PART: u64 = 100;
/// Between two looks for a free packet.
const WAIT_STEP_US: u64 = 50;

/// Time waited for packets so far, over all threads, in ns.
static WAITED_NS: AtomicU64 = AtomicU64::new(0);
/// When observation began.
static STARTED_NS: AtomicU64 = AtomicU64::new(0);

/// A packet on its way over MPI.
struct Flight {
    request: Request,
    slot: &'static SlotHeader,
}

/// Those on their way, the oldest first.
struct Flights {
    sent: Vec<Flight>,
    /// Looks in a row that found none arrived, as far as it matters.
    misses: u32,
    /// Looks to leave out before the next.
    rest: u32,
}

/// While nothing arrives, up to `2^MISSES_MAX - 1` looks are left out: a look may give the
/// processor away, where there are more processes than processors, and a place that stands still
/// takes nothing for long.
const MISSES_MAX: u32 = 6;

static FLIGHTS: Locked<Flights> = Locked::new(Flights {
    sent: Vec::new(),
    misses: 0,
    rest: 0,
});

/// Prepares, once, with room for `packets` packets on their way, so that later nothing is
/// allocated.
pub fn start(packets: usize) {
    STARTED_NS.store(monotonic_ns(), Ordering::Relaxed);
    FLIGHTS.with(|flights| flights.sent.reserve(packets));
}

/// Closes the location's packet, if it has one, and opens the next. False where none can be had
/// now.
#[cold]
#[inline(never)]
pub fn next_packet(location: &mut Location, base_time: u64) -> bool {
    if location.homeless {
        return false;
    }
    close(location);
    if open(location, base_time) {
        return true;
    }
    let started = monotonic_ns();
    let left = match location.control.back_pressure.load(Ordering::Relaxed) {
        back_pressure::DROP => 0,
        back_pressure::BLOCK => u64::MAX,
        _ => {
            let budget = (started - STARTED_NS.load(Ordering::Relaxed)) / WAIT_PART;
            let waited = WAITED_NS.load(Ordering::Relaxed);
            budget.saturating_sub(waited).min(WAIT_ONCE_NS)
        }
    };
    let mut opened = false;
    let mut waited = 0;
    // Nobody takes packets once recording is off, nor when the measurement was shut down.
    while !opened
        && waited < left
        && recording::is_on(location.control.recording.load(Ordering::Relaxed))
    {
        sleep_us(WAIT_STEP_US);
        take_back(location);
        opened = open(location, base_time);
        waited = monotonic_ns() - started;
    }
    if waited != 0 {
        WAITED_NS.fetch_add(waited, Ordering::Relaxed);
    }
    opened
}

fn open(location: &mut Location, base_time: u64) -> bool {
    let Some(region) = process::region() else {
        return false;
    };
    let packets = region.packets();
    for i in 1..=packets {
        let index = (location.slot_index + i) % packets;
        let Some(slot) = region.slot(index) else {
            continue;
        };
        if slot.owner.load(Ordering::Relaxed) != owner::FREE || !slot.pass(owner::FREE, owner::RANK)
        {
            continue;
        }
        let sequence = location.status.packets.load(Ordering::Relaxed);
        // 0 while it is being opened: a reader that sees the old number before and after its copy
        // has the old contents, one that sees 0 or the new one throws its copy away.
        slot.sequence.store(0, Ordering::Release);
        core::sync::atomic::fence(Ordering::Release);
        slot.location
            .store(u32::from(location.index), Ordering::Relaxed);
        slot.committed.store(0, Ordering::Relaxed);
        slot.taken.store(0, Ordering::Relaxed);
        slot.records.store(0, Ordering::Relaxed);
        slot.first_time.store(base_time, Ordering::Relaxed);
        slot.last_time.store(base_time, Ordering::Relaxed);
        slot.next_request
            .store(location.encoder.next_request(), Ordering::Relaxed);
        slot.epoch.store(location.epoch, Ordering::Relaxed);
        location.encoder.restart(base_time);
        location.open(slot, index);
        add(&location.status.packets, 1);
        location
            .status
            .open_slot
            .store(index as u32 + 1, Ordering::Relaxed);
        slot.sequence.store(sequence + 1, Ordering::Release);
        return true;
    }
    false
}

/// Closes the open packet: sends it where this thread may call MPI, else leaves it for the place.
pub fn close(location: &mut Location) {
    let Some(slot) = location.slot.take() else {
        return;
    };
    location.status.open_slot.store(0, Ordering::Relaxed);
    slot.last_time
        .store(location.encoder.time(), Ordering::Relaxed);
    let written = location.written();
    let taken_already = slot.taken.load(Ordering::Acquire) as usize >= written;
    if taken_already || !may_call_mpi(location) || !send(location, slot, written) {
        leave_for_place(slot, owner::RANK);
    }
}

/// The location's thread ends, which makes no calls of its own any more: its open packet is the
/// place's. There are few, and threads may come and go as long as the program lives.
pub fn leave_behind(location: &mut Location) {
    if !process::observing() {
        return;
    }
    let Some(slot) = location.slot.take() else {
        return;
    };
    location.status.open_slot.store(0, Ordering::Relaxed);
    slot.last_time
        .store(location.encoder.time(), Ordering::Relaxed);
    leave_for_place(slot, owner::RANK);
}

fn leave_for_place(slot: &SlotHeader, from: u32) {
    if let Some(page) = process::page() {
        page.left_packets.fetch_add(1, Ordering::Relaxed);
    }
    slot.pass(from, owner::PLACE);
}

/// Whether the calling thread, which is in an outermost MPI call of the application, may make calls
/// of its own.
fn may_call_mpi(location: &Location) -> bool {
    process::THREAD_LEVEL.load(Ordering::Relaxed) >= crate::family::THREAD_SERIALIZED
        || location.tid == process::MAIN_THREAD.load(Ordering::Relaxed)
}

fn send(location: &Location, slot: &'static SlotHeader, written: usize) -> bool {
    let Some(page) = process::page() else {
        return false;
    };
    let header = Header {
        location: LocationId {
            rank: Rank(page.rank.load(Ordering::Relaxed)),
            thread: location.index,
        },
        sequence: slot.sequence.load(Ordering::Relaxed) - 1,
        length: written as u32,
        records: location.records(),
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
        FLIGHTS.try_with(|flights| {
            let sent = &mut flights.sent;
            if sent.len() == sent.capacity() || !slot.pass(owner::RANK, owner::MPI) {
                return false;
            }
            let mut request = request_null();
            let place = page.place.load(Ordering::Relaxed) as c_int;
            let bytes = (HEADER_BYTES + written) as c_int;
            let buffer = slot.wire.get().cast();
            let result = real::isend(
                buffer,
                bytes,
                type_byte(),
                place,
                TAG_PACKET,
                process::tool_comm(),
                &mut request,
            );
            if result != SUCCESS {
                slot.pass(owner::MPI, owner::RANK);
                return false;
            }
            sent.push(Flight { request, slot });
            true
        })
    };
    if sent == Some(true) {
        page.sent_packets.fetch_add(1, Ordering::Relaxed);
    }
    sent == Some(true)
}

/// Now and then: takes back packets that have arrived, and gives waiting definitions another
/// chance.
#[cold]
#[inline(never)]
pub fn look_after(location: &Location) {
    ring::flush();
    if may_call_mpi(location) {
        comms::look_after();
        FLIGHTS.try_with(Flights::look);
    }
    if location.homeless {
        homeless::out_of_mpi();
    }
}

/// The same for somebody who needs a packet.
fn take_back(location: &Location) {
    ring::flush();
    if may_call_mpi(location) {
        comms::look_after();
        FLIGHTS.try_with(Flights::take_back);
    }
}

impl Flights {
    fn look(&mut self) {
        if self.rest > 0 {
            self.rest -= 1;
        } else if !self.sent.is_empty() {
            let arrived = self.take_back();
            self.misses = if arrived {
                0
            } else {
                (self.misses + 1).min(MISSES_MAX)
            };
            self.rest = (1 << self.misses) - 1;
        }
    }

    /// Takes back what has arrived, up to the first that has not: all go to one place, which takes
    /// them in their order. Says whether there was any.
    fn take_back(&mut self) -> bool {
        let mut arrived = 0;
        while let Some(flight) = self.sent.get_mut(arrived) {
            let mut done: c_int = 0;
            // SAFETY: the request is ours and active.
            let result = unsafe { real::test(&mut flight.request, &mut done, STATUS_IGNORE) };
            if result != SUCCESS {
                // Whether it arrived is unknown; the place knows by the packet's number and takes
                // it if need be.
                leave_for_place(flight.slot, owner::MPI);
            } else if done == 0 {
                break;
            } else {
                flight.slot.pass(owner::MPI, owner::FREE);
            }
            arrived += 1;
        }
        self.sent.drain(..arrived);
        arrived > 0
    }
}

/// Waits, at most `bound_ns`, until nothing is on its way any more.
pub fn land(bound_ns: u64) -> bool {
    let started = monotonic_ns();
    loop {
        let empty = FLIGHTS.with(|flights| {
            flights.take_back();
            flights.sent.is_empty()
        });
        if empty || monotonic_ns() - started > bound_ns {
            return empty;
        }
        sleep_us(WAIT_STEP_US);
    }
}

/// Leaves every packet that is still open to the place: those of threads that have stopped calling.
pub fn leave_open_packets() {
    let Some(region) = process::region() else {
        return;
    };
    for index in 0..region.packets() {
        if let Some(slot) = region.slot(index) {
            slot.pass(owner::RANK, owner::PLACE);
        }
    }
}
