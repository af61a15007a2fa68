//! Collects the records of one rank, from packets over MPI and from its shared memory.
//!
//! Records normally come over MPI. What is late, was left, or belongs to a rank that has ended is
//! taken from shared memory. Nothing here waits.

mod buffer_reuse;
mod buffers;
pub mod kept_profile;
mod leavings;
mod ledger_report;
pub mod observed;
mod open_calls;
mod salvage;
mod sampled;
pub mod saved;
pub mod timeline;
mod trouble;

pub use buffers::CONTEXT_TAKES;

use crate::analyses::Analyses;
use crate::cuts::Cuts;
use crate::definitions;
use crate::intake::Piece;
use crate::location::{Both, Location, Missing};
use crate::memory::{Memory, Slot};
use crate::notes::{Notes, Trouble};
use crate::samples::Samples;
use crate::store::Budget;
use crate::tap::Taps;
use invivo_proto::ids::{LocationId, Rank};
use invivo_proto::packet::Header;
use invivo_proto::shm::{LOCATIONS_MAX, PACKETS_DEFAULT, owner};
use leavings::Leavings;
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// A packet that others have overtaken counts as lost after this time. Its transfer may make no
/// progress while its rank computes; ten seconds without any MPI call and with a
/// packet on its way are rare, and cost no more than that packet.
pub const MISSING_NS: u64 = 10_000_000_000;
/// The same once the rank has ended: nothing of it is on its way but what is already here.
pub const MISSING_AFTER_END_NS: u64 = 1_000_000_000;

/// What every rank's records go through.
pub struct Feed {
    /// The analyses.
    pub analyses: Analyses,
    /// What is recorded, and where it is cut.
    pub cuts: Cuts,
    /// Memory for buffers.
    pub budget: Budget,
    /// What went wrong.
    pub notes: Notes,
    /// The latency bound in ticks.
    pub latency_ticks: u64,
    /// Where all that is taken is written as well, for tests.
    pub taps: Option<Taps>,
    /// All of it has been given up, and nothing is taken any more.
    pub is_lost: bool,
}

/// How eagerly shared memory is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eagerness {
    /// What is late or was left.
    Late,
    /// Everything that is there: a cut has passed.
    Now,
    /// Everything: the rank has ended, or drains.
    All,
}

/// The records of one rank.
pub struct RankRecords {
    rank: Rank,
    memory: Option<Memory>,
    locations: Vec<Location>,
    left_packets: u64,
    packets_refused: u64,
    bytes: Vec<u8>,
    is_lost: bool,
    /// What a place that died has left is taken, and nothing else.
    leavings: Option<Leavings>,
    /// What its calls and its regions cost it, in ns, as it was told last: an estimate that falls
    /// is none of what was spent.
    cost_ns: Cell<(u64, u64)>,
    samples: Samples,
}

impl RankRecords {
    /// A rank whose memory is not attached yet.
    pub fn new(rank: Rank) -> RankRecords {
        RankRecords {
            rank,
            memory: None,
            locations: Vec::new(),
            left_packets: 0,
            packets_refused: 0,
            bytes: Vec::new(),
            is_lost: false,
            leavings: None,
            cost_ns: Cell::default(),
            samples: Samples::default(),
        }
    }

    /// The same rank, of which nothing is known but what its memory says: all that it recorded is
    /// lost.
    pub fn lost(self) -> RankRecords {
        RankRecords {
            memory: self.memory,
            is_lost: true,
            ..RankRecords::new(self.rank)
        }
    }

    /// Which rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Its supervisor attached, with its memory.
    pub fn attach(&mut self, memory: Memory) {
        self.memory = Some(memory);
    }

    /// Makes room for the rank's first thread, which every rank has, before its records come: the
    /// buffer's memory takes some milliseconds.
    pub fn prepare(&mut self, feed: &mut Feed) {
        if self.locations.is_empty() && !feed.is_lost {
            self.location(0, feed);
        }
    }

    /// The memory.
    pub fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    /// Forgets what is kept, if a reset has taken effect that was not made here.
    pub fn forget_to(&mut self, resets: u64) {
        for location in &mut self.locations {
            location.forget_to(resets);
        }
    }

    /// Counts a message of this rank's that was no packet.
    pub fn refuse(&mut self) {
        self.packets_refused += 1;
    }

