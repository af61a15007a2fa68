//! Examples of what is recorded of regions and functions.

use invivo_proto::control::selection::{Fits, Rule, Selection, SelectionStatus};
use invivo_proto::mpi::Group;

/// A rule of each kind.
pub fn rules() -> Vec<Rule> {
    let all = [
        (false, Fits::Name("tiny_*".into())),
        (false, Fits::Source("util_*.c".into())),
        (true, Fits::Module("solver".into())),
        (false, Fits::Group(Group::Collective)),
        (
            false,
            Fits::Short {
                visits: 10_000,
                mean_ns: 1_000,
            },
        ),
    ];
    all.map(|(include, fits)| Rule { include, fits }).into()
}

pub fn selection() -> Selection {
    Selection {
        replaces: true,
        rules: rules(),
    }
}

pub fn selection_status() -> SelectionStatus {
    SelectionStatus {
        ranks: 4,
        rules: rules().into_iter().zip(3..).collect(),
        regions_on: 12,
        regions_off: 18,
        undecided: 2,
        same: 3,
        since_ns: 5_000_000_000,
        calls_off: 40,
    }
}
