//! Matches point-to-point messages: which send belongs to which receive, how long messages take,
//! and how long receivers wait for late senders, and senders for late receivers.
//! Of non-blocking sends the place of the sender tells that, where they are completed ([`sends`]).
//! Which of the late senders were waited for while another message was there: `wrong_order.rs`.
//!
//! A send and its receive are seen by different ranks, perhaps below different places. They meet at
//! the place of the receiver: a send whose receiver is below another place is handed out for that
//! place ([`Messages::take_batches`]) and taken in there ([`Messages::arrive`]). Nothing but sums
//! goes up the tree.
//!
//! **Matching.** MPI does not let messages overtake: of one rank to another, on one communicator,
//! with one tag, the first sent is taken by the first receive *posted* that fits. Sends are told in
//! the order in which they were posted; receives are brought into it (`posted.rs`). The peer and
//! tag of a receive are those of its status, so that wildcards need no search. Endpoints of
//! different epochs of recording never match.
//!
//! **When records are missing** (dropped, or never made while recording was off) one endpoint of a
//! pair is here and would shift all pairs of its channel behind it. Too many receives heal by
//! themselves: a message is not received before it is sent, so a receive that ended before the
//! first send that is left began, by more than the clocks may be off, has none. Too many sends
//! would not. So wherever receives may be missing, sends are given up up to that time, and all of
//! it is counted by reason.
//!
//! **A cut** (reset, window, recording off) takes endpoints out of the sums and leaves them in
//! their order: what was sent before it may be received behind it. A pair across it is counted.

mod begin_anew;
mod calls;
mod completing;
mod counters;
mod endpoint;
mod marks;
mod matcher;
mod outbox;
mod posted;
mod refused;
mod resolving;
mod sends;
mod sums;
mod travel;
mod unresolved;
mod waiting;
mod ways;
mod wrong_order;

pub use calls::Late;
pub(crate) use calls::{Calls, LastCall};
pub(crate) use counters::by_name;
pub use counters::{EMPTY, merge};
pub use matcher::WAITING_MAX;
pub use outbox::OUTBOX_MAX;
pub use posted::{HELD_MAX, POSTED_MAX};
pub use refused::Refused;
pub use sends::{COMPLETED_MAX, POSTS_MAX};
pub use unresolved::UNRESOLVED_MAX;
pub use wrong_order::{LATE_MAX, RECEIVED_MAX};

use crate::communicators::Communicators;
use alloc::boxed::Box;
use alloc::vec::Vec;
use counters::Counters;
use endpoint::{Endpoint, UNKNOWN_NS};
use invivo_proto::control::peer::Clipping;
use invivo_proto::ids::{CommLocal, Rank, RegionId};
use invivo_proto::rank_set::RankSet;
use invivo_proto::record::{Call, Facts, Part, RecordKind};
use marks::{Marks, Side};
use matcher::Matcher;
use outbox::Outbox;
use posted::{InOrder, Pattern};
use sends::Sends;
use unresolved::Unknown;
use ways::Ways;

/// Which place a rank of the application is below, by any number that the driver gives to places.
pub type PlaceOf = Box<dyn Fn(Rank) -> Option<u32> + Send>;

/// The rank and the time of a call, with what is known about its communicators and its clock.
pub struct Of<'a, F> {
    pub rank: Rank,
    /// The epoch of recording.
    pub epoch: u32,
    /// When the call was entered, in the rank's ticks.
    pub begin: u64,
    /// When the call was left, in the rank's ticks.
    pub end: u64,
    /// Whether it counts.
    pub clipping: Clipping,
    /// The communicators known so far.
    pub communicators: &'a Communicators,
    /// Job time of a tick, in ns.
    pub job_ns: F,
}

/// The messages of the ranks below one place.
pub struct Messages {
    numbers: RankSet,
    ranks: Vec<OfRank>,
    place_of: PlaceOf,
    unknown: Unknown,
    /// How often definitions have come.
    definitions: u64,
    outbox: Outbox,
    matcher: Matcher,
    counters: Counters,
    /// Ranks that the job has.
    job_ranks: u32,
    clock_error_ns: u64,
    /// How far times of this place may be off from those of another one with the same clock.
    reading_error_ns: u64,
    /// Receives that may be matched now; empty between two calls.
    ready: Vec<(Pattern, Endpoint)>,
    /// Receives that were posted late and forgotten before their sends were complete.
    lost_posts: u64,
}

/// What is kept for each rank.
#[derive(Clone, Debug, Default)]
struct OfRank {
    epoch: u32,
    receives: InOrder<Endpoint>,
    ways: Ways,
    sends: Sends,
    /// Records of it were lost until then, in job time.
    lost_ns: u64,
    /// The call that came last.
    last: LastCall,
}

