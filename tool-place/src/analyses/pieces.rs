//! What was counted in pieces of the run, so that tables of any interval can be asked for.

use super::Analyses;
use invivo_analysis::functions::Functions;
use invivo_analysis::history::{Counted, History};
use invivo_analysis::rank_rows::RankRows;
use invivo_analysis::sites::{self, Sites};
use invivo_analysis::waits::{Sums, Waits};
use invivo_proto::control::profile::Past;
use invivo_proto::ids::RegionId;

/// Rows that are kept of a rank, of some hundred bytes each: 1 MiB. Programs that call MPI from
/// thirty places need half of it for as many pieces as there may be.
const ROWS_OF_RANK: usize = 1 << 13;

/// What was counted in a piece of the run.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    pub functions: RankRows<RegionId>,
    pub sites: RankRows<sites::At>,
    pub waits: Sums,
}

impl Counted for Piece {
    fn add(&mut self, from: &Piece) {
        self.functions.add(&from.functions);
        self.sites.add(&from.sites);
        sites::limit(&mut self.sites);
        self.waits.add(&from.waits);
    }

    fn rows(&self) -> usize {
        self.functions.len() + self.sites.len() + self.waits.rows()
    }
}

/// The pieces of which an answer is.
pub struct Chosen<'a> {
    pub pieces: Vec<&'a Piece>,
    /// The piece that is not over belongs to it.
    pub with_now: bool,
    /// Of which time they are, where one was asked for.
    pub of: Option<Past>,
}

/// The pieces of the run so far.
pub struct Pieces(History<Piece>);

impl Pieces {
    /// Of a place with so many ranks.
    pub fn new(ranks: usize) -> Pieces {
        Pieces(History::new(ROWS_OF_RANK * ranks.max(1)))
    }

    /// Those that a time touches, of all of it where none is given.
    pub fn choose(&self, past: Option<Past>, now_ns: u64) -> Chosen<'_> {
        let Some(past) = past else {
            return Chosen {
                pieces: vec![self.0.whole()],
                with_now: true,
                of: None,
            };
        };
        let within = self.0.within(past, now_ns);
        Chosen {
            pieces: within.pieces,
            with_now: within.with_now,
            of: within.of,
        }
    }

    /// Forgets everything: the run begins at `at_ns` (job time).
    pub fn forget(&mut self, at_ns: u64) {
        self.0.forget(at_ns);
    }

    /// Whether a piece is over.
    pub fn are_due(&mut self, now_ns: u64) -> bool {
        self.0.is_due(now_ns)
    }

    /// A piece is over. What was counted in it is taken.
    pub fn end_piece(
        &mut self,
        now_ns: u64,
        functions: &mut Functions,
        sites: &mut Sites,
        waits: &mut Waits,
    ) {
        let piece = Piece {
            functions: functions.take(),
            sites: sites.take(),
            waits: waits.take_sums(),
        };
        self.0.end_piece(now_ns, piece);
    }
}

impl Analyses {
    /// Whether a piece of the run is over. Pieces lie on the axis of job time, so that there is none
    /// before that is known.
    pub fn is_piece_over(&mut self) -> bool {
        self.known_since.is_some() && self.pieces.are_due(self.anchor.1)
    }

    /// A piece of the run is over, and everything that was recorded in it has been taken.
    pub fn end_piece(&mut self) {
        let Analyses {
            pieces,
            functions,
            sites,
            traffic,
            anchor,
            ..
        } = self;
        pieces.end_piece(anchor.1, functions, sites, traffic.waits_mut());
    }
}
