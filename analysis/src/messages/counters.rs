//! Counts messages: sent, received, matched, and unmatched by reason; and merges these counts.

use super::calls::{Calls, Late};
use super::endpoint::{Channel, Endpoint, UNKNOWN_NS};
use super::marks::Side;
use super::wrong_order::{Passed, WrongOrder};
use crate::history::cover;
use crate::moments;
use crate::pauses::Pauses;
use crate::sums::SumsOfRanks;
use alloc::vec::Vec;
use invivo_proto::control::meetings::LatePost;
use invivo_proto::control::peer::Clipping;
use invivo_proto::control::results::{Messages, Traffic, Unmatched};
use invivo_proto::control::wait_states::WaitState;
use invivo_proto::ids::{Rank, RegionId};
use invivo_proto::mpi;
use invivo_proto::rank_set::RankSet;

/// Of no messages: adding it to anything changes nothing.
pub const EMPTY: Messages = Messages {
    sent: NO_TRAFFIC,
    received: NO_TRAFFIC,
    matched: NO_TRAFFIC,
    unmatched: Unmatched {
        unresolved: 0,
        limit: 0,
        cut: 0,
        missing: 0,
        outside: 0,
    },
    transfer: moments::EMPTY,
    late_sender: moments::EMPTY,
    untimed: 0,
    clock_error_ns: 0,
    past: None,
};

const NO_TRAFFIC: Traffic = Traffic {
    messages: 0,
    bytes: 0,
};

/// Why an endpoint will never be matched; see [`Unmatched`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnmatchedReason {
    /// The peer is unknown.
    Unresolved,
    /// No room.
    Limit,
    /// The other endpoint is not counted.
    Cut,
    /// The record of the other endpoint is missing.
    Missing,
    /// The peer may be no rank of the job.
    Outside,
}

/// Sums over the endpoints that are counted: those that are not outside of what is recorded by
/// their own rank's cuts, and ended behind the last reset.
#[derive(Clone, Debug)]
pub struct Counters {
    /// The last reset, in job time; 0 without one.
    pub reset_ns: u64,
    /// Pauses of the application, in job time.
    pub pauses: Pauses,
    /// What came of the messages, but for durations, which are beside it.
    counts: Messages,
    transfer: SumsOfRanks,
    late_sender: SumsOfRanks,
    /// Calls that complete several receives.
    pub calls: Calls,
    /// Waits for late senders and receivers that nobody has taken yet.
    pub late: Vec<Late>,
    /// The receivers.
    numbers: RankSet,
    /// What each of them has received, as long as anybody wants to know about its order.
    orders: Vec<WrongOrder>,
    follows_orders: bool,
    /// Receives of non-blocking sends that were posted late, and that nobody has taken yet.
    pub posts: Vec<LatePost>,
    /// Whether a function only looks whether requests are complete, by its number.
    tests: Vec<bool>,
    /// Whether a function may return only when the receive is posted, by its number.
    sends: Vec<bool>,
}

impl Counters {
    /// Of what these ranks receive.
    pub fn new(numbers: RankSet) -> Counters {
        Counters {
            numbers,
            follows_orders: true,
            orders: numbers.iter().map(|_| WrongOrder::default()).collect(),
            reset_ns: 0,
            pauses: Pauses::default(),
            counts: EMPTY,
            transfer: SumsOfRanks::default(),
            late_sender: SumsOfRanks::default(),
            calls: Calls::default(),
            late: Vec::new(),
            posts: Vec::new(),
            tests: by_name(|name| name.starts_with("MPI_Test")),
            // Calls that receive as well may do something else meanwhile.
            sends: by_name(|name| {
                let name = name.strip_suffix("_c").unwrap_or(name);
                matches!(name, "MPI_Send" | "MPI_Ssend")
            }),
        }
    }

    /// What came of the messages so far.
    pub fn sums(&self) -> Messages {
        Messages {
            transfer: self.transfer.moments(),
            late_sender: self.late_sender.moments(),
            ..self.counts
        }
    }

    /// From now on it counts anew.
    pub fn forget_sums(&mut self) {
        self.counts = EMPTY;
        self.transfer = SumsOfRanks::default();
        self.late_sender = SumsOfRanks::default();
    }

    /// Job time is so far ahead of the clock that messages so far were told by.
    pub fn shift_orders(&mut self, offset_ns: i64) {
        self.orders.iter_mut().for_each(|of| of.shift(offset_ns));
    }

    /// Messages so far are compared with no later ones.
    pub fn forget_orders(&mut self) {
        self.orders.fill(WrongOrder::default());
    }

    /// Whether messages are compared from now on.
    pub fn follow_orders(&mut self, follows: bool) {
        self.follows_orders = follows;
        self.forget_orders();
    }