impl Messages {
    /// Of a place with these ranks of all that the job has.
    pub fn new(ranks: impl Into<RankSet>, job_ranks: u32, place_of: PlaceOf) -> Messages {
        let numbers = ranks.into();
        Messages {
            numbers,
            ranks: numbers.iter().map(|_| OfRank::default()).collect(),
            place_of,
            unknown: Unknown::default(),
            definitions: 0,
            outbox: Outbox::default(),
            matcher: Matcher::default(),
            counters: Counters::new(numbers),
            job_ranks,
            clock_error_ns: 0,
            reading_error_ns: 0,
            ready: Vec::new(),
            lost_posts: 0,
        }
    }

    /// A call and its parts. Records of one thread must come in their order; one that lies outside
    /// of what is recorded belongs here all the same.
    #[inline]
    pub fn record(&mut self, of: &Of<'_, impl Fn(u64) -> u64>, call: &Call, parts: &[Part]) {
        if follows(call.facts.kind) || !parts.is_empty() {
            self.begin_call(of, &call.facts);
        }
        if follows(call.facts.kind) {
            self.facts(of, &call.facts, call.request, of.begin);
        }
        self.record_more(of, parts);
    }

    /// More parts of a call.
    #[inline]
    pub fn record_more(&mut self, of: &Of<'_, impl Fn(u64) -> u64>, parts: &[Part]) {
        if parts.len() > 1 || !parts.is_empty() && self.is_several(of.rank) {
            self.begin_several(of, parts);
        }
        self.complete_sends(of, parts);
        for part in parts.iter().filter(|part| follows(part.facts.kind)) {
            let posts = part.facts.kind.posts();
            let posted = if posts { of.begin } else { part.posted };
            self.facts(of, &part.facts, part.request, posted);
        }
    }

    /// `posted`: when the request was posted that this posts or completes, in ticks.
    #[inline]
    fn facts(
        &mut self,
        of: &Of<'_, impl Fn(u64) -> u64>,
        facts: &Facts,
        request: u64,
        posted: u64,
    ) {
        let Some(index) = self.numbers.index(of.rank) else {
            return;
        };
        if self.ranks[index].epoch != of.epoch {
            // Recording was off in between: what was open then will not complete, and what was held
            // back for it goes first.
            self.ranks[index].epoch = of.epoch;
            self.ranks[index].receives.forget(&mut self.ready);
            self.receive_ready(of.rank, of.communicators);
        }
        let of_rank = &mut self.ranks[index];
        let last = of_rank.last;
        // The error is stored with each endpoint, as it was when the endpoint was seen.
        let (ready, error_ns) = (&mut self.ready, short(self.clock_error_ns));
        let pattern = Pattern {
            comm: facts.comm,
            peer: facts.peer,
            tag: facts.tag,
        };
        match facts.kind {
            RecordKind::Send | RecordKind::PostSend if facts.peer >= 0 => {
                // Only a call that sends and does nothing else waits for the receiver alone.
                let waits = facts.kind == RecordKind::Send && self.counters.may_wait(facts.region);
                let sender = LastCall {
                    number: of.rank.0,
                    region: if waits { facts.region } else { RegionId(0) },
                    site: facts.site,
                    ..LastCall::default()
                };
                let posted = match facts.kind {
                    RecordKind::Send => 0,
                    _ => of.begin,
                };
                let endpoint = endpoint(of, Side::Send, facts.bytes_out, error_ns, sender, posted);
                self.counters.sent(&endpoint);
                self.resolve(of.rank, &pattern, Side::Send, &endpoint, of.communicators);
            }
            RecordKind::PostRecv => of_rank.receives.post(request, posted, pattern),
            RecordKind::Recv | RecordKind::CompletedRecv if facts.peer >= 0 => {
                let is_posted = facts.kind == RecordKind::CompletedRecv;
                let since = if is_posted { posted } else { of.begin };
                let bytes = facts.bytes_in;
                let endpoint = endpoint(of, Side::Receive, bytes, error_ns, last, since);
                self.counters.received(&endpoint);
                let receives = &mut of_rank.receives;
                let goes = match is_posted {
                    true => receives.completed(request, posted, &pattern, &endpoint, ready),
                    false => receives.receive(&pattern, &endpoint, ready),
                };
                if goes {
                    let known = of.communicators;
                    self.resolve(of.rank, &pattern, Side::Receive, &endpoint, known);
                }
            }
            // Cancelled, or from MPI_PROC_NULL: the receive took no message, and no longer holds
            // others back.
            RecordKind::CompletedRecv | RecordKind::CompletedNothing => {
                of_rank.receives.cancelled(request, posted, ready)
            }
            _ => {}
        }
        self.receive_ready(of.rank, of.communicators);
    }

