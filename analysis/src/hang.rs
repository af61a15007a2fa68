//! The analysis of hangs: merges the pending calls of all ranks, and finds which ranks can never go
//! on.
//!
//! Places report what each of their ranks' pending calls needs; the tree adds that up without
//! growing with the job; the root builds the wait-for graph of it.
//!
//! ```text
//! rank     a pending call with its operations                    told by its place
//! Hang    classes of ranks, pending calls of the first so many  merged in the tree
//! graph    for each rank what must happen before it goes on      at the root: `explain`
//! ```
//!
//! Lists are merged as sorted sets of which the first so many stay, so the shape of the tree makes
//! no difference.

mod deadlock_search;
mod explain;
mod pairs;
mod sentence;
mod surroundings;
mod wait_for_graph;

pub use explain::explain;
pub use surroundings::{SETTLED_NS, Surroundings};

use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::hang::{
    CLASSES_MAX, Doing, Hang, NAMED_MAX, OPERATIONS_MAX, PASSED_MAX, PENDING_MAX, Pending,
    RankClass, SHARED_MAX, SITE_BYTES_MAX,
};
use invivo_proto::ids::Rank;

/// Adds a rank that does this for so long.
pub fn add(into: &mut Hang, rank: Rank, doing: Doing, since_ns: u64) {
    let class = RankClass {
        ranks: 1,
        named: [rank].into(),
        shortest_ns: since_ns,
        longest_ns: since_ns,
        site: None,
    };
    into.ranks = into.ranks.saturating_add(1);
    add_class(into, doing, class);
    keep_first_classes(into);
}

/// Adds a rank with all of its pending call, cut to what an answer has room for.
pub fn add_pending(into: &mut Hang, mut pending: Pending) {
    if let Some(site) = &mut pending.site {
        let mut bytes = SITE_BYTES_MAX;
        // Never cut inside a UTF-8 character; byte 0 is a boundary, so this ends.
        while !site.is_char_boundary(bytes.min(site.len())) {
            bytes -= 1;
        }
        site.truncate(bytes);
    }

    pending
        .operations
        // Operations that the call waits for come first, so that the cut drops the others. The sort
        // is stable.
        .sort_by_key(|operation| Reverse(operation.waited));
    // The diagnosis must know that something was cut: it then takes the rank for one that may go
    // on.
    pending.more_operations |= pending.operations.len() > OPERATIONS_MAX;
    pending.operations.truncate(OPERATIONS_MAX);
    while pending.passed.len() > PASSED_MAX {
        pending.passed.pop_last();
    }
    while pending.passed_shared.len() > SHARED_MAX {
        pending.passed_shared.pop_last();
    }
    pending.locked.truncate(SHARED_MAX);

    let class = RankClass {
        ranks: 1,
        named: [pending.rank].into(),
        shortest_ns: pending.quiet_ns.min(pending.since_ns),
        longest_ns: pending.since_ns,
        site: pending.site.clone().map(|site| (pending.rank, site)),
    };

    into.ranks = into.ranks.saturating_add(1);
    add_class(into, pending.doing, class);
    keep_first_classes(into);
    into.pending.push(pending);
    keep_first(&mut into.pending);
}

/// Adds the report of other ranks.
pub fn merge(into: &mut Hang, from: Hang) {
    into.ranks = into.ranks.saturating_add(from.ranks);
    into.watched = into.watched.saturating_add(from.watched);
    for (doing, class) in from.classes {
        add_class(into, doing, class);
    }
    keep_first_classes(into);
    into.pending.extend(from.pending);
    keep_first(&mut into.pending);
}

fn add_class(into: &mut Hang, doing: Doing, from: RankClass) {
    let Some(class) = into.classes.get_mut(&doing) else {
        into.classes.insert(doing, from);
        return;
    };

    class.ranks = class.ranks.saturating_add(from.ranks);
    class.shortest_ns = class.shortest_ns.min(from.shortest_ns);
    class.longest_ns = class.longest_ns.max(from.longest_ns);
    class.named.extend(from.named);
    // Lowest ranks first: the lowest of a union are among the lowest of its parts.
    class.named.sort_unstable();
    class.named.dedup();
    class.named.truncate(NAMED_MAX);
    class.site = match (class.site.take(), from.site) {
        // The call site of the lowest rank, whatever the order of the merge.
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
}

fn keep_first_classes(waits: &mut Hang) {
    while waits.classes.len() > CLASSES_MAX {
        waits.classes.pop_last();
    }
}

/// Ranks that wait for messages are told before those in collectives, whose classes say nearly all
/// of them, and these before those that wait for nobody; of equal ones the longest first, as the
/// others mostly wait for these.
fn keep_first(pending: &mut Vec<Pending>) {
    let importance = |doing: Doing| match doing {
        Doing::Messages(_) => 0,
        Doing::Collective(_) => 1,
        _ => 2,
    };
    let order = |pending: &Pending| {
        (
            importance(pending.doing),
            Reverse(pending.since_ns),
            pending.rank,
        )
    };
    pending.sort_by_key(order);
    pending.truncate(PENDING_MAX);
}

#[cfg(test)]
pub(crate) mod tests;
