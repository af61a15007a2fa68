//! A hold in force: its lease, its ranks, and the command that waits for them.

use super::asked::{Asked, fail};
use invivo_proto::ids::Rank;
use std::collections::BTreeSet;

/// Where a rank is, as far as a hold is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Not through `MPI_Init`: the closed gate will hold it there.
    Before,
    /// Held right behind it.
    Behind,
    /// Too late for a hold.
    Past,
}

/// A hold in force.
#[derive(Debug)]
pub(super) struct Hold {
    pub lease_end_ns: u64,
    /// Ranks whose gate it keeps closed.
    pub ranks: BTreeSet<Rank>,
    /// A command that waits for all to stand.
    pub asked: Option<Asked>,
}

impl Hold {
    /// A rank stands, or why it never will.
    pub fn answered(&mut self, now_ns: u64, rank: Rank, why_not: Option<&str>) {
        if let Some(asked) = &mut self.asked {
            asked.answered(now_ns, rank, |acks| match why_not {
                Some(why) => fail(acks, rank, why),
                None => acks.done += 1,
            });
        }
    }
}
