//! The queries of a session, and the numbers that their answers have.

use super::part::Part;
use super::sums::{Cells, Sum, cells, sum};
use invivo_grpc::v1::{
    BuffersReply, Coverage, FunctionsReply, JobStatus, Ledger, MatrixReply, StatusReply,
};
use serde::Serialize;

/// A query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What the ranks are doing.
    Status,
    /// The function table.
    Functions,
    /// The function table by rank.
    FunctionsPerRank,
    /// The communication matrix.
    Matrix,
    /// What the event buffers hold.
    Buffers,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [
        Kind::Status,
        Kind::Functions,
        Kind::FunctionsPerRank,
        Kind::Matrix,
        Kind::Buffers,
    ];

    /// As a file spells it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Status => "status",
            Kind::Functions => "functions",
            Kind::FunctionsPerRank => "functions-per-rank",
            Kind::Matrix => "matrix",
            Kind::Buffers => "buffers",
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// To [`Kind::Status`].
    Status(Box<StatusReply>),
    /// To [`Kind::Functions`] and [`Kind::FunctionsPerRank`].
    Functions {
        /// The tables.
        #[serde(flatten)]
        table: Box<FunctionsReply>,
        /// For the time that they are about.
        status: JobStatus,
    },
    /// To [`Kind::Matrix`].
    Matrix(MatrixReply),
    /// To [`Kind::Buffers`].
    Buffers(Box<BuffersReply>),
}

/// A number's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// ns.
    Time,
    /// Bytes.
    Bytes,
    /// Of one.
    Share,
}

enum Get {
    Status(fn(&Coverage, &Ledger, &JobStatus) -> f64),
    Functions(fn(&Sum) -> f64),
    Matrix(fn(&Cells) -> f64),
    Buffers(fn(&BuffersReply) -> f64),
}

/// A field.
pub struct Field {
    /// As a file spells it.
    pub name: &'static str,
    /// What it counts. Fields of one name count the same in all answers.
    pub unit: Unit,
    get: Get,
}

const fn status(
    name: &'static str,
    unit: Unit,
    get: fn(&Coverage, &Ledger, &JobStatus) -> f64,
) -> Field {
    let get = Get::Status(get);
    Field { name, unit, get }
}

const fn table(name: &'static str, unit: Unit, get: fn(&Sum) -> f64) -> Field {
    let get = Get::Functions(get);
    Field { name, unit, get }
}

const fn matrix(name: &'static str, unit: Unit, get: fn(&Cells) -> f64) -> Field {
    let get = Get::Matrix(get);
    Field { name, unit, get }
}

const fn buffers(name: &'static str, unit: Unit, get: fn(&BuffersReply) -> f64) -> Field {
    let get = Get::Buffers(get);
    Field { name, unit, get }
}

