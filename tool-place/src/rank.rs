//! One rank as its place sees it: its memory, its locations, and how far each of them is.
//!
//! Records come as packets over MPI. What is late, was left, or belongs to a rank that has ended is taken from
//! shared memory. Nothing here waits: everything is a look at how things stand now.

use crate::analyses::Analyses;
use crate::definitions;
use crate::intake::Piece;
use crate::location::{Both, Budget, Location, Store};
use crate::memory::{Memory, Slot};
use crate::notes::{Notes, Trouble};
use invivo_mpi_link::clock::NodeClock;
use invivo_proto::control::results::{Coverage, Ledger, RankState, RankStatus};
use invivo_proto::ids::{Rank, RegionId};
use invivo_proto::packet::Header;
use invivo_proto::record::RecordError;
use invivo_proto::shm::{LOCATIONS_MAX, PACKETS_DEFAULT, Status, inside, owner, phase};
use std::sync::atomic::Ordering;

/// The latency bound: what a packet holds is looked at no later than this after it was recorded. A tenth of a
/// second is what a screen shows; a shorter bound would disturb the writer's cache lines more often.
pub const LATENCY_NS: u64 = 100_000_000;
/// A packet that others have overtaken and that is nowhere to be seen is lost after so long. Its transfer may
/// stand still while its rank computes; ten seconds without any MPI call and with a packet on its way are rare,
/// and cost no more than that packet.
pub const MISSING_NS: u64 = 10_000_000_000;
/// The same once the rank has ended: nothing of it is on its way but what is already here.
pub const MISSING_AFTER_END_NS: u64 = 1_000_000_000;

/// What every rank's records go through.
pub struct Feed {
    /// The analyses.
    pub analyses: Analyses,
    /// Memory for buffers.
    pub budget: Budget,
    /// What went wrong.
    pub notes: Notes,
    /// The latency bound in ticks.
    pub latency_ticks: u64,
}

/// How eagerly shared memory is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eagerness {
    /// What is late or was left.
    Late,
    /// Everything: the rank has ended, or drains.
    All,
}

/// See the module's head.
pub struct RankRecords {
    rank: Rank,
    memory: Option<Memory>,
    locations: Vec<Location>,
    left_packets: u64,
    packets_refused: u64,
    bytes: Vec<u8>,
}

impl RankRecords {
    /// A rank that has not shown itself.
    pub fn new(rank: Rank) -> RankRecords {
        RankRecords {
            rank,
            memory: None,
            locations: Vec::new(),
            left_packets: 0,
            packets_refused: 0,
            bytes: Vec::new(),
        }
    }

    /// Its memory is here.
    pub fn attach(&mut self, memory: Memory) {
        self.memory = Some(memory);
    }

