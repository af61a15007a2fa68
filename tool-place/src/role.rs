//! The role of a tool place on MPI: packets of its ranks, words of its parent and of other places.

use crate::outgoing::Outgoing;
use crate::place::Place;
use crate::time_point::Now;
use invivo_mpi_link::Transport;
use invivo_mpi_link::panics::PanicGuard;
use invivo_mpi_link::runtime::{Exit, Role};
use invivo_proto::channel::{TAG_DOWN, TAG_PEER, TAG_UP};
use invivo_proto::control::encode;
use invivo_proto::ids::WorldRank;
use invivo_tbon::latest::kind_of_up;
use rustix::event::PollFd;
use std::time::Duration;

/// Messages of one kind that are taken before the place looks after everything else: some
/// milliseconds' work when they are as long as they can be, so that no flood from one side keeps
/// commands, clocks and packets waiting.
const MESSAGES_PER_TURN: usize = 64;

/// A tool place on a transport.
pub struct PlaceRole {
    place: Place,
    parent: WorldRank,
    outgoing: Outgoing,
    now: fn() -> Now,
}

impl PlaceRole {
    /// A place below `parent`; `now` reads the node's clocks.
    pub fn new(place: Place, parent: WorldRank, now: fn() -> Now) -> PlaceRole {
        PlaceRole {
            place,
            parent,
            outgoing: Outgoing::default(),
            now,
        }
    }
}

impl Role for PlaceRole {
    // Whoever could wait for a place's last message has let it go by then.
    const FLUSH_MAX: Duration = Duration::ZERO;

    fn receive<T: Transport>(
        &mut self,
        transport: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error> {
        if guard.panics() != 0 {
            // What a panic left half done may be wrong: nothing of it is trusted any more.
            self.place.lose((self.now)());
        }

        let mut worked = false;
        if self.place.is_ready() {
            let packets = transport.packets(|from, message| {
                guard.run(|| self.place.packet(from, message));
            })?;
            worked |= packets != 0;
        }

        // Before questions, so that answers know of what was sent before they were asked.
        for _ in 0..MESSAGES_PER_TURN {
            if !self.place.hears_peers() {
                break;
            }
            let Some(message) = transport.receive(TAG_PEER)? else {
                break;
            };
            worked = true;
            guard.run(|| self.place.peer(message.from, &message.bytes));
        }
        for _ in 0..MESSAGES_PER_TURN {
            let Some(message) = transport.receive(TAG_DOWN)? else {
                break;
            };
            worked = true;
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

        for message in self.place.take_up() {
            worked = true;
            // Results have a bounded size; what cannot be encoded is a fault that the root sees as
            // silence.
            if let Ok(bytes) = encode(&message) {
                self.outgoing.push(kind_of_up(&message), bytes);
            }
        }
        self.outgoing
            .send(|kind, bytes| transport.send_latest(self.parent, TAG_UP, kind, bytes.to_vec()))?;
        Ok(worked)
    }

    fn exit(&self) -> Option<Exit> {
        self.place.exit()
    }

    fn is_shut_down(&self) -> bool {
        self.place.is_over()
    }

    fn descriptors(&self) -> Vec<PollFd<'_>> {
        self.place.poll_fds()
    }

    fn descriptors_ready(&mut self, guard: &mut PanicGuard) -> bool {
        let polled = guard.run(|| self.place.poll_supervisors((self.now)()));
        polled.unwrap_or(true)
    }
}
