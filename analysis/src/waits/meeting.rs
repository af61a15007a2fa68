//! Joins what is known of the members of a collective: in any order, the result is the same (of a
//! scan with many steps nearly so, as [`steps`] says).

use super::steps;
use core::cmp::Reverse;
use invivo_proto::control::meetings::Meeting;
use invivo_proto::ids::Rank;

/// A member's call of a collective: the one in which it waits, which completes it if it is
/// non-blocking. Times in job time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub rank: Rank,
    /// Its rank in the communicator.
    pub member: u32,
    pub begin_ns: u64,
    pub end_ns: u64,
    /// The number of a call that completes several; else 0.
    pub several: u32,
    pub is_root: bool,
    /// It gives something to others, or it is a barrier.
    pub sends: bool,
    /// It gets something of others, or it is a barrier.
    pub receives: bool,
    /// A cut touches it: its times mean nothing.
    pub untimed: bool,
}

/// Adds the members of `from`, who are others.
#[inline]
pub fn merge(into: &mut Meeting, from: &Meeting) {
    // Saturating: numbers from other processes may be anything.
    into.arrivals = into.arrivals.saturating_add(from.arrivals);
    let last = |enter: &Option<(u64, Rank)>| enter.map(|(ns, rank)| (ns, Reverse(rank)));
    if last(&from.latest) > last(&into.latest) {
        into.latest = from.latest;
    }
    into.first_leave_ns = earlier(into.first_leave_ns, from.first_leave_ns);
    into.root = earlier(into.root, from.root);
    steps::merge(&mut into.steps, &from.steps);
    into.untimed |= from.untimed;
    into.error_ns = into.error_ns.max(from.error_ns);
}

/// The lesser of those that there are.
#[inline]
fn earlier<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Whether it may be of members of the job: another process has told it.
pub fn is_sound(meeting: &Meeting, job_ranks: u32) -> bool {
    let enters = [meeting.latest, meeting.root];
    let mut ranks = enters.into_iter().flatten().map(|(_, rank)| rank);
    ranks.all(|rank| rank.0 < job_ranks) && steps::are_sound(&meeting.steps, job_ranks)
}

/// What was told so far lies so much later.
pub fn shift(meeting: &mut Meeting, offset_ns: i64) {
    let later = |ns: &mut u64| *ns = ns.saturating_add_signed(offset_ns);
    let enters = [&mut meeting.latest, &mut meeting.root];
    for (ns, _) in enters.into_iter().flatten() {
        later(ns);
    }
    meeting.first_leave_ns.iter_mut().for_each(later);
    let steps = meeting.steps.iter_mut();
    steps.map(|step| &mut step.enter_ns).for_each(later);
}
