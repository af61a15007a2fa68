//! Matches the two endpoints of a message: each new endpoint with the first one that waits in its
//! channel.
//!
//! Endpoints whose other endpoint can never come are recognised here and given up; the head of
//! `messages.rs` says how, by what is known of time.

use super::counters::{Counters, UnmatchedReason};
use super::endpoint::{Channel, Endpoint};
use super::marks::Side;
use super::waiting::{QueueNumber, Verdict, Waiting};
use alloc::vec::Vec;

/// Endpoints that wait at one place for their other endpoints: seconds of a busy place. When more
/// would wait, the older half of them is given up.
pub const WAITING_MAX: usize = 1 << 18;
/// The same for the blocks of memory that they lie in, one for each channel at least: with the
/// table of channels some 80 MB.
pub const BLOCKS_MAX: usize = 1 << 17;

#[derive(Clone, Debug, Default)]
pub struct Matcher {
    waiting: Waiting,
    /// Receives that ended by then may have been given up, so sends that began by then are.
    given_up_ns: u64,
}

impl Matcher {
    /// The endpoints that wait.
    #[cfg(test)]
    pub fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// What was told so far lies so much later.
    pub fn shift(&mut self, offset_ns: i64) {
        if self.given_up_ns != 0 {
            self.given_up_ns = self.given_up_ns.saturating_add_signed(offset_ns);
        }
    }

    /// The endpoints that wait, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Endpoint> {
        self.waiting.iter_mut()
    }

    /// Gives up all that waits.
    pub fn give_up(&mut self, given_up: impl FnMut(&Endpoint)) {
        self.waiting.drop_until(u64::MAX, given_up);
    }

    /// Nothing waits any more. What did.
    pub fn take(&mut self) -> Matcher {
        Matcher {
            waiting: self.waiting.take(),
            given_up_ns: core::mem::take(&mut self.given_up_ns),
        }
    }

    /// The queue of a channel, as long as [`Matcher::renewed`] says the same.
    pub fn number(&mut self, channel: &Channel) -> QueueNumber {
        self.waiting.number(channel)
    }

    /// The channel of a queue.
    #[inline]
    pub fn channel(&self, queue: QueueNumber) -> &Channel {
        self.waiting.channel(queue)
    }

    /// How often numbers of queues have become those of others.
    #[inline]
    pub fn renewed(&self) -> u64 {
        self.waiting.renewed()
    }

    /// Takes in an endpoint of a message whose receiver lost records until `lost_ns`.
    pub fn meet(
        &mut self,
        queue: QueueNumber,
        side: Side,
        endpoint: &Endpoint,
        lost_ns: u64,
        counters: &mut Counters,
    ) {
        // Its receive may be among the lost records; to keep it would shift all later pairs of the
        // channel.
        if side == Side::Send && endpoint.begin_ns <= lost_ns {
            return counters.unmatched(endpoint, UnmatchedReason::Missing);
        }

        // Its receive may have been given up for lack of room.
        if side == Side::Send && endpoint.begin_ns <= self.given_up_ns {
            return counters.unmatched(endpoint, UnmatchedReason::Limit);
        }

        if self.waiting.len() >= WAITING_MAX || self.waiting.blocks() >= BLOCKS_MAX {
            self.make_room(counters);
        }
        self.waiting.meet(queue, side, endpoint, |channel, other| {
            let (send, receive) = match side {
                Side::Send => (endpoint, other),
                Side::Receive => (other, endpoint),
            };
            match impossible(send, receive, lost_ns) {
                None => {
                    counters.pair(channel, send, receive);
                    Verdict::Pair
                }
                Some((without, reason)) => {
                    counters.unmatched(if without == Side::Send { send } else { receive }, reason);
                    if without == side {
                        Verdict::Leave
                    } else {
                        Verdict::Drop
                    }
                }
            }
        });
    }

    /// Gives up the older half of what waits.
    #[cold]
    fn make_room(&mut self, counters: &mut Counters) {
        let mut ends: Vec<u64> = self
            .waiting
            .iter()
            .map(|(_, _, endpoint)| endpoint.end_ns)
            .collect();
        let middle = ends.len() / 2;
        // The median in linear time. Half at once, so that the cost is spread over many endpoints.
        let until_ns = *ends.select_nth_unstable(middle).1;
        self.given_up_ns = self.given_up_ns.max(until_ns);
        self.waiting.drop_until(until_ns, |endpoint| {
            counters.unmatched(endpoint, UnmatchedReason::Limit)
        });
    }
}

/// Which of two endpoints that stand first cannot have another endpoint, and why, if they cannot be
/// a pair.
#[inline]
fn impossible(
    send: &Endpoint,
    receive: &Endpoint,
    lost_ns: u64,
) -> Option<(Side, UnmatchedReason)> {
    if send.begin_ns <= lost_ns {
        return Some((Side::Send, UnmatchedReason::Missing));
    }

    // Recording was off between them: the older one has its partner in the time that was not
    // recorded.
    if send.epoch != receive.epoch {
        let older = if send.epoch < receive.epoch {
            Side::Send
        } else {
            Side::Receive
        };
        return Some((older, UnmatchedReason::Cut));
    }

    let error_ns = u64::from(send.error_ns) + u64::from(receive.error_ns);
    // Only if both clocks together cannot explain it: a wrong verdict would shift all later pairs.
    let received_first = receive.end_ns.saturating_add(error_ns) < send.begin_ns;
    received_first.then_some((Side::Receive, UnmatchedReason::Missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::marks::Marks;
    use invivo_proto::control::peer::Clipping;
    use invivo_proto::ids::{CommId, Rank, RegionId, SiteId};

    #[test]
    fn channels_in_which_one_waits_are_bounded_too() {
        let (mut matcher, mut counters) = (Matcher::default(), Counters::new((0..4).into()));
        let total = (BLOCKS_MAX + 1000) as u64;
        for at in 1..=total {
            let channel = Channel {
                destination: Rank(0),
                comm: CommId::WORLD,
                source: 1,
                tag: at as i32,
            };
            let endpoint = Endpoint {
                begin_ns: 10 * at,
                end_ns: 10 * at + 5,
                bytes: 8,
                epoch: 0,
                error_ns: 0,
                who: 0,
                region: RegionId(0),
                posted: 0,
                marks: Marks::new(Side::Receive, SiteId::NONE, Clipping::Whole),
            };
            let queue = matcher.number(&channel);
            matcher.meet(queue, Side::Receive, &endpoint, 0, &mut counters);
        }

        let waiting = matcher.waiting().len();
        assert!(
            waiting <= BLOCKS_MAX && waiting > BLOCKS_MAX / 3,
            "{waiting}"
        );
        assert_eq!(counters.sums().unmatched.limit + waiting as u64, total);
    }
}
