//! Iterations without marks: how often a thread comes to a call site again, and after which time.
//!
//! An iteration of a call site goes from the begin of one call there to the begin of the next. Its
//! contents are a sum over the thread's calls in between, one random number for each place: the same
//! calls give the same sum, whatever their order. What has the *usual* contents is told apart from
//! others, by the vote of Boyer and Moore (1981) with few votes, so that another phase of the
//! program has a usual one of its own soon.
//!
//! A program that talks to its neighbours in turn calls from one place several times in each
//! iteration. There, gaps are of two kinds, short and long, as the nearer of two means tells, and an
//! iteration begins with the call behind a long one.
//!
//! Which of all places are where loops begin is found later, in the table of all ranks: [`loops`].

mod gaps;
pub mod loops;

use crate::moments;
use crate::rank_rows::Sum;
use gaps::Gaps;
use invivo_proto::control::iterations::{Begin, Iterations, Lengths};
use invivo_proto::control::profile::Past;
use invivo_proto::control::results::Moments;
use invivo_proto::ids::Rank;

/// So many votes at most for the usual contents: so many other iterations in a row replace them.
const VOTES_MAX: u8 = 8;
/// Where more iterations than these have unusual contents, and more than have the usual ones, it is
/// no place where iterations begin.
const OTHERS_FEW: u64 = 8;

/// What a thread has called so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stream {
    contents: u64,
    /// How often its records were interrupted.
    interrupted: u32,
}

impl Stream {
    /// Records are missing: no iteration goes on.
    pub fn interrupt(&mut self) {
        self.interrupted = self.interrupted.wrapping_add(1);
    }
}

/// Where a call stands in its thread's stream.
#[derive(Clone, Copy, Debug)]
struct Here {
    /// When it began, in ticks.
    at: u64,
    stream: Stream,
}

/// The iterations of one call site of one rank: of the thread that called there first.
#[derive(Clone, Debug)]
pub struct AtSite {
    /// What a call here adds to the contents.
    mark: u64,
    thread: u16,
    /// The last call here.
    since: Option<Here>,
    calls: Counted,
    gaps: Gaps,
    /// The first call of the burst.
    burst: Option<Here>,
    bursts: Counted,
}

/// What was counted of iterations that begin in one way.
#[derive(Clone, Debug, Default)]
struct Counted {
    /// The usual contents; 0 of none yet.
    usual: u64,
    votes: u8,
    count: u64,
    sum_ns: u64,
    /// Squares are of distances from the first one: few digits are lost where lengths are alike.
    first_ns: u64,
    squares: f64,
    min_ns: u64,
    max_ns: u64,
    /// Begins in ticks, of the first, the longest and the last one; the last one's end.
    first: u64,
    longest: u64,
    last: (u64, u64),
    others: u64,
    others_ns: u64,
}

impl AtSite {
    /// Of the call site with this number.
    pub fn new(number: u32) -> AtSite {
        AtSite {
            mark: mark(number),
            thread: 0,
            since: None,
            calls: Counted::default(),
            gaps: Gaps::default(),
            burst: None,
            bursts: Counted::default(),
        }
    }

    /// A thread begins a call here at `at`. What it did before `known_since` is not known; both in
    /// ticks. `ns` gives the time between two ticks without pauses.
    #[inline(always)]
    pub fn call(
        &mut self,
        (thread, stream): (u16, &mut Stream),
        at: u64,
        known_since: u64,
        ns: impl Fn(u64, u64) -> u64,
    ) {
        let here = Here {
            at,
            stream: *stream,
        };
        stream.contents = stream.contents.wrapping_add(self.mark);
        match &self.since {
            Some(since) if self.thread == thread => {
                let is_whole =
                    since.stream.interrupted == here.stream.interrupted && since.at >= known_since;
                if is_whole {
                    let length_ns = ns(since.at, at);
                    self.calls.add(since, &here, length_ns);
                    if self.gaps.is_long(length_ns) {
                        if let Some(first) = &self.burst {
                            self.bursts.add(first, &here, ns(first.at, at));
                        }
                        self.burst = Some(here);
                    }
                } else {
                    self.burst = None;
                }
            }
            // Another thread's iterations are not its.
            Some(_) => return,
            None => self.thread = thread,
        }
        self.since = Some(here);
    }

