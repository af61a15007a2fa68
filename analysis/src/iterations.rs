//! Iterations without marks: how often a thread comes to a call site again, and after which time.
//!
//! An iteration of a call site goes from the begin of one call there to the begin of the next. Its
//! contents are the call sites that the thread came to in between, however often. What has the
//! *usual* contents is told apart from others, by the vote of Boyer and Moore (1981) with few
//! votes, so that another phase of the program has a usual one of its own soon.
//!
//! A program that talks to its neighbours in turn calls from one place several times in each
//! iteration. There, the time outside of MPI between these calls is of two kinds, short and long,
//! as the nearer of two means tells, and an iteration begins with the call behind a long one.
//!
//! Which of all places are where loops begin is found later, in the table of all ranks: [`loops`].

mod clock;
mod counted;
mod gaps;
pub mod loops;
mod stream;

use crate::moments;
use crate::rank_rows::Sum;
use alloc::boxed::Box;
pub use clock::Clock;
use counted::Counted;
use gaps::Gaps;
use invivo_proto::control::iterations::{Begin, Iterations, Lengths};
use invivo_proto::ids::Rank;
pub use stream::Stream;
use stream::{Here, Mark};

/// The iterations of one call site of one rank: of the thread that called there first.
#[derive(Clone, Debug)]
pub struct AtSite {
    mark: Mark,
    thread: u16,
    /// The last call here.
    since: Option<Here>,
    gaps: Gaps,
    calls: Counted,
    /// Of most call sites there are none.
    bursts: Option<Box<Bursts>>,
}

/// Several calls, one soon after the other, make one iteration.
#[derive(Clone, Debug, Default)]
struct Bursts {
    /// The first call of the last one.
    since: Option<Here>,
    counted: Counted,
}

impl AtSite {
    /// Of the call site with this number.
    pub fn new(number: u32) -> AtSite {
        AtSite {
            mark: Mark::of(number),
            thread: 0,
            since: None,
            gaps: Gaps::default(),
            calls: Counted::default(),
            bursts: None,
        }
    }

    /// A thread begins a call here at `at`. What it did before `known_since` is not known. All
    /// times are ticks; `net` gives those between two without pauses.
    #[inline(always)]
    pub fn call(
        &mut self,
        (thread, stream): (u16, &mut Stream),
        at: u64,
        known_since: u64,
        net: impl Fn(u64, u64) -> u64,
    ) {
        let here = stream.here(at);
        match &self.since {
            Some(since) if self.thread == thread => {
                if here.follows(since) && since.at >= known_since {
                    let length = net(since.at, at);
                    self.calls.add((since, &here), stream, length);
                    // However long a call waits, it is no gap between calls.
                    let gap = length.saturating_sub(here.in_mpi(since));
                    if self.gaps.is_long(gap) {
                        self.burst(&here, stream, net);
                    }
                } else if let Some(bursts) = &mut self.bursts {
                    bursts.since = None;
                }
            }
            // Another thread's iterations are not its.
            Some(_) => return stream.call(&self.mark),
            None => self.thread = thread,
        }
        self.since = Some(here);
        stream.call(&self.mark);
    }

    /// Calls follow each other closely again.
    fn burst(&mut self, here: &Here, stream: &Stream, net: impl Fn(u64, u64) -> u64) {
        let bursts = self.bursts.get_or_insert_default();
        if let Some(since) = &bursts.since {
            let length = net(since.at, here.at);
            bursts.counted.add((since, here), stream, length);
        }
        bursts.since = Some(*here);
    }

    /// What was counted, each way that has something.
    pub fn lengths(
        &self,
        rank: Rank,
        clock: &impl Clock,
    ) -> impl Iterator<Item = (Begin, Lengths)> {
        let calls = Some((Begin::Call, &self.calls));
        let bursts = self.bursts.as_ref();
        let bursts = bursts.map(|bursts| (Begin::Burst, &bursts.counted));
        let each = calls.into_iter().chain(bursts);
        let each = each.map(move |(begin, of)| (begin, of.lengths(rank, clock)));
        each.filter(|(_, of)| of.count() != 0)
    }

    /// Counts anew. Iterations go on.
    pub fn clear(&mut self) {
        self.calls.clear();
        if let Some(bursts) = &mut self.bursts {
            bursts.counted.clear();
        }
    }
}

impl Sum for Lengths {
    fn add(&mut self, from: &Lengths) {
        let key = |of: &Lengths| {
            let longest = core::cmp::Reverse((of.time.max_rank, of.longest.from_ns));
            (of.time.count != 0, of.time.max_ns, longest)
        };
        if key(from) > key(self) {
            self.longest = from.longest;
        }
        moments::merge(&mut self.time, &from.time);
        self.first_ns = self.first_ns.min(from.first_ns);
        let end = |of: &Lengths| (of.last.to_ns, of.last.from_ns);
        if end(from) > end(self) {
            self.last = from.last;
        }
        self.others = self.others.saturating_add(from.others);
        self.others_ns = self.others_ns.saturating_add(from.others_ns);
    }
}

/// Those of one rank.
pub fn of_rank(lengths: &Lengths) -> Iterations {
    Iterations {
        lengths: *lengths,
        ranks: 1,
        fewest: lengths.count(),
        most: lengths.count(),
    }
}

/// Adds those of other ranks.
pub fn merge(into: &mut Iterations, from: &Iterations) {
    into.lengths.add(&from.lengths);
    into.ranks = into.ranks.saturating_add(from.ranks);
    into.fewest = into.fewest.min(from.fewest);
    into.most = into.most.max(from.most);
}

#[cfg(test)]
mod tests;
