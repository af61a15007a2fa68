//! What a report says: made of a job's result at its end, or read from a report that was written as
//! JSON. Every form of a report is made of this, so that all of them say the same.

use crate::analyses;
use crate::efficiency::{self, RankTime};
use crate::explain::{Explanation, Run, explain_run};
use crate::recording;
use crate::regions;
use crate::rows::{
    EndedRow, FaultRow, MatrixRows, Row, Start, ToolEndedRow, WaitingRow, ns, seconds,
};
use crate::timeline_pages::EndContext;
use invivo_grpc::convert;
use invivo_grpc::convert::distribution::Bins;
use invivo_grpc::v1;
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::link::Final;
use invivo_proto::control::wait_states::WaitStates;
use serde::{Deserialize, Serialize};

/// A report. Fields are only ever added: what a report of an older version lacks has its default.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Report {
    /// How the job was started, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    pub job: v1::Job,
    pub observed_seconds: f64,
    pub coverage: v1::Coverage,
    /// Of all ranks over the recorded time, where all of that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<v1::Efficiency>,
    /// What limited the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// By rank and function.
    #[serde(default)]
    pub functions: Vec<Row>,
    /// Rows of these that there is no room for: those with the least time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub functions_left_out: u64,
    /// By function, all ranks together.
    pub totals: Vec<Row>,
    #[serde(default)]
    pub matrix: MatrixRows,
    /// Who waited for whom, where that was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_states: Option<v1::WaitStatesReply>,
    /// Calls and waiting by where in the program they are, where that was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_sites: Option<v1::CallSitesReply>,
    /// Loops of the program, where some were found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loops: Option<v1::IterationsReply>,
    /// Time by region of the program, where it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regions: Option<v1::RegionsReply>,
    #[serde(default)]
    pub ended: Vec<EndedRow>,
    /// Ranks that ended like these, for which there is no room: the last ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ended_left_out: u64,
    /// How the tool process ended, where it did before the job: all this is what it has left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_process_ended: Option<ToolEndedRow>,
    /// The signal by which the job was asked to end, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_to_end_by: Option<i32>,
    /// Ranks that waited for the first of these, the longest first.
    #[serde(default)]
    pub waiting: Vec<WaitingRow>,
    /// The timeline of the last seconds, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<String>,
    /// The same as a picture, line by line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_seconds: Vec<String>,
    /// The measurement was shut down before the job ended; all this is as it was then.
    #[serde(default)]
    pub shut_down: bool,
    #[serde(default)]
    pub recording: v1::RecordingStatus,
    /// Which analyses were on, and when they were not. Points in time are job time.
    #[serde(default)]
    pub analyses: Vec<v1::AnalysisStatus>,
    #[serde(default)]
    pub states: v1::RankCounts,
    #[serde(default)]
    pub notes: Vec<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Nothing where no call of a collective was looked at.
fn wait_states(waits: &WaitStates) -> Option<v1::WaitStatesReply> {
    let told = convert::wait_states::reply(waits, v1::Coverage::default());
    let is_looked_for = *waits
        != WaitStates {
            ranks_max: waits.ranks_max,
            ..Default::default()
        };
    is_looked_for.then_some(v1::WaitStatesReply {
        coverage: None,
        ..told
    })
}

impl Report {
    /// Of a job's result, and what its end was like.
    pub fn of(result: &Final, saved: &EndContext) -> Report {
        let (totals, functions) = convert::function_rows(&result.functions, Bins::LeftOut);
        let status = v1::JobStatus::from(&result.status);
        let ended = result.ended.iter().map(|ended| {
            let mut faults = saved.faults.iter();
            let fault = faults.find(|one| one.rank == ended.rank);
            EndedRow {
                fault: fault.map(|one| FaultRow::from(&one.fault)),
                ..EndedRow::from(ended)
            }
        });
        let waiting = saved.waiters.iter().map(|waiter| WaitingRow {
            rank: waiter.rank,
            inside: waiter.function.clone(),
            // Clocks of two nodes may put the begin behind the end.
            seconds: seconds(saved.to_ns.saturating_sub(waiter.since_ns) as f64),
        });
        let report = Report {
            start: saved.start.clone(),
            job: (&result.job).into(),
            observed_seconds: seconds(result.status.observed_ns as f64),
            coverage: (&result.coverage).into(),
            efficiency: None,
            explanation: None,
            wait_states: wait_states(&result.waits),
            call_sites: Report::call_sites(convert::sites::reply(
                &result.sites,
                u32::MAX,
                Bins::LeftOut,
                v1::Coverage::default(),
            )),
            loops: Report::loops(convert::iterations::reply(
                &result.sites,
                convert::grid::begin_ns(&result.status),
                v1::Coverage::default(),
            )),
            regions: Report::regions(convert::regions::reply(
                &result.regions,
                u32::MAX,
                v1::Coverage::default(),
            )),
            functions_left_out: result
                .functions
                .rank_rows_total
                .saturating_sub(functions.len() as u64),
            functions: functions.into_iter().map(Row::from).collect(),
            totals: totals.into_iter().map(Row::from).collect(),
            matrix: MatrixRows::from(&result.matrix),
            ended: ended.collect(),
            ended_left_out: result.ended_left_out.into(),
            tool_process_ended: saved.tool_ended.map(ToolEndedRow::from),
            asked_to_end_by: saved.asked_by,
            waiting: waiting.collect(),
            analyses: convert::analyses::all(&saved.analyses),
            timeline: saved.path.as_ref().map(|path| path.display().to_string()),
            last_seconds: saved.picture.lines().map(str::to_owned).collect(),
            shut_down: result.shut_down,
            recording: status.recording.unwrap_or_default(),
            states: status.ranks.unwrap_or_default(),
            notes: status.notes,
        };
        report.judged()
    }

