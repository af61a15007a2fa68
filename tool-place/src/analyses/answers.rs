//! What the analyses answer.

use super::Analyses;
use super::pieces::Piece;
use crate::over_time::JobTime;
use invivo_analysis::history::Within;
use invivo_analysis::rank_rows::{RankRows, Sum};
use invivo_analysis::sites::{At, Beginning, Found};
use invivo_analysis::waits::Sums;
use invivo_analysis::{functions, histogram, messages, regions};
use invivo_proto::control::histogram::Distribution;
use invivo_proto::control::iterations::Lengths;
use invivo_proto::control::profile::Past;
use invivo_proto::control::results::{FunctionTable, Matrix, Messages};
use invivo_proto::control::wait_states::WaitStates;
use invivo_proto::ids::{Rank, RegionId};

impl Analyses {
    /// The function table so far or of some time, with at most so many rows by rank.
    pub fn functions(&self, rank_rows_max: u32, past: Option<Past>) -> FunctionTable {
        let chosen = self.chosen(past);
        let rows = rows(&chosen, |piece| &piece.functions, || self.functions.rows());
        let mut table = functions::table(&rows, rank_rows_max);
        for (_, (_, region), of) in self.distributions(&chosen).iter() {
            // Where functions are off, there are no rows of them.
            if table.rows.contains_key(&region) {
                histogram::add(table.distributions.entry(region).or_default(), of);
            }
        }
        FunctionTable {
            past: chosen.of,
            ..table
        }
    }

    /// The table of call sites so far or of some time, without names, with at most so many rows.
    pub fn sites(&mut self, rows_max: u32, past: Option<Past>) -> Found {
        self.settle_waits();
        let chosen = self.chosen(past);
        let rows = rows(&chosen, |piece| &piece.sites, || self.sites.rows());
        let distributions = self.distributions(&chosen);
        let iterations = self::rows(&chosen, |piece| &piece.iterations, || self.iterations());
        let waits = self.waits(&chosen);
        let sites = &self.sites;
        let mut found = sites.table(&rows, &distributions, &iterations, rows_max, Some(&waits));
        found.table.past = chosen.of;
        found
    }

    /// How calls are distributed that were chosen.
    fn distributions(&self, chosen: &Within<'_, Piece>) -> RankRows<At, Distribution> {
        let now = || self.sites.distributions();
        rows(chosen, |piece| &piece.distributions, now)
    }

    /// Iterations in the piece that is not over.
    pub(super) fn iterations(&self) -> RankRows<Beginning, Lengths> {
        let (anchor, clock) = (self.anchor, &self.clock);
        let job = JobTime { anchor, clock };
        self.sites.iterations(&job)
    }

    /// What an answer is made of.
    fn chosen(&self, past: Option<Past>) -> Within<'_, Piece> {
        self.pieces.choose(past, self.anchor.1)
    }

    /// Waiting in what was chosen.
    fn waits(&self, chosen: &Within<'_, Piece>) -> Sums {
        let mut sums = Sums::default();
        for piece in &chosen.pieces {
            sums.add(&piece.waits);
        }
        if chosen.with_now {
            sums.add(self.traffic.waits().sums());
        }
        sums
    }

    /// The communication matrix so far or of some time, in at most so many rows and columns.
    pub fn matrix(&self, side_max: u32, past: Option<Past>) -> Matrix {
        let chosen = self.pieces.choose_cells(past, self.anchor.1);
        let cells = rows(&chosen, |piece| &piece.0, || self.matrix.rows());
        Matrix {
            past: chosen.of,
            ..self.matrix.table(&cells, self.job_ranks, side_max)
        }
    }

    /// Messages so far or of some time.
    pub fn messages(&self, past: Option<Past>) -> Messages {
        let chosen = self.chosen(past);
        let messages = self.traffic.messages();
        let mut sums = messages::EMPTY;
        for piece in &chosen.pieces {
            messages::merge(&mut sums, &piece.messages);
        }
        if chosen.with_now {
            messages::merge(&mut sums, &messages.sums());
            // What waits for definitions does so now.
            messages.add_unresolved(&mut sums);
        }
        Messages {
            past: chosen.of,
            ..sums
        }
    }

    /// The table of regions so far or of some time, without names, with at most so many rows.
    /// `is_off` says which a rank does not record.
    pub fn regions(
        &self,
        rows_max: u32,
        past: Option<Past>,
        is_off: impl Fn(Rank, RegionId) -> bool,
    ) -> regions::Found {
        let chosen = self.chosen(past);
        let rows = rows(&chosen, |piece| &piece.regions, || self.regions.rows());
        let mut found = self.regions.table(&rows, rows_max, is_off);
        found.table.past = chosen.of;
        found
    }

    /// Who waited for whom so far or in some time, with so many rows by rank at most.
    pub fn wait_states(&mut self, ranks_max: u32, past: Option<Past>) -> WaitStates {
        self.settle_waits();
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
fn rows<P, K: Copy + Ord, V: Sum>(
    chosen: &Within<'_, P>,
    of: impl Fn(&P) -> &RankRows<K, V>,
    now: impl FnOnce() -> RankRows<K, V>,
) -> RankRows<K, V> {
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