    /// A packet came over MPI.
    pub fn packet(&mut self, header: &Header, payload: &[u8], feed: &mut Feed) {
        let thread = usize::from(header.location.thread);
        if thread >= LOCATIONS_MAX {
            self.refuse();
            let rank = self.rank;
            feed.notes.add(Trouble::Packet, || {
                format!(
                    "rank {rank}: packet of thread {thread}, at most {LOCATIONS_MAX} are \
                     allowed: refused"
                )
            });
            return;
        }
        // Definitions first: the rank wrote them into the ring before the records that refer to
        // them.
        self.define(feed);
        self.location(thread, feed);
        let location = &mut self.locations[thread];
        // Packets arrive out of order; of their ledgers the newest counts.
        if header.losses.entered >= location.losses.entered {
            location.losses = header.losses;
        }
        self.notice_losses(thread, header.last_time, feed);
        let location = &mut self.locations[thread];
        let mut sink = Both {
            cuts: &mut feed.cuts,
            cut_off: &mut location.cut_off,
            store: &mut location.store,
            analyses: feed.analyses.sink(id(self.rank, thread)),
        };

        let (missing, lost) = (location.intake.wants().0, location.intake.counts().lost);
        let read = location.intake.packet(header, payload, &mut sink);
        if location.intake.counts().lost != lost {
            self.tell_lost(thread, missing, feed);
        }
        self.tell(read, feed);
    }

    /// Reads the definitions that came.
    pub fn define(&mut self, feed: &mut Feed) -> bool {
        let Some(memory) = &self.memory else {
            return false;
        };
        let rank = self.rank;
        let read = match &mut self.leavings {
            Some(leavings) => leavings.definitions(memory, &mut self.bytes),
            None => memory.definitions(&mut self.bytes),
        };
        if read.is_none() {
            feed.notes.add(Trouble::Definition, || {
                format!("rank {rank}: its definition channel is broken")
            });
        }
        // The ring was emptied above all the same: the rank waits for room in it.
        if feed.is_lost {
            return false;
        }
        for entry in definitions::entries(&self.bytes) {
            if let Err(error) = entry.and_then(|definition| feed.analyses.define(rank, &definition))
            {
                feed.notes
                    .add(Trouble::Definition, || format!("rank {rank}: {error}"));
            }
        }
        !self.bytes.is_empty()
    }