    /// Messages so far are compared with each other.
    pub fn settle_orders(&mut self) {
        let all = &mut self.late;
        for of in &mut self.orders {
            of.settle(|wrong| all.push(wrong));
        }
    }

    /// Whether an endpoint is counted. An endpoint timed before job time was known counts by its
    /// clipping alone.
    #[inline]
    pub fn counts(&self, endpoint: &Endpoint) -> bool {
        let is_behind = endpoint.error_ns == UNKNOWN_NS || endpoint.end_ns > self.reset_ns;
        endpoint.marks.clipping() != Clipping::Outside && is_behind
    }

    /// Counts a message that was sent.
    #[inline]
    pub fn sent(&mut self, endpoint: &Endpoint) {
        if self.counts(endpoint) {
            self.counts.sent.add(one(endpoint));
        }
    }

    /// Counts a message that was received.
    #[inline]
    pub fn received(&mut self, endpoint: &Endpoint) {
        if self.counts(endpoint) {
            self.counts.received.add(one(endpoint));
        }
    }

    /// Counts an endpoint that will never be matched.
    pub fn unmatched(&mut self, endpoint: &Endpoint, reason: UnmatchedReason) {
        self.completes(endpoint, None::<fn() -> Late>);
        if self.counts(endpoint) {
            let unmatched = &mut self.counts.unmatched;
            *match reason {
                UnmatchedReason::Unresolved => &mut unmatched.unresolved,
                UnmatchedReason::Limit => &mut unmatched.limit,
                UnmatchedReason::Cut => &mut unmatched.cut,
                UnmatchedReason::Missing => &mut unmatched.missing,
                UnmatchedReason::Outside => &mut unmatched.outside,
            } += 1;
        }
    }

    /// A send and its receive.
    #[inline]
    pub fn pair(&mut self, channel: &Channel, send: &Endpoint, receive: &Endpoint) {
        let receiver = channel.destination;
        if !(self.counts(send) && self.counts(receive)) {
            // At most one of them is counted, and that one for good without the other.
            self.unmatched(send, UnmatchedReason::Cut);
            self.unmatched(receive, UnmatchedReason::Cut);
            return;
        }

        self.counts.matched.add(one(send));
        // By a clock that is a little off a message may seem to come before it was sent.
        let end_ns = receive.end_ns.max(send.begin_ns);
        let clipped = [send, receive]
            .iter()
            .any(|endpoint| endpoint.marks.clipping() == Clipping::Clipped);
        // A message that was under way during a pause took longer for that reason alone; it is
        // counted and not timed.
        let pause = self.pauses.net(send.begin_ns.min(receive.begin_ns), end_ns);
        // Two endpoints of a time before job time was known are by the same clock, that of their
        // node.
        let timeless = (send.error_ns == UNKNOWN_NS) != (receive.error_ns == UNKNOWN_NS);
        if clipped || timeless || pause.paused != 0 || !pause.exact {
            self.counts.untimed += 1;
            self.completes(receive, None::<fn() -> Late>);
            return;
        }

        if send.error_ns != UNKNOWN_NS {
            let error_ns = u64::from(send.error_ns.max(receive.error_ns));
            let known_ns = &mut self.counts.clock_error_ns;
            *known_ns = error_ns.max(*known_ns);
        }

        self.transfer.add(end_ns - send.begin_ns, receiver);
        if self.follows_orders
            && let Some(receiver) = self.numbers.index(receiver)
        {
            let error_ns = self.unclear_ns(Rank(send.who), send.error_ns.max(receive.error_ns));
            let passed = Passed {
                received_ns: receive.end_ns,
                sent_ns: send.begin_ns.saturating_add(error_ns),
            };
            let late = &mut self.late;
            self.orders[receiver].received(passed, |wrong| late.push(wrong));
        }
        // Late Sender: the receiver waits from its own begin to the begin of the send, and not
        // beyond its own end. Who only looks does not wait.
        let is_late = send.begin_ns > receive.begin_ns && !self.only_looks(receive.region);
        let late_sender = || Late {
            state: WaitState::LateSender,
            waiter: receiver,
            causer: Rank(send.who),
            comm: channel.comm,
            region: receive.region,
            site: receive.marks.site(),
            from_ns: receive.begin_ns,
            before_ns: 0,
            ns: send
                .begin_ns
                .min(receive.end_ns)
                .saturating_sub(receive.begin_ns),
            error_ns: send.error_ns.max(receive.error_ns).into(),
        };
        self.completes(receive, is_late.then_some(late_sender));
        // Late Receiver: the sender is still in its call when the receive is posted. One that is
        // not has left a short message behind, and did not wait.
        if send.posted != 0 {
            self.post(receiver, channel, send, receive);
        } else if send.begin_ns < receive.posted
            && receive.posted < send.end_ns
            && send.region != RegionId(0)
        {
            self.late.push(Late {
                state: WaitState::LateReceiver,
                waiter: Rank(send.who),
                causer: receiver,
                region: send.region,
                site: send.marks.site(),
                from_ns: send.begin_ns,
                ns: receive.posted - send.begin_ns,
                ..late_sender()
            });
        }
    }

