//! What the pages are drawn from: snapshots, and the tables that were asked for.

use super::history::History;
use invivo_grpc::v1::{
    FunctionsReply, GridReply, MatrixReply, Snapshot, TableInterval, WaitStatesReply,
};
use invivo_report::analyses;
use invivo_report::explain::Explanation;
use invivo_report::units::duration;

/// What tables are of, where they are not of the whole run: this long up to now, in ns.
pub const LATELY_NS: u64 = 60_000_000_000;

/// What the pages are drawn from.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// The newest snapshot.
    pub snapshot: Option<Snapshot>,
    /// The one before it.
    pub before: Option<Snapshot>,
    /// Rates.
    pub history: History,
    /// Functions, matrix, waits and ranks over time are of the last minute, not of the whole run.
    pub lately: bool,
    /// The newest function table of the last minute.
    pub functions: Option<FunctionsReply>,
    /// The newest matrix.
    pub matrix: Option<MatrixReply>,
    /// The newest picture of the ranks over time.
    pub grid: Option<GridReply>,
    /// The newest wait states.
    pub waits: Option<WaitStatesReply>,
    /// What limits the job, by its last seconds.
    pub explained: Option<Explanation>,
}

impl Picture {
    /// What stands behind a page's title: of which time its table is, as the answer says.
    pub fn of_time(&self, interval: Option<&TableInterval>) -> String {
        match (self.lately, interval) {
            (true, Some(of)) => {
                let length = of.to_ns.saturating_sub(of.from_ns);
                format!("the last {}", duration(length))
            }
            (true, None) => "the last minute".to_owned(),
            (false, _) => "since the start or the last reset".to_owned(),
        }
    }

    pub fn show(&mut self, table: Table) {
        match table {
            Table::Functions(functions) => self.functions = Some(functions),
            Table::Matrix(matrix) => self.matrix = Some(matrix),
            Table::Grid(grid) => self.grid = Some(grid),
            Table::Waits(waits) => self.waits = Some(waits),
        }
    }

    /// The last minute instead of the whole run, or the other way round: what is known is of the
    /// other one.
    pub fn turn(&mut self, lately: bool) {
        self.lately = lately;
        (self.functions, self.matrix, self.grid, self.waits) = (None, None, None, None);
    }

    /// What the pages say of an analysis that is or was off; nothing where it was always on.
    pub fn off(&self, name: &str) -> Option<String> {
        let status = self.snapshot.as_ref()?.status.as_ref()?;
        let analysis = status.analyses.iter().find(|one| one.name == name)?;
        let sentences = analyses::sentences(analysis);
        (!sentences.is_empty()).then(|| sentences.join("; "))
    }
}

/// What a page shows that no snapshot has.
#[derive(Clone, Debug)]
pub enum Table {
    Functions(FunctionsReply),
    Matrix(MatrixReply),
    Grid(GridReply),
    Waits(WaitStatesReply),
}
