//! Merges acknowledgements of a command on their way up.

use crate::missing;
use invivo_proto::control::tree::{Acks, Cut, FAILURES_MAX};

/// Adds the acknowledgements of other ranks. Of the failures the lowest ranks stay, and of two
/// equally slow ranks the lower one, so that the order of arrival does not matter.
pub fn merge(into: &mut Acks, from: Acks) {
    let Acks {
        targets,
        done,
        held_in_mpi,
        partly,
        slowest,
        failures,
        missing: absent,
        from: from_cut,
        to,
        complete_ns,
        clipped,
        open,
        // Every field is named, so that a new one cannot be forgotten here.
    } = from;
    into.targets = into.targets.saturating_add(targets);
    into.done = into.done.saturating_add(done);
    into.held_in_mpi = into.held_in_mpi.saturating_add(held_in_mpi);
    into.partly = into.partly.saturating_add(partly);
    into.slowest = match (into.slowest, slowest) {
        (Some(one), Some(other)) => Some(core::cmp::max_by_key(one, other, |&(rank, ns)| {
            (ns, core::cmp::Reverse(rank))
        })),
        (one, other) => one.or(other),
    };

    into.failures.extend(failures);
    // The lowest of a union are among the lowest of its parts: any tree keeps the same.
    into.failures.sort_unstable();
    into.failures.truncate(FAILURES_MAX);
    missing::note(&mut into.missing, absent);
    into.from = merge_cuts(into.from, from_cut);
    into.to = merge_cuts(into.to, to);
    // Complete on all ranks is complete on the last.
    into.complete_ns = into.complete_ns.max(complete_ns);
    into.clipped = into.clipped.saturating_add(clipped);
    into.open = into.open.saturating_add(open);
}

/// Where a cut lay on all of the ranks, from where it lay on some and on the others.
fn merge_cuts(one: Option<Cut>, other: Option<Cut>) -> Option<Cut> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Cut {
            earliest_ns: one.earliest_ns.min(other.earliest_ns),
            latest_ns: one.latest_ns.max(other.latest_ns),
            error_ns: one.error_ns.max(other.error_ns),
        }),
        (one, other) => one.or(other),
    }
}
