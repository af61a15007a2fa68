//! What the analyses answer.

use super::Analyses;
use super::pieces::{Chosen, Piece};
use invivo_analysis::functions;
use invivo_analysis::rank_rows::RankRows;
use invivo_analysis::sites::Found;
use invivo_analysis::waits::Sums;
use invivo_proto::control::profile::Past;
use invivo_proto::control::results::{FunctionTable, Matrix, Messages};
use invivo_proto::control::wait_states::WaitStates;

impl Analyses {
    /// The function table so far or of some time, with at most so many rows by rank.
    pub fn functions(&self, rank_rows_max: u32, past: Option<Past>) -> FunctionTable {
        let chosen = self.chosen(past);
        let rows = rows(&chosen, |piece| &piece.functions, || self.functions.rows());
        FunctionTable {
            past: chosen.of,
            ..functions::table(&rows, rank_rows_max)
        }
    }

    /// The table of call sites so far or of some time, without names, with at most so many rows.
    pub fn sites(&self, rows_max: u32, past: Option<Past>) -> Found {
        let chosen = self.chosen(past);
        let rows = rows(&chosen, |piece| &piece.sites, || self.sites.rows());
        let waits = self.waits(&chosen);
        let mut found = self.sites.table(&rows, rows_max, Some(&waits));
        found.table.past = chosen.of;
        found
    }

    /// What an answer is made of.
    fn chosen(&self, past: Option<Past>) -> Chosen<'_> {
        self.pieces.choose(past, self.anchor.1)
    }

    /// Waiting in what was chosen.
    fn waits(&self, chosen: &Chosen<'_>) -> Sums {
        let mut sums = Sums::default();
        for piece in &chosen.pieces {
            sums.add(&piece.waits);
        }
        if chosen.with_now {
            sums.add(self.traffic.waits().sums());
        }
        sums
    }

    /// The communication matrix so far, in at most so many rows and columns.
    pub fn matrix(&self, side_max: u32) -> Matrix {
        self.matrix.to_partial(self.job_ranks, side_max)
    }

    /// Messages so far.
    pub fn messages(&self) -> Messages {
        self.traffic.partial()
    }

    /// Who waited for whom so far or in some time, with so many rows by rank at most.
    pub fn wait_states(&self, ranks_max: u32, past: Option<Past>) -> WaitStates {
        let chosen = self.chosen(past);
        let mut partial = self.waits(&chosen).to_partial(ranks_max);
        // Calls that wait for others do so now.
        if chosen.with_now {
            self.traffic.waits().add_open(&mut partial);
        }
        WaitStates {
            past: chosen.of,
            ..partial
        }
    }
}

/// The rows of what was chosen; `now` are those of the piece that is not over.
fn rows<K: Copy + Ord>(
    chosen: &Chosen<'_>,
    of: impl Fn(&Piece) -> &RankRows<K>,
    now: impl FnOnce() -> RankRows<K>,
) -> RankRows<K> {
    let mut rows = if chosen.with_now {
        now()
    } else {
        RankRows::default()
    };
    for piece in &chosen.pieces {
        rows.add(of(piece));
    }
    rows
}
