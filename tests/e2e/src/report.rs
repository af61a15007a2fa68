//! The report of a job, as `--report FILE.json` writes it. Fields that no test reads are left out.

use crate::counts::{Calls, Traffic};
use serde::Deserialize;
use std::path::Path;

/// The whole report.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "the names are the report's, and documented there")]
pub struct Report {
    pub job: Job,
    pub observed_seconds: f64,
    pub coverage: Coverage,
    pub functions: Vec<Row>,
    pub totals: Vec<Row>,
    pub matrix: Matrix,
    pub ended: Vec<RankEnded>,
    pub notes: Vec<String>,
    #[serde(default)]
    pub shut_down: bool,
}

/// Which job it was.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Job {
    pub id: String,
    pub ranks: u32,
    pub places: u32,
    pub nodes: u32,
    pub family: String,
}

/// How much of the truth an answer is.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Coverage {
    pub ranks: u32,
    pub ranks_reporting: u32,
    pub members_missing: u32,
    pub ledger: Ledger,
    pub packets_mpi: u64,
    pub packets_refused: u64,
    pub payload_bytes: u64,
}

/// Where the records are.
#[derive(Clone, Copy, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Ledger {
    pub entered: u64,
    pub open: u64,
    pub in_flight: u64,
    pub kept: u64,
    pub reduced: u64,
    pub dropped: Dropped,
    pub dropped_by_place: u64,
    pub reset: u64,
}

/// What the shim dropped, by reason.
#[derive(Clone, Copy, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Dropped {
    pub no_packet: u64,
    pub no_location: u64,
    pub switched: u64,
}

impl Dropped {
    /// For whatever reason.
    pub fn all(&self) -> u64 {
        self.no_packet + self.no_location + self.switched
    }
}

impl Ledger {
    /// Calls whose records are somewhere: the right side of the conservation law.
    pub fn placed(&self) -> u64 {
        let lost = self.dropped.all() + self.dropped_by_place + self.reset;
        self.open + self.in_flight + self.kept + self.reduced + lost
    }
}

/// A row of the function table.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Row {
    pub rank: Option<u32>,
    pub function: String,
    pub calls: u64,
    pub seconds: f64,
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// Of the calls, those of which only a part counts.
    #[serde(default)]
    pub clipped: u64,
}

/// The communication matrix.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Matrix {
    pub sent: Vec<Cell>,
    pub received: Vec<Cell>,
    pub unresolved: Unresolved,
}

/// A cell of the matrix.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Cell {
    pub source: u32,
    pub destination: u32,
    pub messages: u64,
    pub bytes: u64,
}

/// Traffic between unknown ranks.
#[derive(Clone, Copy, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct Unresolved {
    pub messages: u64,
    pub bytes: u64,
}

/// A rank that ended otherwise than through `MPI_Finalize`.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as above")]
pub struct RankEnded {
    pub rank: u32,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub inside: Option<String>,
}

impl Report {
    /// Reads it.
    pub fn read(path: &Path) -> Report {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()))
    }

    /// Calls by rank and function.
    pub fn calls(&self) -> Calls {
        let mut calls = Calls::new();
        for row in &self.functions {
            let rank = row.rank.expect("a row per rank has a rank");
            let before = calls.insert((rank, row.function.clone()), row.calls);
            assert!(before.is_none(), "two rows for rank {rank} and {}", row.function);
        }
        calls
    }

    /// Time in a function, in seconds, by rank.
    pub fn seconds(&self, rank: u32, function: &str) -> f64 {
        let row = self
            .functions
            .iter()
            .find(|row| row.rank == Some(rank) && row.function == function);
        row.unwrap_or_else(|| panic!("no row for rank {rank} and {function}"))
            .seconds
    }
}

/// Cells as counts have them.
pub fn traffic(cells: &[Cell]) -> Traffic {
    let traffic = cells
        .iter()
        .map(|cell| ((cell.source, cell.destination), (cell.messages, cell.bytes)));
    let traffic: Traffic = traffic.collect();
    assert_eq!(traffic.len(), cells.len(), "a cell of the matrix stands twice");
    traffic
}
