//! The tool place's role in the process loop: receives packets, commands and peers' messages.

use crate::outgoing::Outgoing;
use crate::place::Place;
use crate::time_point::Now;
use invivo_mpi_link::Transport;
use invivo_mpi_link::bell;
use invivo_mpi_link::idle::Pace;
use invivo_mpi_link::panics::PanicGuard;
use invivo_mpi_link::runtime::{Exit, Role};
use invivo_proto::channel::{TAG_DOWN, TAG_PEER, TAG_PLACES, TAG_UP};
use invivo_proto::control::encode;
use invivo_proto::ids::WorldRank;
use invivo_tbon::latest::kind_of_up;
use rustix::event::PollFd;
use std::time::Duration;

/// Most messages of one tag that are received in one turn: some milliseconds of work when they have
/// their greatest length, so that a flood from one side delays neither commands nor packets.
const MESSAGES_PER_TURN: usize = 64;

/// A tool place on a transport.
pub struct PlaceRole {
    place: Place,
    parent: WorldRank,
    outgoing: Outgoing,
    now: fn() -> Now,
    /// Packets came in this turn: others may be on their way.
    has_packets: bool,
}

impl PlaceRole {
    /// A place below `parent`; `now` reads the node's clocks.
    pub fn new(place: Place, parent: WorldRank, now: fn() -> Now) -> PlaceRole {
        PlaceRole {
            place,
            parent,
            outgoing: Outgoing::default(),
            now,
            has_packets: false,
        }
    }
}

impl Role for PlaceRole {
    fn flush_max(&self) -> Duration {
        // No flush: at its exit the root has all that it needs of a place, or is lost.
        Duration::ZERO
    }

    fn receive<T: Transport>(
        &mut self,
        transport: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error> {
        if guard.panics() != 0 {
            // A panic may leave records and analyses half updated: nothing of them is trusted any
            // more.
            self.place.lose((self.now)());
        }

        let mut worked = false;
        self.has_packets = false;
        // Until the root has said how much memory there is for records, packets stay in MPI's
        // buffers.
        if self.place.is_ready() {
            let packets = transport.packets(|from, message| {
                guard.run(|| self.place.packet(from, message));
            })?;
            self.has_packets = packets != 0;
            worked |= self.has_packets;
        }

        // Before queries, so that an answer covers the messages that were sent before the query.
        for _ in 0..MESSAGES_PER_TURN {
            // Unread messages keep their senders' credits: other places hold back, nothing is lost.
            if !self.place.hears_peers() {
                break;
            }
            let Some(message) = transport.receive(TAG_PEER)? else {
                break;
            };
            worked = true;
            guard.run(|| self.place.peer(message.from, &message.bytes));
        }
        // Where ranks have their places by arithmetic nobody asks, and nobody looks for it.
        let asks = usize::from(self.place.has_directory());
        for _ in 0..MESSAGES_PER_TURN * asks {
            let Some(message) = transport.receive(TAG_PLACES)? else {
                break;
            };
            worked = true;
            guard.run(|| self.place.places(message.from, &message.bytes));
        }
        for _ in 0..MESSAGES_PER_TURN {
            let Some(message) = transport.receive(TAG_DOWN)? else {
                break;
            };
            worked = true;
            // Only the parent may send on this tag; anything else is dropped.
            if message.from == self.parent {
                guard.run(|| self.place.down((self.now)(), &message.bytes));
            }
        }
        Ok(worked)
    }

    fn end_asked(&mut self, guard: &mut PanicGuard) {
        guard.run(|| self.place.end_asked());
    }

    fn tick<T: Transport>(&mut self, _: &T, guard: &mut PanicGuard) -> bool {
        guard.run(|| self.place.step((self.now)())).unwrap_or(true)
    }

    fn send<T: Transport>(
        &mut self,
        transport: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error> {
        let mut worked = false;
        let to_peers = guard.run(|| {
            let is_free = |to| transport.is_free(to, TAG_PEER);
            self.place.take_peers((self.now)(), is_free)
        });
        for (to, bytes) in to_peers.unwrap_or_default() {
            worked = true;
            transport.send_latest(to, TAG_PEER, None, bytes)?;
        }

        for (to, bytes) in guard.run(|| self.place.take_places()).unwrap_or_default() {
            worked = true;
            // Each is said once.
            transport.send_surely(to, TAG_PLACES, bytes)?;
        }

        // Kept here until the transport accepts them: answers and acknowledgements are sent only
        // once.
        let mut is_awaited = false;
        for message in self.place.take_up() {
            worked = true;
            is_awaited |= kind_of_up(&message).is_none();
            // Results have a bounded size, so encoding fails only by a fault of ours; the root
            // reports this place as silent then.
            if let Ok(bytes) = encode(&message) {
                self.outgoing.push(kind_of_up(&message), bytes);
            }
        }
        self.outgoing
            .send(|kind, bytes| transport.send_latest(self.parent, TAG_UP, kind, bytes.to_vec()))?;
        if is_awaited {
            self.place.parent_pid().into_iter().for_each(bell::ring);
        }
        Ok(worked)
    }

    fn exit(&self) -> Option<Exit> {
        self.place.exit()
    }

    fn is_shut_down(&self) -> bool {
        self.place.is_over()
    }

    fn pace(&self) -> Pace {
        match self.has_packets {
            true => Pace::Alert,
            false => self.place.pace((self.now)()),
        }
    }

    fn ask_to_be_woken(&mut self) -> bool {
        self.place.ask_to_be_woken()
    }

    fn descriptors(&self) -> Vec<PollFd<'_>> {
        self.place.poll_fds()
    }

    fn descriptors_ready(&mut self, guard: &mut PanicGuard) -> bool {
        let polled = guard.run(|| self.place.poll_supervisors((self.now)()));
        polled.unwrap_or(true)
    }
}