    /// Hands on the receives whose turn it is.
    #[inline]
    fn receive_ready(&mut self, rank: Rank, communicators: &Communicators) {
        if self.ready.is_empty() {
            return;
        }
        // Taken out, as `resolve` borrows all of `self`; put back to reuse its memory.
        let mut ready = core::mem::take(&mut self.ready);
        for (from, endpoint) in ready.drain(..) {
            self.resolve(rank, &from, Side::Receive, &endpoint, communicators);
        }
        self.ready = ready;
    }

    /// Records of a rank were lost before `at_ns` (job time).
    pub fn lost(&mut self, rank: Rank, at_ns: u64, communicators: &Communicators) {
        let Some(index) = self.numbers.index(rank) else {
            return;
        };
        let of_rank = &mut self.ranks[index];
        of_rank.lost_ns = of_rank.lost_ns.max(at_ns);
        // A posting may be among the lost records: nothing can be held back for one any longer.
        of_rank.receives.forget(&mut self.ready);
        self.receive_ready(rank, communicators);
    }

    /// A pause of the application begins, in job time.
    pub fn pause(&mut self, at_ns: u64) {
        self.counters.pauses.begin(at_ns);
    }

    /// The pause ends, in job time.
    pub fn resume(&mut self, at_ns: u64) {
        self.counters.pauses.end(at_ns);
    }

    /// Job time is known now: it is `offset_ns` ahead of the clock that was taken for it, and known
    /// to `error_ns`.
    pub fn learn_time(&mut self, offset_ns: i64, error_ns: u64) {
        let error_ns = short(error_ns);
        for of_rank in self.ranks.iter_mut().filter(|of_rank| of_rank.lost_ns != 0) {
            of_rank.lost_ns = of_rank.lost_ns.saturating_add_signed(offset_ns);
        }
        self.counters.pauses.shift(offset_ns);
        self.counters.calls.shift(offset_ns);
        self.counters.shift_orders(offset_ns);
        self.matcher.shift(offset_ns);
        self.forget_sends();
        self.each_endpoint(|endpoint| endpoint.shift(offset_ns, error_ns));
    }

    /// How far this place's idea of job time may be off now, in ns.
    pub fn set_clock_error(&mut self, error_ns: u64) {
        self.clock_error_ns = error_ns;
    }

    /// All endpoints that are kept.
    fn each_endpoint(&mut self, change: impl FnMut(&mut Endpoint)) {
        let of_ranks = self.ranks.iter_mut();
        let held = of_ranks.flat_map(|of_rank| of_rank.receives.held_mut());
        let unknown = self.unknown.iter_mut().map(|one| &mut one.endpoint);
        let waiting = self.matcher.iter_mut();
        let all = held
            .chain(unknown)
            .chain(waiting)
            .chain(self.outbox.iter_mut());
        all.for_each(change);
    }

    /// Forgets the sums. From now on counts what ended behind `at_ns` (job time), and nothing that
    /// was told before while job time was not known.
    pub fn reset(&mut self, at_ns: u64) {
        self.each_endpoint(|endpoint| {
            if endpoint.error_ns == UNKNOWN_NS {
                endpoint.marks = endpoint.marks.outside();
            }
        });
        self.counters.forget_sums();
        self.counters.reset_ns = at_ns;
        self.counters.calls.forget();
        self.counters.late.clear();
        self.counters.forget_orders();
        self.counters.posts.clear();
        self.forget_sends();
    }

    /// Peers whose ranks endpoints wait for, since this was asked last.
    pub fn take_unresolved(&mut self) -> Vec<(Rank, CommLocal, i32)> {
        self.unknown.take_new_keys()
    }
}

/// Whether it is a send, or anything that happens to a receive.
#[inline(always)]
fn follows(kind: RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::Send
            | RecordKind::PostSend
            | RecordKind::Recv
            | RecordKind::PostRecv
            | RecordKind::CompletedRecv
            | RecordKind::CompletedNothing
    )
}

#[inline]
fn endpoint(
    of: &Of<'_, impl Fn(u64) -> u64>,
    side: Side,
    bytes: u64,
    error_ns: u32,
    by: LastCall,
    posted: u64,
) -> Endpoint {
    let (begin_ns, end_ns) = ((of.job_ns)(of.begin), (of.job_ns)(of.end));
    Endpoint {
        begin_ns,
        end_ns: end_ns.max(begin_ns),
        posted: match side {
            Side::Send => posted,
            Side::Receive => (of.job_ns)(posted.min(of.begin)),
        },
        bytes,
        epoch: of.epoch,
        error_ns,
        who: by.number,
        region: by.region,
        marks: Marks::new(side, by.site, of.clipping),
    }
}

/// As an endpoint carries it.
fn short(ns: u64) -> u32 {
    u32::try_from(ns).unwrap_or(UNKNOWN_NS)
}

#[cfg(test)]
mod tests;
