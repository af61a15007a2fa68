//! The rows of a report, as its JSON holds them. Times are in seconds, as spreadsheets and
//! notebooks expect; every other number is a count or bytes. Fields are only ever added.

use invivo_grpc::convert;
use invivo_grpc::v1;
use invivo_proto::control::fault::{Fault, FaultStep};
use invivo_proto::control::results::{Matrix, Traffic};
use invivo_proto::control::stacks::{Frame, NoPython, UnstoppedReason};
use invivo_proto::control::tree::{Ended, RankEnded};
use invivo_proto::ids::RegionId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

/// How a job was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Start {
    /// Seconds since 1970.
    pub unix: u64,
    /// The host of the root.
    pub host: String,
    /// The application's command line.
    pub command: Vec<String>,
    /// The version of Invivo.
    pub invivo_version: String,
}

/// Characters of a command line that are shown: what follows are mostly more files of input.
const COMMAND_CHARS_MAX: usize = 400;

impl Start {
    /// "2026-11-24 19:07:29 UTC".
    pub fn date(&self) -> String {
        // Later dates have no four digits for the year.
        let unix = self.unix.min(253_402_300_799);
        let time = UNIX_EPOCH + Duration::from_secs(unix);
        let text = humantime::format_rfc3339_seconds(time).to_string();
        text.replace('T', " ").replace('Z', " UTC")
    }

    /// The command line, cut where it is long.
    pub fn command_line(&self) -> String {
        let line = self.command.join(" ");
        match line.char_indices().nth(COMMAND_CHARS_MAX) {
            Some((at, _)) => format!("{}...", &line[..at]),
            None => line,
        }
    }
}

/// A row of the function table.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    pub function: String,
    pub calls: u64,
    pub seconds: f64,
    /// Sent and received.
    pub bytes: u64,
    pub bytes_out: u64,
    pub bytes_in: u64,
    pub mean_seconds: f64,
    pub stddev_seconds: f64,
    pub min_seconds: f64,
    pub max_seconds: f64,
    pub max_rank: u32,
    /// Of the calls, those of which only a part is counted, as a cut went through them.
    pub clipped: u64,
    /// How long calls took; nothing where that was not kept, as by rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durations: Option<Durations>,
    /// Bytes that operations moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
}

/// How long calls took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Durations {
    /// Calls of which that is known.
    pub count: u64,
    /// Half of them took no longer.
    pub p50_seconds: f64,
    /// Nor did 90 % of them.
    pub p90_seconds: f64,
    /// Nor did 99 % of them.
    pub p99_seconds: f64,
    /// By how much of its value each of these may be off.
    pub error: f64,
}

/// Bytes that operations moved, of which each counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Sizes {
    /// Operations.
    pub count: u64,
    /// Half of them moved no more.
    pub p50_bytes: u64,
    /// Nor did 90 % of them.
    pub p90_bytes: u64,
    /// Nor did 99 % of them.
    pub p99_bytes: u64,
    /// By how much of its value each of these may be off.
    pub error: f64,
}

impl From<v1::Distribution> for Durations {
    fn from(of: v1::Distribution) -> Durations {
        Durations {
            count: of.count,
            p50_seconds: seconds(of.p50 as f64),
            p90_seconds: seconds(of.p90 as f64),
            p99_seconds: seconds(of.p99 as f64),
            error: of.error,
        }
    }
}

impl From<Durations> for v1::Distribution {
    fn from(of: Durations) -> v1::Distribution {
        v1::Distribution {
            count: of.count,
            p50: ns(of.p50_seconds),
            p90: ns(of.p90_seconds),
            p99: ns(of.p99_seconds),
            bins: Vec::new(),
            error: of.error,
        }
    }
}

impl From<v1::Distribution> for Sizes {
    fn from(of: v1::Distribution) -> Sizes {
        Sizes {
            count: of.count,
            p50_bytes: of.p50,
            p90_bytes: of.p90,
            p99_bytes: of.p99,
            error: of.error,
        }
    }
}

