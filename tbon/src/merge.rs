//! The trait by which a node merges partial results; the analyses implement it.

use alloc::boxed::Box;
use core::fmt;
use invivo_proto::control::buffers::{Buffers, Records};
use invivo_proto::control::regions::RegionTable;
use invivo_proto::control::results::{FunctionTable, JobStatus, Matrix};
use invivo_proto::control::sites::SiteTable;
use invivo_proto::control::timeline::Timeline;
use invivo_proto::control::tree::{Partial, Query};
use invivo_proto::control::wait_states::WaitStates;

/// Merges partial results. The merge is associative and commutative up to rounding, because results
/// come in any order from any depth. A function like `invivo_analysis::merge::merge` is one as it
/// stands.
pub trait Merge {
    /// Adds `from` to `into`.
    ///
    /// # Errors
    /// When the two answer different questions; `into` is as it was.
    fn merge(&self, into: &mut Partial, from: Partial) -> Result<(), Mismatch>;
}

impl<F, E> Merge for F
where
    F: Fn(&mut Partial, Partial) -> Result<(), E>,
{
    fn merge(&self, into: &mut Partial, from: Partial) -> Result<(), Mismatch> {
        self(into, from).map_err(|_| Mismatch)
    }
}

/// Two partial results that answer different questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch;

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a partial result that answers another question")
    }
}

impl core::error::Error for Mismatch {}

/// The answer of nobody.
pub(crate) fn nothing(query: Query) -> Partial {
    match query {
        Query::Functions { rank_rows_max, .. } => Partial::Functions(FunctionTable {
            rank_rows_max,
            ..FunctionTable::default()
        }),
        Query::Matrix { .. } => Partial::Matrix(Matrix::default()),
        Query::Status => Partial::Status(JobStatus::default()),
        Query::Messages { .. } => Partial::Messages(Box::default()),
        Query::Buffers => Partial::Buffers(Buffers::default()),
        Query::Records { .. } => Partial::Records(Records::default()),
        Query::Timeline { .. } => Partial::Timeline(Timeline::default()),
        Query::Hang { .. } => Partial::Hang(Box::default()),
        Query::Stacks { .. } => Partial::Stacks(Box::default()),
        Query::Profile { .. } => Partial::Profile(Box::default()),
        Query::Analyses => Partial::Analyses(Box::default()),
        Query::Grid(_) => Partial::Grid(Box::default()),
        Query::Sites { rows_max, .. } => Partial::Sites(Box::new(SiteTable {
            rows_max,
            ..SiteTable::default()
        })),
        Query::Regions { rows_max, .. } => Partial::Regions(Box::new(RegionTable {
            rows_max,
            ..RegionTable::default()
        })),
        Query::Save(_) => Partial::Saved(Box::default()),
        Query::Selection => Partial::Selection(Box::default()),
        Query::Metrics => Partial::Metrics(Box::default()),
        Query::WaitStates { ranks_max, .. } => Partial::WaitStates(Box::new(WaitStates {
            ranks_max,
            ..WaitStates::default()
        })),
    }
}