    /// The memory.
    pub fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
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
                    "rank {rank}: packet of thread {thread}, at most {LOCATIONS_MAX} are allowed: refused"
                )
            });
            return;
        }
        // Definitions went into the ring before the records that mean them.
        self.define(feed);
        self.location(thread, feed);
        let location = &mut self.locations[thread];
        if header.losses.entered >= location.losses.entered {
            location.losses = header.losses;
        }
        let mut sink = Both {
            store: &mut location.store,
            analyses: feed.analyses.sink(self.rank),
        };
        let read = location.intake.packet(header, payload, &mut sink);
        self.told(read, feed);
    }

    /// Reads the definitions that came.
    pub fn define(&mut self, feed: &mut Feed) -> bool {
        let Some(memory) = &self.memory else { return false };
        let rank = self.rank;
        if memory.definitions(&mut self.bytes).is_none() {
            feed.notes.add(Trouble::Definition, || {
                format!("rank {rank}: its definition channel is broken")
            });
        }
        for entry in definitions::entries(&self.bytes) {
            if let Err(error) = entry.and_then(|definition| feed.analyses.define(rank, &definition)) {
                feed.notes
                    .add(Trouble::Definition, || format!("rank {rank}: {error}"));
            }
        }
        !self.bytes.is_empty()
    }

    /// Whether the rank has left packets for us since the last look.
    pub fn has_left_packets(&self) -> bool {
        self.memory
            .as_ref()
            .is_some_and(|memory| memory.page().left_packets.load(Ordering::Acquire) != self.left_packets)
    }

    /// Takes from shared memory what is there for us. Whether there was something.
    pub fn peek(&mut self, now_ns: u64, now_ticks: u64, eagerness: Eagerness, feed: &mut Feed) -> bool {
        let Some(memory) = &self.memory else { return false };
        self.left_packets = memory.page().left_packets.load(Ordering::Acquire);
        let mut slots: Vec<Slot> = slots(memory).collect();
        slots.sort_unstable_by_key(|slot| (slot.location, slot.sequence));
        let mut took = self.define(feed);
        for slot in &slots {
            took |= self.peek_slot(slot, now_ticks, eagerness, feed);
        }
        self.give_up_missing(now_ns, &slots, eagerness, feed);
        took
    }

    fn peek_slot(&mut self, slot: &Slot, now_ticks: u64, eagerness: Eagerness, feed: &mut Feed) -> bool {
        let thread = usize::from(slot.location);
        if thread >= LOCATIONS_MAX {
            return false;
        }
        self.location(thread, feed);
        let Some(memory) = &self.memory else { return false };
        let location = &mut self.locations[thread];
        let (next, at) = location.intake.wants();
        if slot.sequence < next && slot.owner == owner::PLACE {
            memory.free(slot);
        }
        if slot.sequence != next {
            return false;
        }
        let oldest = location.intake.taken_until().unwrap_or(0).max(slot.first_time);
        let late = now_ticks.saturating_sub(oldest) > feed.latency_ticks;
        let wanted =
            slot.owner == owner::PLACE || late || eagerness == Eagerness::All || location.intake.has_gap();
        let closed = slot.owner != owner::RANK;
        if !wanted || (slot.committed <= at && !closed) || !memory.copy(slot, at, &mut self.bytes) {
            return false;
        }
        let piece = Piece {
            sequence: slot.sequence,
            first_time: slot.first_time,
            next_request: slot.next_request,
            records: slot.records,
            bytes: &self.bytes,
            closed,
        };
        let mut sink = Both {
            store: &mut location.store,
            analyses: feed.analyses.sink(self.rank),
        };
        let read = location.intake.piece(&piece, &mut sink);
        memory.mark_taken(slot);
        if slot.owner == owner::PLACE {
            memory.free(slot);
        }
        self.told(read, feed);
        true
    }

    /// Goes on without packets that are nowhere.
    fn give_up_missing(&mut self, now_ns: u64, slots: &[Slot], eagerness: Eagerness, feed: &mut Feed) {
        let ended = eagerness == Eagerness::All;
        let patience_ns = if ended { MISSING_AFTER_END_NS } else { MISSING_NS };
        for thread in 0..self.locations.len() {
            let opened = self.opened(thread);
            let location = &mut self.locations[thread];
            let (next, _) = location.intake.wants();
            let of_location = || slots.iter().filter(|slot| usize::from(slot.location) == thread);
            let overtaken = location.intake.has_gap()
                || of_location().any(|slot| slot.sequence > next)
                || (ended && next < opened);
            if !overtaken || of_location().any(|slot| slot.sequence == next) {
                location.missing_since_ns = None;
                continue;
            }
            let since = *location.missing_since_ns.get_or_insert(now_ns);
            if now_ns.saturating_sub(since) <= patience_ns {
                continue;
            }
            location.missing_since_ns = None;
            let mut sink = Both {
                store: &mut location.store,
                analyses: feed.analyses.sink(self.rank),
            };
            let read = location.intake.give_up(&mut sink);
            let rank = self.rank;
            feed.notes.add(Trouble::LostPacket, || {
                format!(
                    "rank {rank}, thread {thread}: packet {next} never came; its records count as dropped"
                )
            });
            self.told(read, feed);
        }
    }

    /// Whether everything that the rank, which has ended, recorded is taken.
    pub fn is_taken(&self) -> bool {
        let Some(memory) = &self.memory else { return true };
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
            let last = || {
                let mut slots = slots.iter().filter(|slot| usize::from(slot.location) == thread);
                slots.any(|slot| slot.sequence == next && slot.owner == owner::RANK && slot.committed <= at)
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

    /// Adds this rank's share to how much of the truth an answer is.
    pub fn add_coverage(&self, now_ticks: u64, duration_ns: impl Fn(u64) -> u64, coverage: &mut Coverage) {
        coverage.ranks += 1;
        coverage.packets_refused += self.packets_refused;
        for location in &self.locations {
            let counts = location.intake.counts();
            coverage.packets_mpi += counts.packets_mpi;
            coverage.packets_shm += counts.packets_shm;
            coverage.packets_refused += counts.packets_refused;
            coverage.payload_bytes += counts.payload_bytes;
            coverage.buffer_bytes += location.buffer_bytes();
        }
        let Some(memory) = &self.memory else { return };
        coverage.ranks_reporting += u32::from(memory.page().phase.load(Ordering::Relaxed) != phase::SILENT);
        for status in memory.locations() {
            let samples = status.overhead_samples.load(Ordering::Relaxed);
            let ticks = status.overhead_ticks.load(Ordering::Relaxed);
            let entered = status.entered.load(Ordering::Relaxed);
            if samples != 0 {
                let scaled = u128::from(ticks) * u128::from(entered) / u128::from(samples);
                coverage.overhead_ns += duration_ns(u64::try_from(scaled).unwrap_or(u64::MAX));
            }
        }
        for slot in slots(memory) {
            let Some(location) = self.locations.get(usize::from(slot.location)) else {
                continue;
            };
            let (next, at) = location.intake.wants();
            if slot.sequence > next || (slot.sequence == next && slot.committed > at) {
                let taken_until = location
                    .intake
                    .taken_until()
                    .filter(|_| slot.sequence == next)
                    .unwrap_or(0);
                let age = now_ticks.saturating_sub(taken_until.max(slot.first_time));
                coverage.lag_ns = coverage.lag_ns.max(duration_ns(age));
            }
        }
    }

    /// Where the rank's records are, each term counted by itself.
    pub fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::default();
        let slots: Vec<Slot> = self.memory.iter().flat_map(slots).collect();
        let mut lost = false;
        for (thread, location) in self.locations.iter().enumerate() {
            let counts = location.intake.counts();
            lost |= counts.lost != 0;
            let there = slots.iter().filter(|slot| usize::from(slot.location) == thread);
            ledger.in_flight += location
                .intake
                .in_flight(there.map(|slot| (slot.sequence, slot.records)));
            ledger.dropped_by_place += counts.unreadable;
            match &location.store {
                Store::Buffer(buffer) => {
                    let stored = buffer.ledger();
                    ledger.kept += stored.kept;
                    ledger.reduced += stored.reduced;
                    ledger.reset += stored.reset;
                }
                Store::Nowhere(calls) => ledger.dropped_by_place += calls,
            }
            if self.memory.is_none() {
                ledger.entered += location.losses.entered;
                add(&mut ledger.dropped, location.losses.dropped);
            }
        }
        if let Some(memory) = &self.memory {
            // All pages: the last is that of threads without a location.
            for (thread, status) in memory.page().status.iter().enumerate() {
                ledger.entered += status.entered.load(Ordering::Acquire);
                add(
                    &mut ledger.dropped,
                    status
                        .dropped
                        .each_ref()
                        .map(|dropped| dropped.load(Ordering::Relaxed)),
                );
                let last_begin = self
                    .locations
                    .get(thread)
                    .and_then(|location| location.intake.last_begin());
                ledger.open += u64::from(is_open(status, last_begin));
            }
        }
        if lost {
            // What a packet held that never came can only be told from what is missing.
            let Ledger {
                entered,
                open,
                in_flight,
                kept,
                reduced,
                dropped,
                dropped_by_place,
                reset,
            } = ledger;
            let told =
                open + in_flight + kept + reduced + dropped.iter().sum::<u64>() + dropped_by_place + reset;
            ledger.dropped_by_place += entered.saturating_sub(told);
        }
        ledger
    }

    /// What the rank's first thread is doing, its time in MPI being that of the present call alone.
    pub fn status(&self, now_ticks: u64, clock: &NodeClock) -> RankStatus {
        let mut line = RankStatus {
            rank: self.rank,
            state: RankState::Starting,
            region: RegionId(0),
            since_ns: 0,
            entered: self.ledger().entered,
            mpi_ns: 0,
        };
        let Some(page) = self.memory.as_ref().map(Memory::page) else {
            return line;
        };
        if page.phase.load(Ordering::Acquire) == phase::STARTING {
            return line;
        }
        let status = &page.status[0];
        line.region = region(status);
        let last_end = self
            .locations
            .first()
            .and_then(|location| location.intake.last_end());
        line.state = match status.inside.load(Ordering::Acquire) {
            inside::MPI => RankState::InMpi,
            inside::HELD_AT_ENTER | inside::HELD_AT_LEAVE => RankState::Paused,
            _ => RankState::Computing,
        };
        let entered_at = status.entered_at.load(Ordering::Relaxed);
        let since = if line.state == RankState::InMpi {
            entered_at
        } else {
            entered_at.max(last_end.unwrap_or(0))
        };
        line.since_ns = clock.duration_ns(now_ticks.saturating_sub(since));
        if line.state == RankState::InMpi {
            line.mpi_ns = line.since_ns;
        }
        line
    }

    /// The call that the rank's first thread is in.
    pub fn inside(&self) -> Option<RegionId> {
        let status = self.memory.as_ref()?.page().status.first()?;
        let is_inside = status.inside.load(Ordering::Acquire) == inside::MPI;
        is_inside.then(|| region(status))
    }

    /// The thread's location, made if it is new.
    fn location(&mut self, thread: usize, feed: &mut Feed) {
        let packets = self.memory.as_ref().map_or(PACKETS_DEFAULT, Memory::packets);
        let rank = self.rank;
        while self.locations.len() <= thread {
            let location = Location::new(packets, &mut feed.budget);
            if matches!(location.store, Store::Nowhere(_)) {
                feed.notes.add(Trouble::Budget, || {
                    format!(
                        "rank {rank}: the memory for buffers is spent; its calls are analysed and not kept \
                         (--budget asks for more)"
                    )
                });
            }
            self.locations.push(location);
        }
    }

    fn told(&mut self, read: Result<(), RecordError>, feed: &mut Feed) {
        if let Err(error) = read {
            let rank = self.rank;
            feed.notes.add(Trouble::Record, || {
                format!("rank {rank}: {error}; the rest of the packet is dropped")
            });
        }
    }
}

/// Whether a call was entered and not left. The page says so, unless the call that it names has been recorded
/// already: then the thread is between its record and its way out, or in a call that is not recorded.
fn is_open(status: &Status, last_begin: Option<u64>) -> bool {
    status.inside.load(Ordering::Acquire) == inside::MPI
        && status.entered.load(Ordering::Relaxed) != 0
        && last_begin != Some(status.entered_at.load(Ordering::Relaxed))
}

/// The region on a status page; a number that is none is no function.
pub fn region(status: &Status) -> RegionId {
    RegionId(u16::try_from(status.region.load(Ordering::Relaxed)).unwrap_or(0))
}

fn slots(memory: &Memory) -> impl Iterator<Item = Slot> + '_ {
    (0..memory.packets()).filter_map(|index| memory.slot(index))
}

fn add(into: &mut [u64; 3], from: [u64; 3]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
}
