//! The state of a hold in force: its lease, its ranks, and the command that waits for them.

use super::requested::{Asked, fail};
use invivo_proto::ids::Rank;
use std::collections::BTreeSet;

/// Where a rank is with respect to the end of its `MPI_Init`.
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
    /// The command that is answered once all ranks are held.
    pub asked: Option<Asked>,
}

impl Hold {
    /// Notes that a rank is held, or why it never will be.
    pub fn answered(&mut self, now_ns: u64, rank: Rank, why_not: Option<&str>) {
        if let Some(asked) = &mut self.asked {
            asked.answered(now_ns, rank, |acks| match why_not {
                Some(why) => fail(acks, rank, why),
                None => acks.done += 1,
            });
        }
    }
}
