//! How partial results become one: the analyses' business, given to the node by its driver.

use core::fmt;
use invivo_proto::control::results::{FunctionTable, JobStatus, MatrixPartial};
use invivo_proto::control::tree::{Partial, Query};

/// Merges partial results. The merge is associative and commutative up to rounding, because results come in
/// any order from any depth.
pub trait Law {
    /// Adds `from` to `into`.
    ///
    /// # Errors
    /// When the two answer different questions; `into` is as it was.
    fn merge(&self, into: &mut Partial, from: Partial) -> Result<(), Mismatch>;
}

/// Two partial results that answer different questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What was asked for.
    pub asked: &'static str,
    /// What came.
    pub came: &'static str,
}

impl Mismatch {
    /// Of these two results.
    pub fn of(asked: &Partial, came: &Partial) -> Mismatch {
        Mismatch {
            asked: name(asked),
            came: name(came),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a partial result of the wrong kind: asked for {}, came {}",
            self.asked, self.came
        )
    }
}

impl core::error::Error for Mismatch {}

fn name(partial: &Partial) -> &'static str {
    match partial {
        Partial::Functions(_) => "functions",
        Partial::Matrix(_) => "matrix",
        Partial::Status(_) => "status",
    }
}

/// The answer of nobody.
pub fn nothing(query: Query) -> Partial {
    match query {
        Query::Functions { .. } => Partial::Functions(FunctionTable::default()),
        Query::Matrix => Partial::Matrix(MatrixPartial::default()),
        Query::Status => Partial::Status(JobStatus::default()),
    }
}