impl From<Sizes> for v1::Distribution {
    fn from(of: Sizes) -> v1::Distribution {
        v1::Distribution {
            count: of.count,
            p50: of.p50_bytes,
            p90: of.p90_bytes,
            p99: of.p99_bytes,
            bins: Vec::new(),
            error: of.error,
        }
    }
}

impl From<v1::FunctionRow> for Row {
    fn from(row: v1::FunctionRow) -> Row {
        Row {
            rank: row.rank,
            function: row.function,
            calls: row.calls,
            seconds: seconds(row.time_ns as f64),
            // Fields are only ever added, so the sum stays beside its parts.
            bytes: row.bytes_out.saturating_add(row.bytes_in),
            bytes_out: row.bytes_out,
            bytes_in: row.bytes_in,
            mean_seconds: seconds(row.mean_ns),
            stddev_seconds: seconds(row.stddev_ns),
            min_seconds: seconds(row.min_ns as f64),
            max_seconds: seconds(row.max_ns as f64),
            max_rank: row.max_rank,
            clipped: row.clipped,
            durations: row.durations.map(Durations::from),
            sizes: row.sizes.map(Sizes::from),
        }
    }
}

impl From<&Row> for v1::FunctionRow {
    fn from(row: &Row) -> v1::FunctionRow {
        v1::FunctionRow {
            function: row.function.clone(),
            rank: row.rank,
            calls: row.calls,
            time_ns: ns(row.seconds),
            mean_ns: row.mean_seconds * 1e9,
            stddev_ns: row.stddev_seconds * 1e9,
            min_ns: ns(row.min_seconds),
            max_ns: ns(row.max_seconds),
            max_rank: row.max_rank,
            bytes_out: row.bytes_out,
            bytes_in: row.bytes_in,
            clipped: row.clipped,
            durations: row.durations.map(v1::Distribution::from),
            sizes: row.sizes.map(v1::Distribution::from),
        }
    }
}

/// The communication matrix.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct MatrixRows {
    /// Ranks per block; 1 is the exact matrix. Block b holds the ranks from b * block_ranks on.
    pub block_ranks: u32,
    /// As told by the senders.
    pub sent: Vec<Cell>,
    /// As told by the receivers.
    pub received: Vec<Cell>,
    pub unresolved: v1::Traffic,
    /// On communicators with processes outside of the job.
    pub outside: v1::Traffic,
}

/// The messages of a block of ranks to another.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Cell {
    /// A block; with blocks of one rank, the rank.
    pub source: u32,
    pub destination: u32,
    pub messages: u64,
    pub bytes: u64,
}

impl From<&Matrix> for MatrixRows {
    fn from(matrix: &Matrix) -> MatrixRows {
        MatrixRows {
            block_ranks: matrix.block_ranks,
            sent: cells(&matrix.sent),
            received: cells(&matrix.received),
            unresolved: matrix.unresolved.into(),
            outside: matrix.outside.into(),
        }
    }
}

impl From<&MatrixRows> for Matrix {
    fn from(rows: &MatrixRows) -> Matrix {
        let traffic = |of: v1::Traffic| Traffic {
            messages: of.messages,
            bytes: of.bytes,
        };
        Matrix {
            block_ranks: rows.block_ranks,
            sent: by_ends(&rows.sent),
            received: by_ends(&rows.received),
            unresolved: traffic(rows.unresolved),
            outside: traffic(rows.outside),
            past: None,
        }
    }
}

fn cells(traffic: &BTreeMap<(u32, u32), Traffic>) -> Vec<Cell> {
    let cell = |(&(source, destination), traffic): (&(u32, u32), &Traffic)| Cell {
        source,
        destination,
        messages: traffic.messages,
        bytes: traffic.bytes,
    };
    traffic.iter().map(cell).collect()
}

fn by_ends(cells: &[Cell]) -> BTreeMap<(u32, u32), Traffic> {
    let traffic = |cell: &Cell| Traffic {
        messages: cell.messages,
        bytes: cell.bytes,
    };
    let cells = cells.iter();
    let cells = cells.map(|cell| ((cell.source, cell.destination), traffic(cell)));
    cells.collect()
}

