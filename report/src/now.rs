//! A report of a job that runs, or of a saved observation, made of what a gateway answers.

use crate::contents::Report;
use crate::rows::{Cell, MatrixRows, Row, Start, seconds};
use invivo_grpc::v1;

/// Rows by rank and function of such a report at most, as of one at the end of a job.
pub const RANK_ROWS_MAX: u32 = 4096;
/// Call sites of it at most, as there.
pub const SITES_MAX: u32 = 256;
/// Rows and columns of its matrix at most, as there.
pub const SIDE_MAX: u32 = 256;

/// The answers that it takes.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// How the job was started.
    pub start: Option<Start>,
    pub job: v1::Job,
    pub status: v1::StatusReply,
    /// With rows by rank.
    pub functions: v1::FunctionsReply,
    pub matrix: v1::MatrixReply,
    pub waits: v1::WaitStatesReply,
    /// Nothing of an observation, which has no call sites.
    pub call_sites: Option<v1::CallSitesReply>,
    /// The same of its loops, which are found with call sites.
    pub loops: Option<v1::IterationsReply>,
    pub regions: v1::RegionsReply,
}

impl Report {
    /// Of what was answered: as it was then.
    pub fn now(answers: Answers) -> Report {
        let status = answers.status.status.unwrap_or_default();
        let functions = answers.functions;
        let left_out = functions.rank_rows_total as usize;
        let left_out = left_out.saturating_sub(functions.rank_rows.len());
        let waits = answers.waits;
        let is_looked_for = !waits.rows.is_empty() || waits.calls.is_some_and(|of| of.met > 0);
        let mut notes = status.notes;
        if answers.job.observation.is_none() {
            notes.insert(0, "the job ran on: all this is as it was then".to_owned());
        }
        let report = Report {
            start: answers.start,
            job: answers.job,
            observed_seconds: seconds(status.observed_ns as f64),
            coverage: answers.status.coverage.unwrap_or_default(),
            efficiency: None,
            explanation: None,
            functions: functions.rank_rows.into_iter().map(Row::from).collect(),
            functions_left_out: left_out as u64,
            totals: functions.rows.into_iter().map(Row::from).collect(),
            matrix: matrix(&answers.matrix),
            wait_states: is_looked_for.then_some(v1::WaitStatesReply {
                coverage: None,
                ..waits
            }),
            call_sites: answers.call_sites.and_then(Report::call_sites),
            loops: answers.loops.and_then(Report::loops),
            regions: Report::regions(answers.regions),
            ended: Vec::new(),
            ended_left_out: 0,
            tool_process_ended: None,
            asked_to_end_by: None,
            waiting: Vec::new(),
            timeline: None,
            last_seconds: Vec::new(),
            shut_down: false,
            recording: status.recording.unwrap_or_default(),
            analyses: status.analyses,
            states: status.ranks.unwrap_or_default(),
            notes,
        };
        report.judged()
    }
}

fn matrix(of: &v1::MatrixReply) -> MatrixRows {
    let cells = |traffic: fn(&v1::MatrixCell) -> Option<v1::Traffic>| {
        let cell = |cell: &v1::MatrixCell| {
            let of = traffic(cell).filter(|of| of.messages > 0)?;
            Some(Cell {
                source: cell.source,
                destination: cell.destination,
                messages: of.messages,
                bytes: of.bytes,
            })
        };
        of.cells.iter().filter_map(cell).collect()
    };
    MatrixRows {
        block_ranks: of.block_ranks,
        sent: cells(|cell| cell.sent),
        received: cells(|cell| cell.received),
        unresolved: of.unresolved.unwrap_or_default(),
        outside: of.outside.unwrap_or_default(),
    }
}