    /// With what follows from its own numbers.
    pub(crate) fn judged(mut self) -> Report {
        self.efficiency = self.efficiency_of_ranks();
        self.explanation = self.explained();
        self
    }

    /// The time in MPI of every rank, the least first; nothing where the report does not have all
    /// of it.
    pub fn rank_times(&self) -> Option<Vec<RankTime>> {
        let is_whole = self.functions_left_out == 0
            && self.coverage.ranks_reporting == self.job.ranks
            && !analyses::was_off(&self.analyses, Analysis::Functions.name());
        match is_whole {
            true => efficiency::by_rank(&self.functions, self.job.ranks),
            false => None,
        }
    }

    /// The efficiencies from these times; nothing where a rank ended early, because it has computed
    /// for a time that the report does not have.
    pub(crate) fn efficiency_of_ranks(&self) -> Option<v1::Efficiency> {
        let is_cut_short =
            !self.ended.is_empty() || self.shut_down || self.tool_process_ended.is_some();
        let times = self.rank_times().filter(|_| !is_cut_short)?;
        efficiency::of(&times, recording::span_ns(&self.status()))
    }

    /// What limited the run; nothing where its efficiency is not known.
    pub(crate) fn explained(&self) -> Option<Explanation> {
        explain_run(Run {
            grid: v1::GridReply {
                coverage: Some(self.coverage.clone()),
                efficiency: Some(self.efficiency?),
                ..v1::GridReply::default()
            },
            waits: self.wait_states.clone().unwrap_or_default(),
            sites: self.call_sites.clone().unwrap_or_default(),
            functions: Report::function_rows(&self.totals),
            recorded_ns: recording::span_ns(&self.status()),
        })
    }

    /// How long the job was observed.
    pub fn observed_ns(&self) -> u64 {
        ns(self.observed_seconds)
    }

    /// The status at the end, as clients know it; ranks by number are not in a report.
    pub fn status(&self) -> v1::JobStatus {
        v1::JobStatus {
            ranks: Some(self.states),
            observed_ns: self.observed_ns(),
            recording: Some(self.recording),
            ..v1::JobStatus::default()
        }
    }

    /// The table of call sites; nothing where nobody noted any.
    pub(crate) fn call_sites(reply: v1::CallSitesReply) -> Option<v1::CallSitesReply> {
        let is_there = reply.rows.iter().any(|row| row.kind != "not noted");
        // All of them are the report's own.
        is_there.then_some(v1::CallSitesReply {
            coverage: None,
            analysis: None,
            wait_states: None,
            messages: None,
            ..reply
        })
    }

    /// The loops; nothing where none was found.
    pub(crate) fn loops(reply: v1::IterationsReply) -> Option<v1::IterationsReply> {
        // Both are the report's own.
        (!reply.rows.is_empty()).then_some(v1::IterationsReply {
            coverage: None,
            analysis: None,
            ..reply
        })
    }

    /// The table of regions; nothing of a program without any.
    pub(crate) fn regions(reply: v1::RegionsReply) -> Option<v1::RegionsReply> {
        let is_there = !reply.rows.is_empty() || !regions::losses(&reply).is_empty();
        // Both are the report's own.
        is_there.then_some(v1::RegionsReply {
            coverage: None,
            analysis: None,
            ..reply
        })
    }

    /// Rows of the function table, as clients know them.
    pub fn function_rows(rows: &[Row]) -> Vec<v1::FunctionRow> {
        rows.iter().map(v1::FunctionRow::from).collect()
    }

    /// The communication matrix with at most `side_max` rows and columns.
    pub fn matrix(&self, side_max: u32) -> v1::MatrixReply {
        let coverage = Default::default();
        convert::matrix_reply(&(&self.matrix).into(), &coverage, self.job.ranks, side_max)
    }
}