/// A rank that waited for the one that died first.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct WaitingRow {
    pub rank: u32,
    pub inside: String,
    pub seconds: f64,
}

/// A rank that ended otherwise than through `MPI_Finalize`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct EndedRow {
    pub rank: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The MPI function that it was in, or that it was in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// Where the thread was that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultRow>,
}

impl From<&RankEnded> for EndedRow {
    fn from(ended: &RankEnded) -> EndedRow {
        let (code, signal) = match ended.how {
            Ended::Code(code) => (Some(code), None),
            Ended::Signal(signal) => (None, Some(signal)),
        };
        EndedRow {
            rank: ended.rank.0,
            code,
            signal,
            inside: ended.inside.map(|region| match region {
                // With recording off the wrapper notes that it is in MPI, but not the function.
                RegionId(0) => "an MPI call".to_owned(),
                region => convert::function_name(region),
            }),
            fault: None,
        }
    }
}

/// How a tool process ended that the job has outlived.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ToolEndedRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

impl From<Ended> for ToolEndedRow {
    fn from(ended: Ended) -> ToolEndedRow {
        let (code, signal) = match ended {
            Ended::Code(code) => (Some(code), None),
            Ended::Signal(signal) => (None, Some(signal)),
        };
        ToolEndedRow { code, signal }
    }
}

/// A signal that a thread has met, or `MPI_Abort`, and where the thread was.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct FaultRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The signal's `si_code`.
    pub code: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// The kernel's id of the thread.
    pub thread: u32,
    pub first_thread: bool,
    /// The thread's end first.
    pub path: Vec<StepRow>,
    /// Whether the path's last function has no caller.
    pub whole: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Why functions of the interpreter stand for those of Python.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_python: Option<String>,
}

/// A function on a call path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct StepRow {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub line: String,
    /// Functions that are left out, and none of them.
    #[serde(skip_serializing_if = "is_false")]
    pub left_out: bool,
}

impl From<&Fault> for FaultRow {
    fn from(fault: &Fault) -> FaultRow {
        FaultRow {
            signal: fault.signal,
            code: fault.code,
            address: fault.address,
            thread: fault.tid,
            first_thread: fault.is_first,
            path: fault.path.iter().map(StepRow::from).collect(),
            whole: fault.is_whole,
            missing: fault.missing.map(reason),
            without_python: fault.no_python.map(without_python),
        }
    }
}

impl From<&FaultStep> for StepRow {
    fn from(step: &FaultStep) -> StepRow {
        let names = match &step.frame {
            Frame::Function { module, name } | Frame::Python { file: module, name } => {
                Some((module.clone(), name.clone()))
            }
            Frame::LeftOut | Frame::Lost => None,
        };
        let left_out = names.is_none();
        let (file, function) = names.unwrap_or_default();
        StepRow {
            function,
            file,
            line: step.line.clone(),
            left_out,
        }
    }
}

fn without_python(why: NoPython) -> String {
    match why {
        NoPython::Version { major, minor } => {
            format!("where Python {major}.{minor} keeps them is not known")
        }
        NoPython::FreeThreaded => {
            "an interpreter without a global lock keeps them otherwise".into()
        }
        NoPython::NoRuntime => "the interpreter's file does not say where its tables are".into(),
        NoPython::Unreadable => "what stands in the interpreter's tables makes no sense".into(),
    }
}

fn reason(why: UnstoppedReason) -> String {
    let why = match why {
        UnstoppedReason::Starting => "not in MPI_Init yet",
        UnstoppedReason::Ended => "it ended before its supervisor saw it",
        UnstoppedReason::Silent => "its files were not read in time",
        UnstoppedReason::Forbidden => "the kernel forbids it",
        UnstoppedReason::Traced => "another program traces it",
        UnstoppedReason::InKernel => "it is in the kernel and does not come out",
    };
    why.to_owned()
}

/// Nanoseconds as seconds.
pub fn seconds(ns: f64) -> f64 {
    ns / 1e9
}

/// Seconds as nanoseconds; what is no such number becomes the nearest that is.
pub fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

fn is_false(value: &bool) -> bool {
    !value
}
