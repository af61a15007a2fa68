//! A known selection.

use invivo_proto::control::selection::{Fits, Rule, SelectionStatus};
use invivo_proto::mpi::Group;

/// All of MPI's functions but collectives are left out, and regions with a name that begins so.
pub fn selection() -> SelectionStatus {
    let rule = |include, fits| Rule { include, fits };
    SelectionStatus {
        ranks: 4,
        rules: vec![
            (rule(false, Fits::Name("MPI_*".into())), 0),
            (rule(true, Fits::Group(Group::Collective)), 0),
            (rule(false, Fits::Name("tiny_*".into())), 8),
        ],
        regions_on: 12,
        regions_off: 8,
        undecided: 4,
        same: 3,
        since_ns: 5_000_000_000,
        calls_off: 40,
    }
}
