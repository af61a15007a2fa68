//! Puts aside what was counted in a piece of the run.

use super::Analyses;
use super::pieces::{Cells, Piece};

impl Analyses {
    /// Whether a piece of the run is over. Pieces lie on the axis of job time, so that there is
    /// none before that is known.
    pub fn is_piece_over(&mut self) -> bool {
        self.known_since.is_some() && self.pieces.are_due(self.anchor.1)
    }

    /// A piece of the run is over, and everything that was recorded in it has been taken.
    pub fn end_piece(&mut self) {
        let now_ns = self.anchor.1;
        self.settle_waits();
        let (messages, waits) = self.traffic.take_sums();
        let piece = Piece {
            functions: self.functions.take(),
            sites: self.sites.rows(),
            distributions: self.sites.distributions(),
            iterations: self.iterations(),
            regions: self.regions.take(),
            messages,
            waits,
        };
        self.sites.clear();
        let cells = Cells(self.matrix.take());
        self.pieces.end_piece(now_ns, piece, cells);
    }
}