/// All fields.
pub const FIELDS: [Field; 49] = [
    status("ranks", Unit::Count, |coverage, _, _| coverage.ranks.into()),
    status("reporting", Unit::Count, |coverage, _, _| {
        coverage.ranks_reporting.into()
    }),
    status("missing", Unit::Count, |coverage, _, _| {
        coverage.members_missing.into()
    }),
    status("starting", Unit::Count, |_, _, status| {
        status.ranks.unwrap_or_default().starting.into()
    }),
    status("computing", Unit::Count, |_, _, status| {
        status.ranks.unwrap_or_default().computing.into()
    }),
    status("in-mpi", Unit::Count, |_, _, status| {
        status.ranks.unwrap_or_default().in_mpi.into()
    }),
    status("paused", Unit::Count, |_, _, status| {
        status.ranks.unwrap_or_default().paused.into()
    }),
    status("held", Unit::Count, |_, _, status| {
        status.ranks.unwrap_or_default().held.into()
    }),
    status("finished", Unit::Count, |_, _, status| {
        status.ranks.unwrap_or_default().finished.into()
    }),
    status("recording", Unit::Count, |_, _, status| {
        status.recording.unwrap_or_default().on.into()
    }),
    status("clock-error", Unit::Time, |_, _, status| {
        status.recording.unwrap_or_default().clock_error_ns as f64
    }),
    status("observed", Unit::Time, |_, _, status| {
        status.observed_ns as f64
    }),
    status("lag", Unit::Time, |coverage, _, _| coverage.lag_ns as f64),
    status("overhead", Unit::Time, |coverage, _, _| {
        coverage.overhead_ns as f64
    }),
    status("calls", Unit::Count, |_, ledger, _| ledger.entered as f64),
    status("open", Unit::Count, |_, ledger, _| ledger.open as f64),
    status("in-flight", Unit::Count, |_, ledger, _| {
        ledger.in_flight as f64
    }),
    status("kept", Unit::Count, |_, ledger, _| ledger.kept as f64),
    status("reduced", Unit::Count, |_, ledger, _| ledger.reduced as f64),
    status("dropped", Unit::Count, |_, ledger, _| {
        let shim = ledger.dropped.unwrap_or_default();
        (shim.no_packet + shim.no_location + ledger.dropped_by_place) as f64
    }),
    status("reset", Unit::Count, |_, ledger, _| ledger.reset as f64),
    status("not-selected", Unit::Count, |_, ledger, _| {
        ledger.not_selected as f64
    }),
    status("notes", Unit::Count, |_, _, status| {
        status.notes.len() as f64
    }),
    table("calls", Unit::Count, |sum| sum.calls as f64),
    table("clipped", Unit::Count, |sum| sum.clipped as f64),
    table("time", Unit::Time, |sum| sum.time_ns as f64),
    table("mean", Unit::Time, |sum| {
        sum.time_ns as f64 / (sum.calls as f64).max(1.0)
    }),
    table("min", Unit::Time, |sum| sum.min_ns.unwrap_or(0) as f64),
    table("max", Unit::Time, |sum| sum.max_ns as f64),
    table("sent", Unit::Bytes, |sum| sum.sent as f64),
    table("received", Unit::Bytes, |sum| sum.received as f64),
    table("share", Unit::Share, |sum| sum.share),
    matrix("messages", Unit::Count, |cells| cells.sent.messages as f64),
    matrix("sent", Unit::Bytes, |cells| cells.sent.bytes as f64),
    matrix("messages-received", Unit::Count, |cells| {
        cells.received.messages as f64
    }),
    matrix("received", Unit::Bytes, |cells| cells.received.bytes as f64),
    matrix("unresolved", Unit::Count, |cells| {
        cells.unresolved.messages as f64
    }),
    matrix("outside", Unit::Count, |cells| {
        cells.outside.messages as f64
    }),
    matrix("block-ranks", Unit::Count, |cells| cells.block_ranks.into()),
    buffers("bins", Unit::Count, |buffers| buffers.bins as f64),
    buffers("bins-used", Unit::Count, |buffers| buffers.bins_used as f64),
    buffers("memory", Unit::Bytes, |buffers| buffers.bytes as f64),
    buffers("stored", Unit::Count, |buffers| buffers.stored as f64),
    buffers("kept", Unit::Count, |buffers| buffers.kept as f64),
    buffers("reductions", Unit::Count, |buffers| {
        buffers.reductions as f64
    }),
    buffers("capped", Unit::Count, |buffers| {
        buffers.capped.map_or(0.0, |capped| capped.buffers.into())
    }),
    buffers("bytes-per-call", Unit::Bytes, |buffers| {
        buffers.bytes_per_call
    }),
    buffers("history", Unit::Time, |buffers| {
        buffers.span.unwrap_or_default().min_ns as f64
    }),
    buffers("complete", Unit::Time, |buffers| {
        buffers.complete.unwrap_or_default().min_ns as f64
    }),
];

impl Field {
    /// Whether an answer has it.
    fn is_in(&self, kind: Kind) -> bool {
        match self.get {
            Get::Status(_) => kind == Kind::Status,
            Get::Functions(_) => matches!(kind, Kind::Functions | Kind::FunctionsPerRank),
            Get::Matrix(_) => kind == Kind::Matrix,
            Get::Buffers(_) => kind == Kind::Buffers,
        }
    }

    /// Its number in an answer, or in a part of it, in its unit.
    ///
    /// # Errors
    /// When the answer does not have the number.
    pub fn number(&self, answer: &Answer, part: &Part) -> Result<f64, String> {
        match (&self.get, answer) {
            (Get::Status(get), Answer::Status(reply)) => {
                let coverage = reply.coverage.clone().unwrap_or_default();
                let status = reply.status.clone().unwrap_or_default();
                Ok(get(
                    &coverage,
                    &coverage.ledger.unwrap_or_default(),
                    &status,
                ))
            }
            (Get::Functions(get), Answer::Functions { table, status }) => {
                Ok(get(&sum(table, status, part)?))
            }
            (Get::Matrix(get), Answer::Matrix(reply)) => Ok(get(&cells(reply, part)?)),
            (Get::Buffers(get), Answer::Buffers(reply)) => Ok(get(reply)),
            _ => Err(format!("the last answer has no field {}", self.name)),
        }
    }

    /// The field of this name in an answer.
    pub fn find(kind: Kind, name: &str) -> Option<&'static Field> {
        FIELDS
            .iter()
            .find(|field| field.name == name && field.is_in(kind))
    }

    /// The names of an answer's fields.
    pub fn names(kind: Kind) -> Vec<&'static str> {
        let fields = FIELDS.iter().filter(|field| field.is_in(kind));
        fields.map(|field| field.name).collect()
    }

    /// The first question whose answer has a field of this name, given what part of it is wanted.
    pub fn kind(name: &str, part: &Part) -> Option<Kind> {
        let kinds = match part {
            Part {
                source: Some(_), ..
            }
            | Part {
                destination: Some(_),
                ..
            } => &[Kind::Matrix][..],
            // Only one table has rows by rank.
            Part { rank: Some(_), .. } => &[Kind::FunctionsPerRank],
            Part {
                function: Some(_), ..
            } => &[Kind::Functions],
            // Where several answers have the field the first counts: a status is the smallest.
            _ => &[Kind::Status, Kind::Functions, Kind::Matrix, Kind::Buffers],
        };
        kinds
            .iter()
            .copied()
            .find(|kind| Field::find(*kind, name).is_some())
    }
}
