//! What was counted in pieces of the run, so that tables of any interval can be asked for.

use invivo_analysis::history::{Counted, History, Within};
use invivo_analysis::matrix::{Directions, With};
use invivo_analysis::messages;
use invivo_analysis::rank_rows::RankRows;
use invivo_analysis::regions::Row;
use invivo_analysis::sites;
use invivo_analysis::waits::Sums;
use invivo_proto::control::histogram::Distribution;
use invivo_proto::control::iterations::Lengths;
use invivo_proto::control::profile::Past;
use invivo_proto::control::results::Messages;
use invivo_proto::ids::{Rank, RegionId};

/// Rows that are kept of a rank, of some hundred bytes each: 2 MB. A rank that has eighty of them
/// in each second, by function, place, distribution, iteration and wait state, has room for as many
/// pieces as there may be.
const ROWS_OF_RANK: usize = 16 << 10;
/// Bytes of a row, where these are counted.
const ROW_BYTES: usize = 100;
/// Cells of the matrix that are kept of a rank, of 48 bytes: 192 KiB. Where ranks have many peers,
/// pieces of the matrix are wider than those of tables.
const CELLS_OF_RANK: usize = 1 << 12;

/// What was counted in a piece of the run, but for the matrix.
#[derive(Clone, Debug)]
pub struct Piece {
    pub functions: RankRows<RegionId>,
    pub sites: RankRows<sites::At>,
    pub distributions: RankRows<sites::At, Distribution>,
    pub iterations: RankRows<sites::Beginning, Lengths>,
    pub regions: RankRows<RegionId, Row>,
    pub messages: Messages,
    pub waits: Sums,
}

/// The cells of the matrix in a piece of the run.
#[derive(Clone, Debug, Default)]
pub struct Cells(pub RankRows<With, Directions>);

// What the memory that the manual states is computed from.
const _: () = assert!(size_of::<((Rank, sites::At), Distribution)>() == 72);
const _: () = assert!(size_of::<((Rank, sites::Beginning), Lengths)>() == 128);
const _: () = assert!(size_of::<((Rank, With), Directions)>() == 48);

impl Default for Piece {
    fn default() -> Piece {
        Piece {
            functions: RankRows::default(),
            sites: RankRows::default(),
            distributions: RankRows::default(),
            iterations: RankRows::default(),
            regions: RankRows::default(),
            messages: messages::EMPTY,
            waits: Sums::default(),
        }
    }
}

impl Counted for Piece {
    fn add(&mut self, from: &Piece) {
        self.functions.add(&from.functions);
        self.sites.add(&from.sites);
        sites::limit(&mut self.sites);
        self.distributions.add(&from.distributions);
        sites::limit(&mut self.distributions);
        // There are as many as rows of calls, in which further sites are others.
        self.iterations.add(&from.iterations);
        self.regions.add(&from.regions);
        messages::merge(&mut self.messages, &from.messages);
        self.waits.add(&from.waits);
    }

    fn rows(&self) -> usize {
        let calls = self.functions.len() + self.sites.len() + self.iterations.len();
        let distributions = self.distributions.iter();
        // Three bytes for each bin, of which there are some ten or some hundred.
        let bins = distributions.map(|(_, _, of)| of.durations.bytes() + of.sizes.bytes());
        let distributions = self.distributions.len() + bins.sum::<usize>() / ROW_BYTES;
        calls + distributions + self.regions.len() + self.waits.rows()
    }
}

impl Counted for Cells {
    fn add(&mut self, from: &Cells) {
        self.0.add(&from.0);
    }

    fn rows(&self) -> usize {
        self.0.len()
    }
}

/// The pieces of the run so far.
pub struct Pieces {
    tables: History<Piece>,
    cells: History<Cells>,
}

impl Pieces {
    /// Of a place with so many ranks.
    pub fn new(ranks: usize) -> Pieces {
        Pieces {
            tables: History::new(ROWS_OF_RANK * ranks.max(1)),
            cells: History::new(CELLS_OF_RANK * ranks.max(1)),
        }
    }

    /// Those of tables that a time touches; of all of it where none is given.
    pub fn choose(&self, past: Option<Past>, now_ns: u64) -> Within<'_, Piece> {
        past.map_or_else(
            || self.tables.all(),
            |past| self.tables.within(past, now_ns),
        )
    }

    /// The same of the matrix.
    pub fn choose_cells(&self, past: Option<Past>, now_ns: u64) -> Within<'_, Cells> {
        past.map_or_else(|| self.cells.all(), |past| self.cells.within(past, now_ns))
    }

    /// Time has passed: whether a piece is over.
    #[inline]
    pub fn are_due(&mut self, now_ns: u64) -> bool {
        // Both have to know when the run begins.
        let (tables, cells) = (self.tables.is_due(now_ns), self.cells.is_due(now_ns));
        tables || cells
    }

    /// A piece is over, in which this was counted.
    pub fn end_piece(&mut self, now_ns: u64, piece: Piece, cells: Cells) {
        self.tables.end_piece(now_ns, piece);
        self.cells.end_piece(now_ns, cells);
    }

    /// Forgets everything: the run begins at `at_ns` (job time).
    pub fn forget(&mut self, at_ns: u64) {
        self.tables.forget(at_ns);
        self.cells.forget(at_ns);
    }
}
