//! Acknowledgements on their way up.

use crate::missing;
use invivo_proto::control::tree::{Acks, FAILURES_MAX};

/// Adds the acknowledgements of other ranks. Of the failures the lowest ranks stay, and of two equally slow
/// ranks the lower one, so that the order of arrival does not matter.
pub fn merge(into: &mut Acks, from: Acks) {
    let Acks {
        targets,
        done,
        held_in_mpi,
        partly,
        slowest,
        failures,
        missing: absent,
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
    into.failures.sort_unstable();
    into.failures.truncate(FAILURES_MAX);
    missing::note(&mut into.missing, absent);
}