    /// Whether the rank has left packets for us since the last look.
    pub fn has_left_packets(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| {
            memory.page().left_packets.load(Ordering::Acquire) != self.left_packets
        })
    }

    /// Takes from shared memory what is late or was left for us. Whether there was anything.
    pub fn peek(
        &mut self,
        now_ns: u64,
        now_ticks: u64,
        eagerness: Eagerness,
        feed: &mut Feed,
    ) -> bool {
        let Some(memory) = &self.memory else {
            return false;
        };
        self.left_packets = memory.page().left_packets.load(Ordering::Acquire);
        let mut slots: Vec<Slot> = match self.leavings {
            Some(_) => leavings::slots(memory).collect(),
            None => slots(memory).collect(),
        };
        // In order, as a location takes only the packet that it wants next.
        slots.sort_unstable_by_key(|slot| (slot.location, slot.sequence));
        // Behind the slots' snapshot: whatever these records refer to is in the ring by now.
        let mut took = self.define(feed);
        for thread in 0..self.locations.len() {
            self.notice_losses(thread, now_ticks, feed);
        }
        for slot in &slots {
            took |= self.peek_slot(slot, now_ticks, eagerness, feed);
        }
        match self.leavings {
            Some(_) => self.salvaged(&slots, took),
            None => self.give_up_missing(now_ns, &slots, eagerness, feed),
        }
        took
    }

    fn peek_slot(
        &mut self,
        slot: &Slot,
        now_ticks: u64,
        eagerness: Eagerness,
        feed: &mut Feed,
    ) -> bool {
        let thread = usize::from(slot.location);
        if thread >= LOCATIONS_MAX {
            return false;
        }
        self.location(thread, feed);
        let Some(memory) = &self.memory else {
            return false;
        };
        let location = &mut self.locations[thread];
        if self.leavings.is_some() {
            location.intake.skip_to(slot.sequence);
        }

        let (next, at) = location.intake.wants();
        // Left for us, but its records are taken already or were given up: only the slot is wanted
        // back.
        if slot.sequence < next && slot.owner == owner::PLACE {
            memory.free(slot);
        }
        if slot.sequence != next {
            return false;
        }

        // The age of the oldest call that has not been taken: what the latency bound is about.
        let oldest = location
            .intake
            .taken_until()
            .unwrap_or(0)
            .max(slot.first_time);
        let late = now_ticks.saturating_sub(oldest) > feed.latency_ticks;
        let wanted = slot.owner == owner::PLACE
            || late
            || eagerness != Eagerness::Late
            || location.intake.has_gap();
        // Only the rank's thread appends to a packet; in other hands it is complete.
        let closed = slot.owner != owner::RANK;
        if !wanted || (slot.committed <= at && !closed) || !memory.copy(slot, at, &mut self.bytes) {
            return false;
        }

        let piece = Piece {
            sequence: slot.sequence,
            first_time: slot.first_time,
            next_request: slot.next_request,
            epoch: slot.epoch,
            records: slot.records,
            bytes: &self.bytes,
            closed,
        };
        let mut sink = Both {
            cuts: &mut feed.cuts,
            cut_off: &mut location.cut_off,
            store: &mut location.store,
            analyses: feed.analyses.sink(id(self.rank, thread)),
        };

        let read = location.intake.piece(&piece, &mut sink);
        // After the records are stored: the rank need not send what is marked here.
        memory.mark_taken(slot);
        if slot.owner == owner::PLACE {
            memory.free(slot);
        }
        self.tell(read, feed);
        true
    }

    /// Goes on without packets that are nowhere.
    fn give_up_missing(
        &mut self,
        now_ns: u64,
        slots: &[Slot],
        eagerness: Eagerness,
        feed: &mut Feed,
    ) {
        let ended = eagerness == Eagerness::All;
        let patience_ns = if ended {
            MISSING_AFTER_END_NS
        } else {
            MISSING_NS
        };
        for thread in 0..self.locations.len() {
            let opened = self.opened(thread);
            let location = &mut self.locations[thread];
            let (next, _) = location.intake.wants();
            let of_location = || {
                slots
                    .iter()
                    .filter(|slot| usize::from(slot.location) == thread)
            };

            // After the end of the rank nothing can overtake: there the count of opened packets
            // shows what is missing.
            let overtaken = location.intake.has_gap()
                || of_location().any(|slot| slot.sequence > next)
                || (ended && next < opened);
            if !overtaken || of_location().any(|slot| slot.sequence == next) {
                location.missing = None;
                continue;
            }

            let missing = location
                .missing
                .get_or_insert_with(|| Missing::since(now_ns));
            if missing.look(now_ns) <= patience_ns {
                continue;
            }
            location.missing = None;
            let mut sink = Both {
                cuts: &mut feed.cuts,
                cut_off: &mut location.cut_off,
                store: &mut location.store,
                analyses: feed.analyses.sink(id(self.rank, thread)),
            };

            let read = location.intake.give_up(&mut sink);
            let rank = self.rank;
            feed.notes.add(Trouble::LostPacket, || {
                format!(
                    "rank {rank}, thread {thread}: packet {next} never came; its records count \
                     as dropped"
                )
            });
            self.tell(read, feed);
        }
    }

    /// Whether everything that the rank, which has ended, recorded is taken.
    pub fn is_taken(&self) -> bool {
        let Some(memory) = &self.memory else {
            return true;
        };
        if let Some(leavings) = &self.leavings {
            return leavings.are_taken();
        }
        let ring = &memory.page().ring;
        if ring.head.load(Ordering::Acquire) != ring.tail.load(Ordering::Relaxed) {
            return false;
        }
        let slots: Vec<Slot> = slots(memory).collect();
        (0..memory.locations().count().max(self.locations.len())).all(|thread| {
            let opened = self.opened(thread);
            let (next, at) = self
                .locations
                .get(thread)
                .map_or((0, 0), |location| location.intake.wants());
            // A rank that ended may leave its last packet open, with nothing in it that is not
            // taken.
            let last = || {
                let mut slots = slots
                    .iter()
                    .filter(|slot| usize::from(slot.location) == thread);
                slots.any(|slot| {
                    slot.sequence == next && slot.owner == owner::RANK && slot.committed <= at
                })
            };
            next >= opened || (next + 1 == opened && last())
        })
    }

    /// Packets that a location has opened so far.
    fn opened(&self, thread: usize) -> u64 {
        let status = self
            .memory
            .as_ref()
            .and_then(|memory| memory.page().status.get(thread));
        status.map_or(0, |status| status.packets.load(Ordering::Acquire))
    }

    /// The thread's location, made if it is new.
    fn location(&mut self, thread: usize, feed: &mut Feed) {
        let packets = self
            .memory
            .as_ref()
            .map_or(PACKETS_DEFAULT, Memory::packets);
        let rank = self.rank;
        while self.locations.len() <= thread {
            if feed.budget.is_spent() {
                self.recycle(feed);
            }
            let id = id(rank, self.locations.len());
            let location = Location::new(id, packets, &mut feed.budget, feed.taps.as_ref());
            if location.store.buffer().is_none() {
                feed.notes.add(Trouble::Budget, || {
                    format!(
                        "rank {rank}: the memory for buffers is spent; its calls are analysed and \
                         not kept (--budget asks for more, ulimit -v must allow it)"
                    )
                });
            }
            self.locations.push(location);
        }
    }
}

/// A thread's id: threads are few, see [`LOCATIONS_MAX`].
fn id(rank: Rank, thread: usize) -> LocationId {
    LocationId {
        rank,
        thread: thread as u16,
    }
}

fn slots(memory: &Memory) -> impl Iterator<Item = Slot> + '_ {
    (0..memory.packets()).filter_map(|index| memory.slot(index))
}

#[cfg(test)]
mod tests;
