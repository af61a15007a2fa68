//! One rank that computes less than all the others do: one that hands out work, writes files for
//! all, or has too little of its own.

use super::seen::GOOD;
use invivo_grpc::v1::{Efficiency, GridReply};

/// With fewer ranks the one that computes less is the one that waits for a late one.
const RANKS_MIN: u32 = 3;
/// A rank computes less if it is for this part of what the others do, or shorter.
const LESS: f64 = 0.6;
/// Up to this part of its time a rank computes beside something else that it is there for.
const BESIDE: f64 = 0.1;

/// The rank, and how long ranks computed, as parts of their time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Idle {
    pub rank: u32,
    pub computed: f64,
    /// The mean of the others.
    pub others: f64,
}

impl Idle {
    /// Whether it has no share in the work.
    pub fn is_beside(self) -> bool {
        self.computed < BESIDE
    }
}

/// The rank that computed least, if nothing limits the others. Nothing where the grid does not have
/// all ranks in one row.
pub(super) fn idle(grid: &GridReply, of: &Efficiency) -> Option<Idle> {
    let [row] = grid.rows.as_slice() else {
        return None;
    };
    let total = row.total.filter(|total| total.ranks == of.ranks)?;
    if total.ranks < RANKS_MIN || total.recorded_ns == 0 {
        return None;
    }
    // At the end of a short time more is known of ranks that compute than of those in a call.
    let part = |computed: u64, ranks: u32| {
        let time = total.recorded_ns as f64 / f64::from(total.ranks) * f64::from(ranks);
        (computed as f64 / time).min(1.0)
    };
    let others = part(total.sum.saturating_sub(total.min), total.ranks - 1);
    let computed = part(total.min, 1);
    (others >= GOOD && computed <= LESS * others).then_some(Idle {
        rank: total.min_rank,
        computed,
        others,
    })
}
