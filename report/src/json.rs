//! The report as JSON. Times are in seconds, as spreadsheets and notebooks expect; every other
//! number is a count or bytes. Fields are only ever added.

use crate::fault::{self, FaultRow};
use crate::timeline_pages::EndContext;
use invivo_grpc::convert;
use invivo_grpc::v1;
use invivo_proto::control::link::Final;
use invivo_proto::control::results::Traffic;
use invivo_proto::control::tree::Ended;
use invivo_proto::ids::RegionId;
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of all JSON that Invivo prints or writes. A field that is added leaves it; one that
/// goes or means something else raises it.
pub const VERSION: u32 = 1;

/// An object with its version as the first field.
#[derive(Serialize)]
pub struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    value: T,
}

impl<T> Versioned<T> {
    /// `value`, which must be an object.
    pub fn new(value: T) -> Versioned<T> {
        Versioned {
            version: VERSION,
            value,
        }
    }
}

#[derive(Serialize)]
struct Report {
    job: v1::Job,
    observed_seconds: f64,
    coverage: v1::Coverage,
    /// By rank and function.
    functions: Vec<Row>,
    /// Rows of these that there is no room for: those with the least time.
    #[serde(skip_serializing_if = "is_zero")]
    functions_left_out: u64,
    /// By function, all ranks together.
    totals: Vec<Row>,
    matrix: Matrix,
    ended: Vec<EndedRow>,
    /// Ranks that ended like these, for which there is no room: the last ones.
    #[serde(skip_serializing_if = "is_zero")]
    ended_left_out: u64,
    /// The signal by which the job was asked to end, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_to_end_by: Option<i32>,
    /// Ranks that waited for the first of these, the longest first.
    waiting: Vec<WaitingRow>,
    /// The timeline of the last seconds, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<String>,
    /// The measurement was shut down before the job ended; all this is as it was then.
    shut_down: bool,
    recording: v1::RecordingStatus,
    /// Which analyses were on, and when they were not. Points in time are job time.
    analyses: Vec<v1::AnalysisStatus>,
    states: v1::RankCounts,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct WaitingRow {
    rank: u32,
    inside: String,
    seconds: f64,
}

#[derive(Serialize)]
struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    function: String,
    calls: u64,
    seconds: f64,
    /// Sent and received.
    bytes: u64,
    bytes_out: u64,
    bytes_in: u64,
    mean_seconds: f64,
    stddev_seconds: f64,
    min_seconds: f64,
    max_seconds: f64,
    max_rank: u32,
    /// Of the calls, those of which only a part is counted, as a cut went through them.
    clipped: u64,
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
        }
    }
}

#[derive(Serialize)]
struct Matrix {
    /// Ranks per block; 1 is the exact matrix. Block b holds the ranks from b * block_ranks on.
    block_ranks: u32,
    /// As told by the senders.
    sent: Vec<Cell>,
    /// As told by the receivers.
    received: Vec<Cell>,
    unresolved: v1::Traffic,
    /// On communicators with processes outside of the job.
    outside: v1::Traffic,
}

#[derive(Serialize)]
struct Cell {
    /// A block; with blocks of one rank, the rank.
    source: u32,
    destination: u32,
    messages: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct EndedRow {
    rank: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// The MPI function that it was in, or that it was in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<String>,
    /// Where the thread was that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<FaultRow>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
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

/// The report as one JSON object, indented, with a newline at its end.
pub fn json(report: &Final, saved: &EndContext) -> String {
    let (totals, functions) = convert::function_rows(&report.functions);
    let status = v1::JobStatus::from(&report.status);
    let ended = report.ended.iter().map(|ended| {
        let (code, signal) = match ended.how {
            Ended::Code(code) => (Some(code), None),
            Ended::Signal(signal) => (None, Some(signal)),
        };
        EndedRow {
            rank: ended.rank.0,
            code,
            signal,
            inside: ended.inside.map(|region| match region {
                // With recording off the function is not noted.
                RegionId(0) => "an MPI call".to_owned(),
                region => convert::function_name(region),
            }),
            fault: fault::of(saved, ended.rank).map(FaultRow::from),
        }
    });
    let waiting = saved.waiters.iter().map(|waiter| WaitingRow {
        rank: waiter.rank,
        inside: waiter.function.clone(),
        seconds: seconds(saved.to_ns.saturating_sub(waiter.since_ns) as f64),
    });
    let report = Report {
        job: (&report.job).into(),
        observed_seconds: seconds(report.status.observed_ns as f64),
        coverage: (&report.coverage).into(),
        functions_left_out: report
            .functions
            .rank_rows_total
            .saturating_sub(functions.len() as u64),
        functions: functions.into_iter().map(Row::from).collect(),
        totals: totals.into_iter().map(Row::from).collect(),
        matrix: Matrix {
            block_ranks: report.matrix.block_ranks,
            sent: cells(&report.matrix.sent),
            received: cells(&report.matrix.received),
            unresolved: report.matrix.unresolved.into(),
            outside: report.matrix.outside.into(),
        },
        ended: ended.collect(),
        ended_left_out: report.ended_left_out.into(),
        asked_to_end_by: saved.asked_by,
        waiting: waiting.collect(),
        analyses: convert::analyses::all(&saved.analyses),
        timeline: saved.path.as_ref().map(|path| path.display().to_string()),
        shut_down: report.shut_down,
        recording: status.recording.unwrap_or_default(),
        states: status.ranks.unwrap_or_default(),
        notes: status.notes,
    };
    // Names are fixed and numbers are numbers: this cannot fail.
    serde_json::to_string_pretty(&Versioned::new(report)).unwrap_or_default() + "\n"
}
