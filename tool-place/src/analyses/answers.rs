//! What the analyses answer.

use super::Analyses;
use invivo_analysis::sites::Found;
use invivo_proto::control::results::{FunctionTable, Matrix, Messages};
use invivo_proto::control::wait_states::WaitStates;

impl Analyses {
    /// The function table so far, with at most so many rows by rank.
    pub fn functions(&self, rank_rows_max: u32) -> FunctionTable {
        self.functions.to_partial(rank_rows_max)
    }

    /// The table of call sites so far, without names, with at most so many rows.
    pub fn sites(&self, rows_max: u32) -> Found {
        self.sites.find(rows_max, Some(self.traffic.waits()))
    }

    /// The communication matrix so far, in at most so many rows and columns.
    pub fn matrix(&self, side_max: u32) -> Matrix {
        self.matrix.to_partial(self.job_ranks, side_max)
    }

    /// Messages so far.
    pub fn messages(&self) -> Messages {
        self.traffic.partial()
    }

    /// Who waited for whom so far, with so many rows by rank at most.
    pub fn wait_states(&self, ranks_max: u32) -> WaitStates {
        self.traffic.wait_states(ranks_max)
    }
}
