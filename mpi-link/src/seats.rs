//! The roles of one process: each has a seat in the tree, and a transport of its own.
//!
//! ```text
//! role <-> Seat: addresses of members -+-> another role of this process: by memory
//!                                      '-> another process: world rank, and the layer in the tag
//! ```
//!
//! Roles speak to members of the tree by their addresses, and do not see in which process those
//! sit. Between roles of one process the same credits hold as between processes, so that whoever
//! does not read is waited for in the same way.

use crate::credit::{Account, Received};
use crate::{Message, Transport};
use invivo_proto::channel::{TAG_DOWN, TAG_PEER, TAG_PLACES, TAG_UP, tag_back, tag_of_layer};
use invivo_proto::ids::WorldRank;
use std::collections::{BTreeMap, VecDeque};

/// The sender of a message that no member of the tree can have sent.
pub const NOBODY: WorldRank = WorldRank(u32::MAX);

/// Which member of the tree sits in which process.
pub trait Seating {
    /// The process in which a member sits; nothing where there is no such member.
    fn process_of(&self, address: WorldRank) -> Option<WorldRank>;

    /// The member of this layer (1 the places) in a process.
    fn address(&self, process: WorldRank, layer: u32) -> Option<WorldRank>;
}

/// Every member is a process of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneEach;

impl Seating for OneEach {
    fn process_of(&self, address: WorldRank) -> Option<WorldRank> {
        Some(address)
    }

    fn address(&self, process: WorldRank, _: u32) -> Option<WorldRank> {
        Some(process)
    }
}

/// Messages to a seat of this process that it has not read, the oldest first, with their senders.
type Waiting = VecDeque<(WorldRank, Vec<u8>)>;

/// What goes between the roles of one process.
#[derive(Debug, Default)]
pub struct Loopback {
    /// Each role's side of its channels, by the role and the one at the other end.
    accounts: BTreeMap<(WorldRank, WorldRank), Account>,
    /// What has been sent, by the receiver and the tag, with the sender.
    sent: BTreeMap<(WorldRank, i32), Waiting>,
}

impl Loopback {
    /// A role's side of its channel to another one.
    fn account(&mut self, me: WorldRank, to: WorldRank) -> &mut Account {
        self.accounts.entry((me, to)).or_default()
    }

    /// Sends what an account allows.
    fn dispatch(&mut self, me: WorldRank, to: WorldRank, tag: i32) {
        while let Some(bytes) = self.account(me, to).next_to_send() {
            self.sent
                .entry((to, tag))
                .or_default()
                .push_back((me, bytes));
        }
    }

    fn receive(&mut self, me: WorldRank, tag: i32) -> Option<Message> {
        loop {
            let (from, bytes) = self.sent.get_mut(&(me, tag))?.pop_front()?;
            let received = self.account(me, from).receive(bytes);
            // What came may carry credits for messages that wait to go the other way.
            self.dispatch(me, from, tag_back(tag).unwrap_or(tag));
            match received {
                Received::Message(bytes) | Received::Malformed(bytes) => {
                    return Some(Message { from, bytes });
                }
                Received::Credits => {}
            }
        }
    }
}

/// A role's transport, for one turn.
pub struct Seat<'a, T, S> {
    pub(crate) transport: &'a mut T,
    pub(crate) loopback: &'a mut Loopback,
    pub(crate) seating: &'a S,
    /// The process.
    pub(crate) process: WorldRank,
    /// The role's own address.
    pub(crate) address: WorldRank,
    /// Its layer: 1 a place.
    pub(crate) layer: u32,
    /// Messages of this role that were not sent because the other side takes none.
    pub(crate) refused: &'a mut u64,
}

impl<T: Transport, S: Seating> Seat<'_, T, S> {
    /// Whether a member sits in this process.
    fn is_here(&self, address: WorldRank) -> bool {
        self.seating.process_of(address) == Some(self.process)
    }

    /// The process of another member. One that does not exist has no process either: what is sent
    /// there is sent nowhere.
    fn process_of(&self, address: WorldRank) -> WorldRank {
        self.seating.process_of(address).unwrap_or(address)
    }

    /// The tag of what this role sends.
    fn tag_to(&self, tag: i32) -> i32 {
        match tag {
            TAG_UP => tag_of_layer(tag, self.layer),
            TAG_DOWN => tag_of_layer(tag, self.layer.saturating_sub(1)),
            _ => tag,
        }
    }

    /// The tag of what this role receives, and the layer of those who send it.
    fn tag_from(&self, tag: i32) -> (i32, u32) {
        match tag {
            TAG_UP => {
                let below = self.layer.saturating_sub(1);
                (tag_of_layer(tag, below), below)
            }
            TAG_DOWN => (tag_of_layer(tag, self.layer), self.layer + 1),
            _ => (tag, self.layer),
        }
    }
}

impl<T: Transport, S: Seating> Transport for Seat<'_, T, S> {
    type Error = T::Error;

    fn packets(&mut self, sink: impl FnMut(WorldRank, Option<&[u8]>)) -> Result<usize, T::Error> {
        self.transport.packets(sink)
    }

    fn receive(&mut self, tag: i32) -> Result<Option<Message>, T::Error> {
        if let Some(message) = self.loopback.receive(self.address, tag) {
            return Ok(Some(message));
        }
        let (tag_there, layer) = self.tag_from(tag);
        let message = self.transport.receive(tag_there)?;
        Ok(message.map(|Message { from, bytes }| {
            let of_tree = matches!(tag, TAG_UP | TAG_DOWN | TAG_PEER | TAG_PLACES);
            let from = match of_tree {
                true => self.seating.address(from, layer).unwrap_or(NOBODY),
                false => from,
            };
            Message { from, bytes }
        }))
    }

    fn has_room(&self, to: WorldRank, tag: i32) -> bool {
        if self.is_here(to) {
            let account = self.loopback.accounts.get(&(self.address, to));
            return account.is_none_or(Account::has_room);
        }
        self.transport
            .has_room(self.process_of(to), self.tag_to(tag))
    }

    fn is_free(&self, to: WorldRank, tag: i32) -> bool {
        if self.is_here(to) {
            let account = self.loopback.accounts.get(&(self.address, to));
            return account.is_none_or(Account::is_free);
        }
        self.transport
            .is_free(self.process_of(to), self.tag_to(tag))
    }

    fn send_latest(
        &mut self,
        to: WorldRank,
        tag: i32,
        kind: Option<u8>,
        bytes: Vec<u8>,
    ) -> Result<bool, T::Error> {
        let taken = if self.is_here(to) {
            let taken = self.loopback.account(self.address, to).submit(kind, bytes);
            self.loopback.dispatch(self.address, to, tag);
            taken
        } else {
            let (process, tag) = (self.process_of(to), self.tag_to(tag));
            self.transport.send_latest(process, tag, kind, bytes)?
        };
        *self.refused += u64::from(!taken);
        Ok(taken)
    }

    fn send_surely(&mut self, to: WorldRank, tag: i32, bytes: Vec<u8>) -> Result<(), T::Error> {
        if !self.is_here(to) {
            let (process, tag) = (self.process_of(to), self.tag_to(tag));
            return self.transport.send_surely(process, tag, bytes);
        }
        self.loopback.account(self.address, to).submit_surely(bytes);
        self.loopback.dispatch(self.address, to, tag);
        Ok(())
    }

    fn progress(&mut self) -> Result<(), T::Error> {
        self.transport.progress()
    }

    fn refused_sends(&self) -> u64 {
        *self.refused
    }
}

#[cfg(test)]
mod tests;
