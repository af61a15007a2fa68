//! What is counted of iterations that begin in one way: how long the usual ones are, and how many
//! others there are.

use super::stream::{Here, Stream};
use invivo_proto::control::iterations::Lengths;
use invivo_proto::control::profile::Past;
use invivo_proto::control::results::Moments;
use invivo_proto::ids::Rank;

/// So many votes at most for the usual contents: so many others in a row have them replaced by
/// those that come next.
const VOTES_MAX: u8 = 8;

#[derive(Clone, Debug, Default)]
pub struct Counted {
    usual: Usual,
    /// The first one of its kind, until another one says that it is usual.
    first: Option<Iteration>,
    count: u64,
    sum_ns: u64,
    /// Squares are of distances from this one: few digits are lost where lengths are alike.
    origin_ns: u64,
    squares: f64,
    min_ns: u64,
    longest: Iteration,
    /// When the first began, in ticks.
    first_from: u64,
    last: Iteration,
    others: u64,
    others_ns: u64,
}

/// The contents that most have.
#[derive(Clone, Debug, Default)]
struct Usual {
    /// A sum of calls that has them.
    sum: u64,
    /// The call sites.
    sites: u64,
    votes: u8,
}

/// From when to when it was, in ticks, and its length without pauses.
#[derive(Clone, Copy, Debug, Default)]
struct Iteration {
    from: u64,
    to: u64,
    ns: u64,
}

impl Counted {
    /// An iteration from one call to another took so long.
    #[inline]
    pub fn add(&mut self, (from, to): (&Here, &Here), stream: &Stream, ns: u64) {
        let iteration = Iteration {
            from: from.at,
            to: to.at,
            ns,
        };
        let sum = to.sum(from);
        if sum == self.usual.sum && self.first.is_none() {
            self.usual.vote();
            return self.count(iteration);
        }
        self.judge(sum, stream.sites(from), iteration);
    }

    /// The same where other calls were made, or it is not known what is usual.
    fn judge(&mut self, sum: u64, sites: u64, iteration: Iteration) {
        if sites == self.usual.sites {
            self.usual.sum = sum;
            self.usual.vote();
            if let Some(first) = self.first.take() {
                self.count(first);
            }
            return self.count(iteration);
        }
        match self.usual.votes.checked_sub(1) {
            Some(votes) => {
                self.usual.votes = votes;
                self.other(iteration);
            }
            None => {
                self.usual = Usual {
                    sum,
                    sites,
                    votes: 1,
                };
                if let Some(first) = self.first.replace(iteration) {
                    self.other(first);
                }
            }
        }
    }

    #[inline(always)]
    fn count(&mut self, iteration: Iteration) {
        let ns = iteration.ns;
        if self.count == 0 {
            (self.origin_ns, self.min_ns) = (ns, ns);
            self.first_from = iteration.from;
        }
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        let distance = ns as f64 - self.origin_ns as f64;
        self.squares += distance * distance;
        self.min_ns = self.min_ns.min(ns);
        if ns > self.longest.ns || self.count == 1 {
            self.longest = iteration;
        }
        self.last = iteration;
    }

    fn other(&mut self, iteration: Iteration) {
        self.others += 1;
        self.others_ns = self.others_ns.saturating_add(iteration.ns);
    }

    /// All of it but the first of a kind. `job_ns` gives the job time of ticks.
    pub fn lengths(&self, rank: Rank, job_ns: &impl Fn(u64) -> u64) -> Lengths {
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
        let distance = mean_ns - self.origin_ns as f64;
        let past = |of: &Iteration| Past {
            from_ns: job_ns(of.from),
            to_ns: job_ns(of.to),
        };
        Lengths {
            time: Moments {
                count: self.count,
                sum_ns: self.sum_ns,
                mean_ns,
                m2: (self.squares - count * distance * distance).max(0.0),
                min_ns: self.min_ns,
                max_ns: self.longest.ns,
                max_rank: rank,
            },
            longest: past(&self.longest),
            first_ns: job_ns(self.first_from),
            last: past(&self.last),
            others,
            others_ns,
        }
    }

    /// Counts anew; what is usual stays.
    pub fn clear(&mut self) {
        *self = Counted {
            usual: self.usual.clone(),
            first: self.first,
            ..Counted::default()
        };
    }
}

impl Usual {
    #[inline(always)]
    fn vote(&mut self) {
        self.votes = (self.votes + 1).min(VOTES_MAX);
    }
}
