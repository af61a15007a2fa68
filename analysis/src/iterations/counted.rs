//! What is counted of iterations that begin in one way: how long the usual ones are, and how many
//! others there are. Times are ticks until somebody asks.

use super::clock::Clock;
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
    count: u64,
    sum: u64,
    /// Squares are of distances from this one: few digits are lost where lengths are alike.
    origin: u64,
    squares: f64,
    min: u64,
    max: u64,
    last: Iteration,
    /// A sum of calls, and their sites: of the last one that was looked at.
    judged: (u64, u64),
    /// When the first began.
    first_from: u64,
    longest: Iteration,
    /// The first one of its kind, until another one says that it is usual, and its length.
    unsure: Option<(Iteration, u64)>,
    others: u64,
    others_sum: u64,
}

/// The contents that most have.
#[derive(Clone, Debug, Default)]
struct Usual {
    /// A sum of calls that has them; 0 while it is not sure that they are usual.
    sum: u64,
    /// The call sites.
    sites: u64,
    votes: u8,
}

/// From when to when it was.
#[derive(Clone, Copy, Debug, Default)]
struct Iteration {
    from: u64,
    to: u64,
}

impl Counted {
    /// An iteration from one call to another took so long, pauses subtracted.
    #[inline(always)]
    pub fn add(&mut self, (from, to): (&Here, &Here), stream: &Stream, length: u64) {
        let iteration = Iteration {
            from: from.at,
            to: to.at,
        };
        let sum = to.sum(from);
        if sum == self.usual.sum {
            self.usual.vote();
            return self.count(iteration, length);
        }
        // What comes in turn with the usual ones is mostly the same again.
        if sum != self.judged.0 {
            self.judged = (sum, stream.sites(from));
        }
        self.judge(sum, iteration, length);
    }

    /// The same where other calls were made, or it is not known what is usual.
    fn judge(&mut self, sum: u64, iteration: Iteration, length: u64) {
        let (_, sites) = self.judged;
        if sites == self.usual.sites {
            self.usual.sum = sum;
            self.usual.vote();
            if let Some((first, length)) = self.unsure.take() {
                self.count(first, length);
            }
            return self.count(iteration, length);
        }
        match self.usual.votes.checked_sub(1) {
            Some(votes) => {
                self.usual.votes = votes;
                self.other(length);
            }
            None => {
                self.usual = Usual {
                    sum: 0,
                    sites,
                    votes: 1,
                };
                if let Some((_, length)) = self.unsure.replace((iteration, length)) {
                    self.other(length);
                }
            }
        }
    }

    #[inline(always)]
    fn count(&mut self, iteration: Iteration, length: u64) {
        if self.count == 0 {
            (self.origin, self.min) = (length, length);
            self.first_from = iteration.from;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(length);
        let distance = length.wrapping_sub(self.origin) as i64 as f64;
        self.squares += distance * distance;
        self.min = self.min.min(length);
        if length > self.max || self.count == 1 {
            (self.max, self.longest) = (length, iteration);
        }
        self.last = iteration;
    }

    fn other(&mut self, length: u64) {
        self.others += 1;
        self.others_sum = self.others_sum.saturating_add(length);
    }

    /// All of it but the first of a kind.
    pub fn lengths(&self, rank: Rank, clock: &impl Clock) -> Lengths {
        let (others, others_ns) = (self.others, clock.duration_ns(self.others_sum));
        if self.count == 0 {
            return Lengths {
                others,
                others_ns,
                ..Lengths::EMPTY
            };
        }
        let past = |of: &Iteration| Past {
            from_ns: clock.job_ns(of.from),
            to_ns: clock.job_ns(of.to),
        };
        Lengths {
            time: self.moments(rank, clock),
            longest: past(&self.longest),
            first_ns: clock.job_ns(self.first_from),
            last: past(&self.last),
            others,
            others_ns,
        }
    }

    fn moments(&self, rank: Rank, clock: &impl Clock) -> Moments {
        let count = self.count as f64;
        let mean = self.sum as f64 / count;
        let distance = mean - self.origin as f64;
        let m2 = (self.squares - count * distance * distance).max(0.0);
        let sum_ns = clock.duration_ns(self.sum);
        let ns_per_tick = sum_ns as f64 / self.sum.max(1) as f64;
        Moments {
            count: self.count,
            sum_ns,
            mean_ns: sum_ns as f64 / count,
            m2: m2 * ns_per_tick * ns_per_tick,
            min_ns: clock.duration_ns(self.min),
            max_ns: clock.duration_ns(self.max),
            max_rank: rank,
        }
    }

    /// Counts anew; what is usual stays.
    pub fn clear(&mut self) {
        *self = Counted {
            usual: self.usual.clone(),
            judged: self.judged,
            unsure: self.unsure,
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
