//! The report of a job, as `--report FILE.json` writes it; fields that no test reads are left out.

use crate::logs::counts::{Calls, Traffic};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    pub job: ReportedJob,
    pub observed_seconds: f64,
    pub coverage: Coverage,
    pub functions: Vec<FunctionRow>,
    pub totals: Vec<FunctionRow>,
    pub matrix: Matrix,
    pub ended: Vec<RankEnded>,
    /// Rows by rank that there was no room for.
    #[serde(default)]
    pub functions_left_out: u64,
    pub notes: Vec<String>,
    /// Which analyses were on, and when they were not.
    pub analyses: Vec<serde_json::Value>,
    #[serde(default)]
    pub shut_down: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ReportedJob {
    pub id: String,
    pub ranks: u32,
    pub places: u32,
    pub nodes: u32,
    pub family: String,
}

/// How complete an answer is.
#[derive(Clone, Debug, Deserialize)]
pub struct Coverage {
    pub ranks: u32,
    pub ranks_reporting: u32,
    pub members_missing: u32,
    pub ledger: Ledger,
    pub packets_mpi: u64,
    pub packets_refused: u64,
    pub payload_bytes: u64,
}

/// What became of the records of all calls.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Ledger {
    pub entered: u64,
    pub open: u64,
    pub in_flight: u64,
    pub kept: u64,
    pub reduced: u64,
    pub dropped: Dropped,
    pub dropped_by_place: u64,
    pub reset: u64,
    pub not_selected: u64,
}

/// Records that the shim dropped, by reason.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Dropped {
    pub no_packet: u64,
    pub no_location: u64,
}

impl Dropped {
    /// For all reasons together.
    pub fn all(&self) -> u64 {
        self.no_packet + self.no_location
    }
}

impl Ledger {
    /// Calls whose records are somewhere: the right side of the conservation law.
    pub fn placed(&self) -> u64 {
        let lost = self.dropped.all() + self.dropped_by_place + self.reset + self.not_selected;
        self.open + self.in_flight + self.kept + self.reduced + lost
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct FunctionRow {
    pub rank: Option<u32>,
    pub function: String,
    pub calls: u64,
    pub seconds: f64,
    pub bytes_out: u64,
    pub bytes_in: u64,
    pub mean_seconds: f64,
    pub stddev_seconds: f64,
    pub min_seconds: f64,
    pub max_seconds: f64,
    pub max_rank: u32,
    /// Of the calls, those of which only a part counts.
    #[serde(default)]
    pub clipped: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Matrix {
    pub sent: Vec<Cell>,
    pub received: Vec<Cell>,
    pub unresolved: Unresolved,
    /// With processes outside of the job.
    pub outside: Unresolved,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Cell {
    pub source: u32,
    pub destination: u32,
    pub messages: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Unresolved {
    pub messages: u64,
    pub bytes: u64,
}

/// A rank that ended otherwise than through `MPI_Finalize`.
#[derive(Clone, Debug, Deserialize)]
pub struct RankEnded {
    pub rank: u32,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub inside: Option<String>,
    /// Where the thread was that ended it.
    pub fault: Option<serde_json::Value>,
}

impl Report {
    pub fn read(path: &Path) -> Report {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()))
    }

    /// The rows by rank added up by function, in the order of names: what the merges of the tree
    /// must have given.
    pub fn folded(&self) -> Vec<FunctionRow> {
        let mut all: BTreeMap<&str, Vec<&FunctionRow>> = BTreeMap::new();
        for row in &self.functions {
            all.entry(&row.function).or_default().push(row);
        }
        all.into_values()
            .map(|rows| FunctionRow::all(&rows))
            .collect()
    }

    pub fn calls(&self) -> Calls {
        let mut calls = Calls::new();
        for row in &self.functions {
            let rank = row.rank.expect("a row per rank has a rank");
            // The report has one row for each rank and function.
            let before = calls.insert((rank, row.function.clone()), row.calls);
            assert!(
                before.is_none(),
                "two rows for rank {rank} and {}",
                row.function
            );
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

impl FunctionRow {
    /// Adds up the rows of several ranks and one function; at least one row.
    fn all(rows: &[&FunctionRow]) -> FunctionRow {
        let sum = |of: fn(&FunctionRow) -> u64| rows.iter().map(|row| of(row)).sum::<u64>();
        let calls = sum(|row| row.calls);
        let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
        let mean = seconds / calls as f64;
        // A row of no calls has bytes alone: its requests were posted before a reset.
        let called: Vec<&&FunctionRow> = rows.iter().filter(|row| row.calls > 0).collect();
        if called.is_empty() {
            return FunctionRow {
                rank: None,
                bytes_in: sum(|row| row.bytes_in),
                bytes_out: sum(|row| row.bytes_out),
                ..rows[0].clone()
            };
        }

        // The variance of the whole: that within each row and that of the rows' means.
        let variance = rows.iter().map(|row| {
            let squares = row.stddev_seconds.powi(2) + (row.mean_seconds - mean).powi(2);
            row.calls as f64 * squares / calls as f64
        });

        let least =
            |a: &&&&FunctionRow, b: &&&&FunctionRow| a.min_seconds.total_cmp(&b.min_seconds);
        let most = |a: &&&&FunctionRow, b: &&&&FunctionRow| a.max_seconds.total_cmp(&b.max_seconds);
        let (shortest, longest) = (called.iter().min_by(least), called.iter().max_by(most));
        let (shortest, longest) = (shortest.expect("a row"), longest.expect("a row"));

        FunctionRow {
            rank: None,
            function: longest.function.clone(),
            calls,
            seconds,
            bytes_out: sum(|row| row.bytes_out),
            bytes_in: sum(|row| row.bytes_in),
            mean_seconds: mean,
            stddev_seconds: variance.sum::<f64>().sqrt(),
            min_seconds: shortest.min_seconds,
            max_seconds: longest.max_seconds,
            max_rank: longest.max_rank,
            clipped: sum(|row| row.clipped),
        }
    }
}

/// Cells of the matrix in the form of the programs' counts.
pub fn traffic(cells: &[Cell]) -> Traffic {
    let traffic = cells
        .iter()
        .map(|cell| ((cell.source, cell.destination), (cell.messages, cell.bytes)));

    let traffic: Traffic = traffic.collect();
    // Collecting merges cells of the same pair.
    assert_eq!(
        traffic.len(),
        cells.len(),
        "a cell of the matrix stands twice"
    );
    traffic
}