    /// The receive of a non-blocking send was posted: whoever completes the send may wait for that.
    #[inline]
    fn post(&mut self, receiver: Rank, channel: &Channel, send: &Endpoint, receive: &Endpoint) {
        // Before the call has returned that posts the send nobody waits for it.
        if receive.posted > send.end_ns && send.error_ns != UNKNOWN_NS {
            self.posts.push(LatePost {
                rank: Rank(send.who),
                receiver,
                comm: channel.comm,
                send_ticks: send.posted,
                posted_ns: receive.posted,
            });
        }
    }

    /// Whether a function only looks whether requests are complete: it does not wait.
    #[inline]
    pub fn only_looks(&self, region: RegionId) -> bool {
        self.tests.get(usize::from(region.0)) == Some(&true)
    }

    /// Whether a function that sends may return only when the receive is posted.
    #[inline]
    pub fn may_wait(&self, region: RegionId) -> bool {
        self.sends.get(usize::from(region.0)) == Some(&true)
    }

    /// A receive is done with, after a wait or without. Of a call that completes several, the
    /// longest wait counts when all of them are. A send is told as what it is: none of a call.
    #[inline]
    fn completes(&mut self, endpoint: &Endpoint, wait: Option<impl Fn() -> Late>) {
        let call = match endpoint.marks.side() {
            Side::Send => 0,
            Side::Receive => endpoint.who,
        };
        if call != 0 {
            let told = self.calls.told(call, wait.map(|wait| wait()));
            if let Some(late) = told {
                self.waited(endpoint.end_ns, || late);
            }
        } else if let Some(wait) = wait {
            self.waited(endpoint.end_ns, wait);
        }
    }

    /// It was waited for a late sender until then. The wait is made twice, where it stays: a
    /// processor waits for what is copied right after its fields were written.
    #[inline(always)]
    fn waited(&mut self, received_ns: u64, late: impl Fn() -> Late) {
        self.late.push(late());
        let late = late();
        self.late_sender.add(late.ns, late.waiter);
        if self.follows_orders {
            self.keep_late(received_ns, &late);
        }
    }

    /// It was waited for a late sender until then.
    fn keep_late(&mut self, received_ns: u64, late: &Late) {
        let Some(index) = self.numbers.index(late.waiter) else {
            return;
        };
        let error_ns = u32::try_from(late.error_ns).unwrap_or(UNKNOWN_NS);
        let sent_ns = late.from_ns.saturating_add(late.ns);
        let unclear_ns = self.unclear_ns(late.causer, error_ns);
        let passed = Passed {
            received_ns,
            sent_ns: sent_ns.saturating_sub(unclear_ns),
        };
        let of_all = &mut self.late;
        self.orders[index].late(passed, 2 * unclear_ns, late, |wrong| of_all.push(wrong));
    }

    /// By how much a sender's time may be off from those of other senders; below one place all have
    /// one clock.
    #[inline]
    fn unclear_ns(&self, sender: Rank, error_ns: u32) -> u64 {
        match self.numbers.contains(sender) {
            true => 0,
            false => 2 * u64::from(error_ns),
        }
    }
}

/// Which functions are such ones, by their numbers.
pub fn by_name(is_it: fn(&str) -> bool) -> Vec<bool> {
    let functions = mpi::FUNCTIONS.iter();
    functions.map(|function| is_it(function.name)).collect()
}

fn one(endpoint: &Endpoint) -> Traffic {
    Traffic {
        messages: 1,
        bytes: endpoint.bytes,
    }
}

/// Adds the counts of other places.
pub fn merge(into: &mut Messages, from: &Messages) {
    into.sent.add(from.sent);
    into.received.add(from.received);
    into.matched.add(from.matched);
    let (of, more) = (&mut into.unmatched, &from.unmatched);
    for (into, from) in [
        (&mut of.unresolved, more.unresolved),
        (&mut of.limit, more.limit),
        (&mut of.cut, more.cut),
        (&mut of.missing, more.missing),
        (&mut of.outside, more.outside),
        (&mut into.untimed, from.untimed),
    ] {
        *into = into.saturating_add(from);
    }

    moments::merge(&mut into.transfer, &from.transfer);
    moments::merge(&mut into.late_sender, &from.late_sender);
    into.clock_error_ns = into.clock_error_ns.max(from.clock_error_ns);
    cover(&mut into.past, from.past);
}
