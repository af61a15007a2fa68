//! The report as one page of text, and as one line.

use crate::contents::Report;
use crate::units::{counted, duration, share};
use crate::{
    analyses, call_sites, coverage, death, efficiency, fault, functions, iterations, left_out,
    matrix, recording, regions, status, terminal, wait_states, waits_by_site,
};
use invivo_grpc::v1;
use invivo_proto::control::analyses::Analysis;

/// Rows by rank and function on the page: the worst; all of them are in the JSON report.
pub(crate) const RANK_ROWS: usize = 20;
/// Call sites on the page; all that are known are in the JSON report.
pub(crate) const SITE_ROWS: u32 = 20;
/// Regions on the page; all that are known are in the JSON report.
pub(crate) const REGION_ROWS: u32 = 20;
/// Ranks that ended early on the page: the first; all that are known are in the JSON report.
pub(crate) const ENDED_ROWS: usize = 20;

/// One page.
pub fn text(report: &Report) -> String {
    let rows = Report::function_rows(&report.totals);
    let rank_rows = Report::function_rows(&report.functions);
    // Through the gateway's messages: the report and a client show the same by the same code.
    let matrix_reply = report.matrix(matrix::SIDE_TEXT);
    let mut page = format!("Invivo report of job {}: {}\n", report.job.id, what(report));
    if let Some(started) = started(report) {
        page.push_str(&format!("{started}\n"));
    }
    if let Some(library) = library(report) {
        page.push_str(&format!("{library}\n"));
    }
    for line in particulars(report) {
        page.push_str(&format!("{line}\n"));
    }

    // What went wrong comes before the tables: they are long.
    for line in ends(report) {
        page.push_str(&format!("{line}\n"));
    }
    if let Some(told) = &report.explanation {
        page.push_str(&format!("{}.\n", told.sentence));
    }
    page.push_str(&fault::paths(&report.ended));
    for line in last_seconds(report) {
        page.push_str(&format!("{line}\n"));
    }

    page.push_str(&coverage::text(&report.coverage));
    page.push_str(&coverage::own_cost(&report.coverage, report.observed_ns()));
    if let Some(of) = &report.efficiency {
        page.push_str(&efficiency::line(of));
    }
    for note in &report.notes {
        page.push_str(&format!("note: {}\n", terminal::line(note)));
    }
    if !report.last_seconds.is_empty() {
        let picture = report.last_seconds.join("\n");
        page.push_str(&format!("\nMPI time by rank\n{picture}\n"));
    }

    page.push_str("\nMPI functions, all ranks\n");
    page.push_str(&functions::text(&rows));
    page.push_str("\nMPI functions by rank, most time first\n");
    let left_out = report.functions_left_out;
    let total = usize::try_from(left_out).unwrap_or(usize::MAX);
    let total = total.saturating_add(rank_rows.len());
    page.push_str(&functions::by_rank(&rank_rows, RANK_ROWS, total));
    page.push_str(&left_out::rank_rows(rank_rows.len(), left_out, RANK_ROWS));
    if let Some(waits) = &report.wait_states {
        page.push_str(&format!("\nWait states\n{}", wait_states::text(waits)));
    }
    if let Some(of) = &report.call_sites {
        page.push_str(&waits_by_site::of_report(of, SITE_ROWS as usize));
        page.push_str("\nCall sites, most time first\n");
        page.push_str(&call_sites::of_report(of, SITE_ROWS));
    }
    if let Some(of) = &report.loops {
        page.push_str(&format!(
            "\nLoops, longest iterations first\n{}",
            iterations::text(of)
        ));
    }
    if let Some(of) = &report.regions {
        page.push_str("\nRegions of the program, most own time first\n");
        page.push_str(&regions::of_report(of, REGION_ROWS));
    }
    page.push_str("\nPoint-to-point messages, bytes sent\n");
    page.push_str(&matrix::text(&matrix_reply));
    let in_json = report.matrix.block_ranks;
    page.push_str(&left_out::blocks(matrix_reply.block_ranks, in_json));
    terminal::lines(&page).into_owned()
}

/// "2 ranks, 1 tool process, watched for 3.00 s".
fn what(report: &Report) -> String {
    format!(
        "{}, {}, watched for {}",
        counted(report.job.ranks.into(), "rank"),
        tools(report.job.places, report.job.nodes),
        duration(report.observed_ns()),
    )
}

/// "./app -n 3; started 2026-11-24 19:07:29 UTC on node17, with Invivo 0.1.0".
fn started(report: &Report) -> Option<String> {
    let start = report.start.as_ref()?;
    Some(format!(
        "{}; started {} on {}, with Invivo {}",
        terminal::line(&start.command_line()),
        start.date(),
        terminal::line(&start.host),
        terminal::line(&start.invivo_version)
    ))
}

