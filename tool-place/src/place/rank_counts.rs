//! Says what ranks have counted in their pages: processes that they have spawned, and calls that
//! they have left by a jump.

use super::local_ranks::LocalRanks;
use invivo_proto::ids::Rank;
use invivo_proto::shm::Page;
use std::sync::atomic::{AtomicU32, Ordering};

/// Ranks that a sentence names.
const RANKS_NAMED: usize = 3;

/// The sentences for the status answer.
pub fn notes(local: &LocalRanks) -> impl Iterator<Item = String> {
    let spawned = Counted::of(local, |page| &page.spawned);
    let left = Counted::of(local, |page| &page.left_calls);
    let spawned = spawned.map(|counted| counted.spawned());
    spawned
        .into_iter()
        .chain(left.map(|counted| counted.left()))
}

/// How many of something there were, and of which ranks.
struct Counted {
    count: u64,
    ranks: Vec<Rank>,
}

impl Counted {
    /// Nothing where there was none.
    fn of(local: &LocalRanks, count: fn(&Page) -> &AtomicU32) -> Option<Counted> {
        let mut all = Counted {
            count: 0,
            ranks: Vec::new(),
        };
        for (rank, one) in local.iter() {
            let page = one.memory().map(|memory| count(memory.page()));
            let more = page.map_or(0, |count| count.load(Ordering::Relaxed));
            if more != 0 {
                all.count += u64::from(more);
                all.ranks.push(rank);
            }
        }
        (all.count != 0).then_some(all)
    }

    fn spawned(&self) -> String {
        let (processes, run) = match self.count {
            1 => ("process was", "runs"),
            _ => ("processes were", "run"),
        };
        let (count, ranks) = (self.count, self.ranks());
        format!("{count} {processes} spawned by {ranks} and {run} unobserved")
    }

    fn left(&self) -> String {
        let (calls, ends) = match self.count {
            1 => (
                "call",
                "was left by a jump or an exception out of a callback: it ends",
            ),
            _ => (
                "calls",
                "were left by a jump or an exception out of a callback: they end",
            ),
        };
        let (count, ranks) = (self.count, self.ranks());
        format!("{count} {calls} of {ranks} {ends} where that began, as far as it is known")
    }

    /// `rank 3`, `ranks 0, 3`, `ranks 0, 3, 4 and 2 more`.
    fn ranks(&self) -> String {
        let named = self.ranks.iter().take(RANKS_NAMED).map(Rank::to_string);
        let names = named.collect::<Vec<_>>().join(", ");
        match self.ranks.len() {
            1 => format!("rank {names}"),
            more if more > RANKS_NAMED => format!("ranks {names} and {} more", more - RANKS_NAMED),
            _ => format!("ranks {names}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_ranks_are_named() {
        let of = |count, ranks: &[u32]| Counted {
            count,
            ranks: ranks.iter().copied().map(Rank).collect(),
        };
        assert_eq!(
            of(1, &[0]).spawned(),
            "1 process was spawned by rank 0 and runs unobserved"
        );
        assert_eq!(
            of(9, &[0, 3, 4, 5, 9]).spawned(),
            "9 processes were spawned by ranks 0, 3, 4 and 2 more and run unobserved"
        );
        assert!(
            of(1, &[7])
                .left()
                .starts_with("1 call of rank 7 was left by a jump")
        );
        assert!(
            of(5, &[7, 8])
                .left()
                .starts_with("5 calls of ranks 7, 8 were left by")
        );
    }
}
