//! Matches sends with their receives in an observation, after the fact.
//!
//! MPI does not let messages overtake: of all that one rank sends to another on one communicator
//! with one tag, the first sent is taken by the first receive posted that fits. So within such a
//! *channel* the n-th send belongs to the n-th receive; but an observation begins in the middle,
//! where receives may come of sends that lie before it. Two things tell how many those are. No
//! message is received before it is sent. And of what that leaves, the least is taken: the fewest
//! messages under way. In programs whose ranks wait for each other now and then this is the truth;
//! where a sender is far ahead of its receiver all the time, the pairs of that channel may be
//! shifted by some messages.

use crate::observation::{Call, CallKind};
use std::collections::BTreeMap;

/// Messages that MPI keeps in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// The receiver, as a rank of the job.
    pub destination: u32,
    /// The communicator's name in the job, on the sender's side: the rank of its rank 0, and that
    /// rank's counter.
    pub comm: (u32, u32),
    /// The sender, as a rank of that communicator.
    pub source: u32,
    pub tag: i32,
}

/// One side of a message: a call of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The track, by its rank and thread.
    pub location: (u32, u32),
    /// Which of its calls.
    pub call: usize,
    /// When it was posted, in ticks of the rank's node.
    pub posted_ticks: u64,
    /// When the call began and ended, in job time.
    pub begin_ns: u64,
    pub end_ns: u64,
}

/// The endpoints of an observation.
#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    channels: BTreeMap<Channel, Sides>,
}

#[derive(Clone, Debug, Default)]
struct Sides {
    sends: Vec<Endpoint>,
    receives: Vec<Endpoint>,
}

/// A message: who sent it in which call, and who received it in which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub send: Endpoint,
    /// The call that completed the receive.
    pub receive: Endpoint,
}

/// A rank's membership in a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The communicator's name in the job; of an intercommunicator, of the side that the rank is
    /// on.
    pub name: (u32, u32),
    /// The name of the group that peers are numbered in.
    pub peers: (u32, u32),
    /// The rank's own rank in it.
    pub rank: u32,
}

/// Sends before the observation's begin that are thought of for one channel: a queue that is longer
/// is no queue that anybody would want to see as arrows.
const BEFORE_MAX: usize = 1024;

impl Endpoints {
    /// Notes the messages that a call of a location sent, or received; it is the `number`-th of its
    /// track. `member` says what the rank calls its communicators.
    pub fn note(
        &mut self,
        call: &Call,
        begin_ticks: u64,
        member: impl Fn(u32) -> Option<Member>,
        location: (u32, u32),
        number: usize,
    ) {
        let whole = std::iter::once((&call.facts, 0));
        let parts = call.parts.iter();
        let parts = parts.map(|part| (&part.facts, part.posted_ticks));
        for (facts, posted_ticks) in whole.chain(parts) {
            let Some(member) = facts.comm.and_then(&member) else {
                continue;
            };
            let endpoint = Endpoint {
                location,
                call: number,
                // A blocking call is posted where it begins.
                posted_ticks: if posted_ticks == 0 {
                    begin_ticks
                } else {
                    posted_ticks
                },
                begin_ns: call.begin_ns,
                end_ns: call.end_ns,
            };
            match facts.kind {
                CallKind::Send | CallKind::PostSend => {
                    if let Some(destination) = facts.rank {
                        let channel = Channel {
                            destination,
                            comm: member.name,
                            source: member.rank,
                            tag: facts.tag,
                        };
                        self.send(channel, endpoint);
                    }
                }
                CallKind::Receive | CallKind::Received => {
                    // Negative peers are nobody: MPI_PROC_NULL.
                    if let Ok(source) = u32::try_from(facts.peer) {
                        let channel = Channel {
                            destination: location.0,
                            // By the sender's side of an intercommunicator, so that both ends name
                            // one channel.
                            comm: member.peers,
                            source,
                            tag: facts.tag,
                        };
                        self.receive(channel, endpoint);
                    }
                }
                _ => {}
            }
        }
    }

    /// A message was sent.
    pub fn send(&mut self, channel: Channel, endpoint: Endpoint) {
        self.channels
            .entry(channel)
            .or_default()
            .sends
            .push(endpoint);
    }

    /// A message was received.
    pub fn receive(&mut self, channel: Channel, endpoint: Endpoint) {
        self.channels
            .entry(channel)
            .or_default()
            .receives
            .push(endpoint);
    }