/// "Open MPI v4.1.4 (family ompi)".
pub(crate) fn library(report: &Report) -> Option<String> {
    let job = &report.job;
    let known = !job.library.is_empty();
    known.then(|| format!("{} (family {})", status::library(&job.library), job.family))
}

/// Sentences about what was not recorded or looked at all the time; none where everything was.
pub(crate) fn particulars(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let recording = &report.recording;
    // Whether not simply everything was recorded.
    let is_worth_a_line = recording.since_ns > 0 || recording.off > 0;
    if report.shut_down {
        lines.push(
            "the measurement was shut down before the job ended; this is as it was then".to_owned(),
        );
    } else if is_worth_a_line {
        lines.push(format!("recording: {}", recording::text(recording)));
    }
    lines.extend(analyses::of_report(&report.analyses));
    lines
}

/// Who ended before the job's end, and that somebody asked for it.
pub(crate) fn ends(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = death::asked(report.asked_to_end_by).into_iter().collect();
    let ended = report.ended.iter().take(ENDED_ROWS);
    lines.extend(ended.map(|one| death::sentence(one) + &fault::place(one)));
    let more = left_out::ended(report.ended.len(), report.ended_left_out, ENDED_ROWS);
    lines.extend(more.lines().map(str::to_owned));
    lines
}

/// Who waited for the first that ended, and where the last seconds are.
pub(crate) fn last_seconds(report: &Report) -> Vec<String> {
    let waiting = death::waiting(&report.ended, &report.waiting);
    let timeline = report.timeline.as_ref().map(|path| {
        format!("the last seconds of all ranks: {path} (drop it onto https://ui.perfetto.dev)")
    });
    waiting.into_iter().chain(timeline).collect()
}

/// One line without an end: what the job did, what was lost, who died, and where its last seconds
/// are.
pub fn one_line(report: &Report) -> String {
    let mut line = format!("job {}: {}", report.job.id, summary(report));
    if let Some(path) = &report.timeline {
        line.push_str(&format!("; last seconds of all ranks: {path}"));
    }
    line
}

/// The same without the job's name and the file.
pub(crate) fn summary(report: &Report) -> String {
    let rows = Report::function_rows(&report.totals);
    let has_table = !analyses::was_off(&report.analyses, Analysis::Functions.name());
    let ledger = report.coverage.ledger.unwrap_or_default();
    let calls = match has_table {
        true => rows
            .iter()
            .fold(0_u64, |sum, row| sum.saturating_add(row.calls)),
        false => ledger.entered.saturating_sub(ledger.reset),
    };
    let mpi_ns = functions::observed_mpi_ns(&rows);
    let status = report.status();
    let span = recording::span_ns(&status);
    let rank_ns = span as f64 * f64::from(report.job.ranks);
    let mut line = format!(
        "{}, {} in {}, {}; losses: {}",
        counted(report.job.ranks.into(), "rank"),
        counted(calls, "MPI call"),
        duration(span),
        match has_table {
            true => format!("{} of the time in MPI", share(mpi_ns as f64, rank_ns)),
            false => "time in MPI not known, as functions were off".to_owned(),
        },
        coverage::losses(&report.coverage),
    );
    if let Some(asked) = death::asked(report.asked_to_end_by) {
        line.push_str(&format!("; {asked}"));
    }
    if let Some(ended) = &report.tool_process_ended {
        line.push_str(&format!("; {}", death::tool_process(ended)));
    }
    if let Some(first) = report.ended.first() {
        let sentence = death::sentence(first) + &fault::place(first);
        line.push_str(&format!("; {sentence}"));
        let others = (report.ended.len() as u64 - 1).saturating_add(report.ended_left_out);
        if others > 0 {
            line.push_str(&format!(
                ", and {} ended early as well",
                counted(others, "rank")
            ));
        }
        if let Some(waiting) = death::waiting(&report.ended, &report.waiting) {
            line.push_str(&format!("; {waiting}"));
        }
    } else if report.shut_down {
        line.push_str("; the measurement was shut down before the job ended");
    // Nobody is known to have died, and yet not all have finished: what was seen last is all there
    // is.
    } else if are_unfinished(&report.states) {
        line.push_str(&format!("; last seen: {}", status::states(&report.states)));
    }
    line
}

fn are_unfinished(states: &v1::RankCounts) -> bool {
    let v1::RankCounts {
        starting,
        computing,
        in_mpi,
        paused,
        finished: _,
        held,
    } = states;
    [starting, computing, in_mpi, paused, held]
        .into_iter()
        .any(|ranks| *ranks > 0)
}

/// `1 tool place + 1 analysis node`, or `1 tool process` where there is one per node for both.
pub(crate) fn tools(places: u32, nodes: u32) -> String {
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
