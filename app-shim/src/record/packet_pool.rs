//! Opens packets from the pool, and closes them: sent over MPI, or left for the place to take.

use super::location::{Location, add};
use super::send_queue::{leave_for_place, send};
use crate::limits::PACKETS_FOR_CALLS_PART;
use crate::{doorbell, process};
use core::sync::atomic::{Ordering, fence};
use invivo_proto::shm::owner;

/// Opens a free packet of the pool, whose times begin at `base_time`. False where none is free.
pub fn open(location: &mut Location, base_time: u64) -> bool {
    let Some(region) = process::region() else {
        return false;
    };
    let packets = region.packets();
    // From the one behind the last on: packets come back in the order in which they were sent.
    for i in 1..=packets {
        let index = (location.packet.slot_index() + i) % packets;
        let Some(slot) = region.slot(index) else {
            continue;
        };
        // The look first: a failing exchange would take the cache line from others.
        if slot.owner.load(Ordering::Relaxed) != owner::FREE || !slot.pass(owner::FREE, owner::RANK)
        {
            continue;
        }

        let sequence = location.status.packets.load(Ordering::Relaxed);
        // 0 while it is being opened: a reader that sees the old number before and after its copy
        // has the old contents, one that sees 0 or the new one throws its copy away.
        slot.sequence.store(0, Ordering::Release);
        fence(Ordering::Release);
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
        location.packet.open(slot, index);
        add(&location.status.packets, 1);
        location
            .status
            .open_slot
            .store(index as u32 + 1, Ordering::Relaxed);
        name_occupant(location);
        say_which_regions(location, base_time);
        slot.sequence.store(sequence + 1, Ordering::Release);
        return true;
    }
    false
}

/// Says in the open packet whose calls follow, unless they are the location's first thread's. One
/// that is full has no more of them.
pub fn name_occupant(location: &mut Location) {
    if location.occupant != 0 && location.packet.has_room(0) {
        // SAFETY: there is room for a call, which takes more.
        let out = unsafe {
            let out = location.packet.out();
            location.encoder.occupant(out, location.occupant)
        };
        location.packet.commit(out, 0);
    }
}

/// Says in the packet that has just been opened which of the program's regions are open, so that
/// its calls have theirs.
fn say_which_regions(location: &mut Location, base_time: u64) {
    location.regions.is_told = false;
    let is_wanted = location.control.without_regions.load(Ordering::Relaxed) == 0;
    if location.regions.depth != 0 && is_wanted {
        let Location {
            regions,
            encoder,
            packet,
            ..
        } = location;
        regions.tell(encoder, packet, base_time);
    }
}

/// Whether so many packets are free that regions may take one, too: MPI calls need some.
pub fn has_to_spare() -> bool {
    let Some(region) = process::region() else {
        return false;
    };
    let is_free = |index: &usize| {
        let slot = region.slot(*index);
        slot.is_some_and(|slot| slot.owner.load(Ordering::Relaxed) == owner::FREE)
    };
    let packets = region.packets();
    (0..packets).filter(is_free).count() > packets / PACKETS_FOR_CALLS_PART
}

/// Closes the open packet: sends it where this thread may call MPI, else leaves it for the place.
pub fn close(location: &mut Location) {
    let Some(slot) = location.packet.take() else {
        return;
    };
    location.status.open_slot.store(0, Ordering::Relaxed);
    slot.last_time
        .store(location.encoder.time(), Ordering::Relaxed);

    // What the place has taken from shared memory meanwhile need not be sent.
    let written = location.packet.written();
    let taken_already = slot.taken.load(Ordering::Acquire) as usize >= written;
    if taken_already || !location.may_call_mpi() || !send(location, slot, written) {
        leave_for_place(slot, owner::RANK);
    }
    doorbell::ring_if_short();
}

/// Leaves the open packet of a thread that has ended, and makes no calls of its own any more, to
/// the place.
pub fn leave_behind(location: &mut Location) {
    if !process::observing() {
        return;
    }
    let Some(slot) = location.packet.take() else {
        return;
    };
    location.status.open_slot.store(0, Ordering::Relaxed);
    slot.last_time
        .store(location.encoder.time(), Ordering::Relaxed);
    leave_for_place(slot, owner::RANK);
    doorbell::ring_if_short();
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