    /// The messages of which both sides are there. `clock_error_ns`: how far times may be off.
    pub fn messages(&self, clock_error_ns: u64) -> Vec<Message> {
        let mut messages = Vec::new();
        for sides in self.channels.values() {
            let (mut sends, mut receives) = (sides.sends.clone(), sides.receives.clone());
            // MPI matches in the order of posting, while calls lie in the order of their ends.
            sends.sort_by_key(|endpoint| endpoint.posted_ticks);
            receives.sort_by_key(|endpoint| endpoint.posted_ticks);
            if let Some(before) = before(clock_error_ns, &sends, &receives) {
                let pairs = sends.into_iter().zip(receives.into_iter().skip(before));
                messages.extend(pairs.map(|(send, receive)| Message { send, receive }));
            }
        }
        messages
    }
}

/// How many of the receives have their sends before the observation; nothing where no number would
/// do.
fn before(clock_error_ns: u64, sends: &[Endpoint], receives: &[Endpoint]) -> Option<usize> {
    // Both ends may be off by the error, in opposite directions.
    let error_ns = clock_error_ns.saturating_mul(2);
    let fits = |before: &usize| {
        let mut pairs = sends.iter().zip(receives.iter().skip(*before));
        pairs.all(|(send, receive)| send.begin_ns <= receive.end_ns.saturating_add(error_ns))
    };
    // More receives than sends: the surplus must have been sent before the observation.
    let least = receives.len().saturating_sub(sends.len());
    (least..=receives.len()).take(BEFORE_MAX).find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANNEL: Channel = Channel {
        destination: 1,
        comm: (0, 0),
        source: 0,
        tag: 7,
    };

    /// Calls of two ranks at these times.
    fn endpoints(sends: &[(u64, u64)], receives: &[(u64, u64)]) -> Endpoints {
        let mut endpoints = Endpoints::default();
        for (rank, times) in [(0, sends), (1, receives)] {
            for (call, &(begin_ns, end_ns)) in times.iter().enumerate() {
                let endpoint = Endpoint {
                    location: (rank, 0),
                    call,
                    posted_ticks: begin_ns,
                    begin_ns,
                    end_ns,
                };
                match rank {
                    0 => endpoints.send(CHANNEL, endpoint),
                    _ => endpoints.receive(CHANNEL, endpoint),
                }
            }
        }
        endpoints
    }

    fn pairs(sends: &[(u64, u64)], receives: &[(u64, u64)]) -> Vec<(usize, usize)> {
        let messages = endpoints(sends, receives).messages(0);
        messages
            .iter()
            .map(|message| (message.send.call, message.receive.call))
            .collect()
    }

    #[test]
    fn the_nth_send_belongs_to_the_nth_receive() {
        assert_eq!(
            pairs(&[(1, 2), (5, 6)], &[(0, 3), (4, 7)]),
            [(0, 0), (1, 1)]
        );
    }

    #[test]
    fn a_receive_of_a_send_before_the_begin_stands_alone() {
        // The first receive ended before the first send began.
        assert_eq!(
            pairs(&[(5, 6), (9, 10)], &[(0, 3), (4, 7), (8, 11)]),
            [(0, 1), (1, 2)]
        );
        // The same where as many sends as receives are there, the last of them under way.
        assert_eq!(
            pairs(&[(5, 6), (9, 10), (13, 14)], &[(0, 3), (4, 7), (8, 11)]),
            [(0, 1), (1, 2)]
        );
    }

    #[test]
    fn sends_that_nobody_took_stand_alone() {
        assert_eq!(pairs(&[(1, 2), (5, 6)], &[(0, 3)]), [(0, 0)]);
        assert_eq!(pairs(&[(1, 2)], &[]), []);
    }

    #[test]
    fn receives_are_taken_in_the_order_of_their_posting() {
        let mut endpoints = endpoints(&[(1, 2), (3, 4)], &[]);
        for (call, posted_ticks) in [(0, 2), (1, 1)] {
            let endpoint = Endpoint {
                location: (1, 0),
                call,
                posted_ticks,
                begin_ns: 5,
                end_ns: 9,
            };
            endpoints.receive(CHANNEL, endpoint);
        }

        let messages = endpoints.messages(0);
        let found: Vec<_> = messages
            .iter()
            .map(|m| (m.send.call, m.receive.call))
            .collect();
        assert_eq!(found, [(0, 1), (1, 0)]);
    }
}