    /// What was counted, each way that has something.
    pub fn lengths(
        &self,
        rank: Rank,
        job_ns: &impl Fn(u64) -> u64,
    ) -> impl Iterator<Item = (Begin, Lengths)> {
        let each = [(Begin::Call, &self.calls), (Begin::Burst, &self.bursts)];
        let each = each.map(|(begin, of)| (begin, of.lengths(rank, job_ns)));
        each.into_iter()
            .filter(|(_, of)| of.count() != 0 && (of.others <= of.time.count.max(OTHERS_FEW)))
    }

    /// Counts anew. Iterations go on.
    pub fn clear(&mut self) {
        self.calls.clear();
        self.bursts.clear();
    }
}

impl Counted {
    #[inline]
    fn add(&mut self, from: &Here, to: &Here, ns: u64) {
        let contents = to.stream.contents.wrapping_sub(from.stream.contents);
        if !self.is_usual(contents) {
            self.others += 1;
            self.others_ns = self.others_ns.saturating_add(ns);
            return;
        }
        if self.count == 0 {
            (self.first_ns, self.min_ns) = (ns, ns);
            self.first = from.at;
        }
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        let distance = ns as f64 - self.first_ns as f64;
        self.squares += distance * distance;
        self.min_ns = self.min_ns.min(ns);
        if ns > self.max_ns || self.count == 1 {
            (self.max_ns, self.longest) = (ns, from.at);
        }
        self.last = (from.at, to.at);
    }

    #[inline]
    fn is_usual(&mut self, contents: u64) -> bool {
        if contents == self.usual {
            self.votes = (self.votes + 1).min(VOTES_MAX);
            return true;
        }
        let is_first = self.usual == 0;
        match self.votes.checked_sub(1) {
            Some(votes) => self.votes = votes,
            None => (self.usual, self.votes) = (contents, 1),
        }
        is_first
    }

    fn lengths(&self, rank: Rank, job_ns: &impl Fn(u64) -> u64) -> Lengths {
        let (others, others_ns) = (self.others, self.others_ns);
        if self.count == 0 {
            return Lengths {
                others,
                others_ns,
                ..Lengths::EMPTY
            };
        }
        let count = self.count as f64;
        let mean_ns = self.sum_ns as f64 / count;
        let distance = mean_ns - self.first_ns as f64;
        Lengths {
            time: Moments {
                count: self.count,
                sum_ns: self.sum_ns,
                mean_ns,
                m2: (self.squares - count * distance * distance).max(0.0),
                min_ns: self.min_ns,
                max_ns: self.max_ns,
                max_rank: rank,
            },
            longest_from_ns: job_ns(self.longest),
            first_ns: job_ns(self.first),
            last: Past {
                from_ns: job_ns(self.last.0),
                to_ns: job_ns(self.last.1),
            },
            others,
            others_ns,
        }
    }

    fn clear(&mut self) {
        *self = Counted {
            usual: self.usual,
            votes: self.votes,
            ..Counted::default()
        };
    }
}

/// A number that looks random, and is not 0: sums of some differ where these are not the same.
/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mark(number: u32) -> u64 {
    let mut z = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31) | 1
}

impl Sum for Lengths {
    fn add(&mut self, from: &Lengths) {
        let key = |of: &Lengths| {
            let longest = core::cmp::Reverse((of.time.max_rank, of.longest_from_ns));
            (of.time.count != 0, of.time.max_ns, longest)
        };
        if key(from) > key(self) {
            self.longest_from_ns = from.longest_from_ns;
        }
        moments::merge(&mut self.time, &from.time);
        self.first_ns = self.first_ns.min(from.first_ns);
        let end = |of: &Past| (of.to_ns, of.from_ns);
        if end(&from.last) > end(&self.last) {
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
