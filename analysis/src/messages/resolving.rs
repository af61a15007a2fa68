//! Finds the channels of endpoints, or lets them wait until these are known.

use super::Messages;
use super::counters::UnmatchedReason;
use super::endpoint::{Channel, Endpoint};
use super::marks::Side;
use super::posted::Pattern;
use super::unresolved::{Key, Unresolved};
use super::waiting::QueueNumber;
use crate::communicators::Communicators;
use invivo_proto::ids::Rank;

impl Messages {
    /// Finds the channel of an endpoint, or lets it wait until that is known. An endpoint is given
    /// on where it was made: a processor waits for what is copied right after it was written.
    #[inline]
    pub(super) fn resolve(
        &mut self,
        rank: Rank,
        with: &Pattern,
        side: Side,
        endpoint: &Endpoint,
        communicators: &Communicators,
    ) {
        let ways = self.numbers.index(rank).map(|at| &self.ranks[at].ways);
        match ways.and_then(|ways| ways.find(with, side, self.known())) {
            Some(queue) => self.meet(queue, side, endpoint),
            None => self.resolve_anew(rank, with, side, endpoint, communicators),
        }
    }

    /// What ways depend on.
    #[inline]
    fn known(&self) -> (u64, u64) {
        (self.matcher.renewed(), self.definitions)
    }

    /// The same where this way was not gone before.
    fn resolve_anew(
        &mut self,
        rank: Rank,
        with: &Pattern,
        side: Side,
        endpoint: &Endpoint,
        communicators: &Communicators,
    ) {
        let key = (rank, with.comm, with.peer);
        let tag = with.tag;
        // Later endpoints of the same key must not overtake one that still waits for its
        // definition.
        let channel = match self.unknown.waits(&key) {
            true => None,
            false => self.channel(communicators, key, tag, side),
        };
        let goes = channel.is_some_and(|channel| self.deliver(channel, side, endpoint));
        if let Some(channel) = channel
            && self.is_here(&channel, side)
            && let Some(at) = self.numbers.index(rank)
        {
            let queue = self.matcher.number(&channel);
            let known = self.known();
            self.ranks[at].ways.keep(with, side, known, queue);
        }
        if !goes {
            let endpoint = *endpoint;
            let unresolved = Unresolved {
                side,
                tag,
                endpoint,
            };
            self.wait(key, unresolved, communicators);
        }
    }

    /// Lets an endpoint wait for its channel, unless no definition will ever tell it.
    fn wait(&mut self, key: Key, one: Unresolved, communicators: &Communicators) {
        let reason = match communicators.is_outside(key.0, key.1) {
            true => UnmatchedReason::Outside,
            false if self.unknown.push(key, one) => return,
            false => UnmatchedReason::Unresolved,
        };
        self.counters.unmatched(&one.endpoint, reason);
    }

    /// Communicators or groups have been told. To be called before anything else happens.
    pub fn learn(&mut self) {
        self.definitions += 1;
    }

    /// Communicators or groups have been told: what waited for them goes on. To be called soon
    /// after.
    pub fn resolve_waiting(&mut self, communicators: &Communicators) {
        for key in self.unknown.keys() {
            for one in self.unknown.take(&key) {
                let channel = self.channel(communicators, key, one.tag, one.side);
                let goes = |channel| self.deliver(channel, one.side, &one.endpoint);
                if !channel.is_some_and(goes) {
                    self.wait(key, one, communicators);
                }
            }
        }
    }

    /// To its other endpoint, here or at another place. False where it is not known which place
    /// that is.
    #[inline]
    fn deliver(&mut self, channel: Channel, side: Side, endpoint: &Endpoint) -> bool {
        if self.is_here(&channel, side) {
            let queue = self.matcher.number(&channel);
            self.meet(queue, side, endpoint);
            return true;
        }
        let Some(place) = (self.place_of)(channel.destination) else {
            return false;
        };
        if !self.outbox.push(place, channel, endpoint) {
            self.counters.unmatched(endpoint, UnmatchedReason::Limit);
        }
        true
    }

    /// Whether the other endpoint comes here. A receive is always at the place of its own rank;
    /// only sends travel.
    #[inline]
    fn is_here(&self, channel: &Channel, side: Side) -> bool {
        side == Side::Receive || self.numbers.contains(channel.destination)
    }

    #[inline]
    pub(super) fn meet(&mut self, queue: QueueNumber, side: Side, endpoint: &Endpoint) {
        let receiver = self.matcher.channel(queue).destination;
        let lost_ns = self
            .numbers
            .index(receiver)
            .map_or(0, |at| self.ranks[at].lost_ns);
        self.matcher
            .meet(queue, side, endpoint, lost_ns, &mut self.counters);
    }

    /// The channel of a message with that tag.
    #[inline]
    fn channel(
        &self,
        known: &Communicators,
        (rank, comm, peer): Key,
        tag: i32,
        side: Side,
    ) -> Option<Channel> {
        let membership = known.membership(rank, comm)?;
        let (destination, comm, source) = match side {
            Side::Send => (
                known.peer(rank, comm, peer)?,
                membership.id,
                membership.rank,
            ),
            Side::Receive => (rank, membership.peers, u32::try_from(peer).ok()?),
        };
        // A rank beyond the job comes from a damaged definition; no place could take it.
        (destination.0 < self.job_ranks).then_some(Channel {
            destination,
            comm,
            source,
            tag,
        })
    }
}
