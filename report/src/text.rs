//! The report as one page of text, and as one line.

use super::death;
use crate::timeline_pages::EndContext;
use crate::units::{counted, duration, share};
use crate::{analyses, coverage, fault, functions, left_out, matrix, recording, status, terminal};
use invivo_grpc::convert;
use invivo_grpc::v1;
use invivo_proto::control::analyses::Analysis;
use invivo_proto::control::link::Final;
use invivo_proto::control::results::{JobStatus, RankState};
use invivo_proto::control::tree::RankEnded;

/// Rows by rank and function on the page: the worst; all of them are in the JSON report.
const RANK_ROWS: usize = 20;
/// Ranks that ended early on the page: the first; all that are known are in the JSON report.
const ENDED_ROWS: usize = 20;

/// One page.
pub fn text(report: &Final, saved: &EndContext) -> String {
    let job = &report.job;
    let (rows, rank_rows) = convert::function_rows(&report.functions);
    let total_rows = usize::try_from(report.functions.rank_rows_total).unwrap_or(usize::MAX);
    let counted_for = v1::Coverage::from(&report.coverage);
    // Through the gateway's messages: the report and a client show the same by the same code.
    let matrix_reply = convert::matrix_reply(
        &report.matrix,
        &report.coverage,
        job.ranks,
        matrix::SIDE_TEXT,
    );
    let mut page = format!(
        "Invivo report of job {}: {}, {}, watched for {}\n",
        job.id,
        counted(job.ranks.into(), "rank"),
        tools(job.places, job.nodes),
        duration(report.status.observed_ns),
    );
    if !job.library.is_empty() {
        page.push_str(&format!(
            "{} (family {})\n",
            status::library(&job.library),
            job.family
        ));
    }

    let status = v1::JobStatus::from(&report.status);
    if report.shut_down {
        page.push_str(
            "the measurement was shut down before the job ended; this is as it was then\n",
        );
    } else if let Some(recording) = status
        .recording
        .as_ref()
        .filter(|now| recording_is_worth_a_line(now))
    {
        page.push_str(&format!("recording: {}\n", recording::text(recording)));
    }

    let switches = convert::analyses::all(&saved.analyses);
    if let Some(off) = analyses::of_report(&switches) {
        page.push_str(&format!("{off}\n"));
    }

    // What went wrong comes before the tables: they are long.
    if let Some(asked) = death::asked(saved) {
        page.push_str(&format!("{asked}\n"));
    }
    for ended in report.ended.iter().take(ENDED_ROWS) {
        page.push_str(&format!("{}\n", sentence(ended, saved)));
    }
    page.push_str(&left_out::ended(report, ENDED_ROWS));
    page.push_str(&fault::paths(&report.ended, saved));
    if let Some(waiting) = death::waiting(saved) {
        page.push_str(&format!("{waiting}\n"));
    }
    if let Some(path) = &saved.path {
        page.push_str(&format!(
            "the last seconds of all ranks: {} (drop it onto https://ui.perfetto.dev)\n",
            path.display()
        ));
    }

    page.push_str(&coverage::text(&counted_for));
    page.push_str(&coverage::own_cost(&counted_for, report.status.observed_ns));
    for note in &report.status.notes {
        page.push_str(&format!("note: {}\n", terminal::line(note)));
    }
    if !saved.picture.is_empty() {
        page.push_str(&format!("\nMPI time by rank\n{}", saved.picture));
    }

    page.push_str("\nMPI functions, all ranks\n");
    page.push_str(&functions::text(&rows));
    page.push_str("\nMPI functions by rank, most time first\n");
    page.push_str(&functions::by_rank(&rank_rows, RANK_ROWS, total_rows));
    page.push_str(&left_out::rank_rows(&report.functions, RANK_ROWS));
    page.push_str("\nPoint-to-point messages, bytes sent\n");
    page.push_str(&matrix::text(&matrix_reply));
    let in_json = report.matrix.block_ranks;
    page.push_str(&left_out::blocks(matrix_reply.block_ranks, in_json));
    terminal::lines(&page).into_owned()
}

/// One line without an end: what the job did, what was lost, who died, and where its last seconds
/// are.
pub fn one_line(report: &Final, saved: &EndContext) -> String {
    let (rows, _) = convert::function_rows(&report.functions);
    let switches = convert::analyses::all(&saved.analyses);
    let has_table = !analyses::was_off(&switches, Analysis::Functions.name());
    let ledger = &report.coverage.ledger;
    let calls = match has_table {
        true => rows.iter().map(|row| row.calls).sum(),
        false => ledger.entered.saturating_sub(ledger.reset),
    };
    let mpi_ns = functions::observed_mpi_ns(&rows);
    let span = recording::span_ns(&v1::JobStatus::from(&report.status));
    let rank_ns = span as f64 * f64::from(report.job.ranks);
    let counted_for = v1::Coverage::from(&report.coverage);
    let mut line = format!(
        "job {}: {}, {} in {}, {}; losses: {}",
        report.job.id,
        counted(report.job.ranks.into(), "rank"),
        counted(calls, "MPI call"),
        duration(span),
        match has_table {
            true => format!("{} of the time in MPI", share(mpi_ns as f64, rank_ns)),
            false => "time in MPI not known, as functions were off".to_owned(),
        },
        coverage::losses(&counted_for),
    );
    if let Some(asked) = death::asked(saved) {
        line.push_str(&format!("; {asked}"));
    }
    if let Some(first) = report.ended.first() {
        line.push_str(&format!("; {}", sentence(first, saved)));
        let others = report.ended.len() as u64 - 1 + u64::from(report.ended_left_out);
        if others > 0 {
            line.push_str(&format!(
                ", and {} ended early as well",
                counted(others, "rank")
            ));
        }
        if let Some(waiting) = death::waiting(saved) {
            line.push_str(&format!("; {waiting}"));
        }
    } else if report.shut_down {
        line.push_str("; the measurement was shut down before the job ended");
    // Nobody is known to have died, and yet not all have finished: what was seen last is all there
    // is.
    } else if report.status.states.iter().sum::<u32>() > finished(&report.status) {
        let counts = v1::JobStatus::from(&report.status)
            .ranks
            .unwrap_or_default();
        line.push_str(&format!("; last seen: {}", status::states(&counts)));
    }
    if let Some(path) = &saved.path {
        line.push_str(&format!("; last seconds of all ranks: {}", path.display()));
    }
    line
}

/// How a rank ended, and where its thread was.
fn sentence(ended: &RankEnded, saved: &EndContext) -> String {
    let place = fault::of(saved, ended.rank).map(|fault| fault::place(ended, fault));
    death::sentence(ended) + &place.unwrap_or_default()
}

/// Whether not simply everything was recorded.
fn recording_is_worth_a_line(recording: &v1::RecordingStatus) -> bool {
    recording.since_ns > 0 || recording.off > 0
}

fn finished(status: &JobStatus) -> u32 {
    status.states[RankState::Finished as usize]
}

/// `1 tool place + 1 analysis node`, or `1 tool process` where there is one per node for both.
fn tools(places: u32, nodes: u32) -> String {
    match nodes {
        0 => format!(
            "{places} tool process{}",
            if places == 1 { "" } else { "es" }
        ),
        _ => format!(
            "{} + {}",
            counted(places.into(), "tool place"),
            counted(nodes.into(), "analysis node")
        ),
    }
}
