//! The report as one HTML page: a file that needs no other, no script and no network.
//!
//! ```text
//! markup      text that is HTML, and escapes what is put into it
//! tables      tables with bars, and sentences
//! facts ranks heat_map      sections
//! ```
//!
//! Words and numbers are those of the text report, by the same functions.

mod facts;
mod heat_map;
mod markup;
mod ranks;
mod tables;
#[cfg(test)]
mod tests;

use crate::contents::Report;
use crate::text::{RANK_ROWS, REGION_ROWS, SITE_ROWS, summary};
use crate::{
    analyses, call_sites, coverage, functions, iterations, left_out, regions, wait_states,
    waits_by_site,
};
use invivo_grpc::v1::{CallSiteRow, WaitStateRow};
use invivo_proto::control::analyses::Analysis;
use markup::Html;

/// Colours, for light and dark screens and for paper.
const STYLE: &str = include_str!("html/style.css");

/// The page.
pub fn html(report: &Report) -> String {
    let mut page = Html::default();
    head(&mut page, report);
    facts::what_ran(&mut page, report);
    facts::how_it_ended(&mut page, report);
    ranks::efficiencies(&mut page, report);
    ranks::times(&mut page, report);
    function_tables(&mut page, report);
    waits(&mut page, report);
    sites(&mut page, report);
    loops(&mut page, report);
    regions(&mut page, report);
    matrix(&mut page, report);
    facts::completeness(&mut page, report);
    page.markup("</main>\n</body>\n</html>\n");
    page.into_string()
}

fn head(page: &mut Html, report: &Report) {
    page.markup("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    // A browser then loads and runs nothing, whatever stands below.
    page.markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
    page.markup("style-src 'unsafe-inline'\">\n");
    page.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.markup("<meta name=\"color-scheme\" content=\"light dark\">\n");
    page.element("<title>Invivo report of job ", &report.job.id, "</title>\n");
    page.markup("<style>\n")
        .markup(STYLE)
        .markup("</style>\n</head>\n<body>\n<main>\n");
    page.element(
        "<h1>Invivo report of job <em>",
        &report.job.id,
        "</em></h1>\n",
    );
    let is_whole = coverage::losses(&report.coverage) == "none" && report.ended.is_empty();
    let begin = match is_whole {
        true => "<p class=\"summary\">",
        false => "<p class=\"summary trouble\">",
    };
    page.element(begin, &summary(report), "</p>\n");
}

fn function_tables(page: &mut Html, report: &Report) {
    let rows = Report::function_rows(&report.totals);
    if rows.is_empty() {
        return;
    }
    page.markup("<section><h2>MPI functions, all ranks</h2>\n");
    let parts = |rows: &[invivo_grpc::v1::FunctionRow], whole: u64| -> Vec<f64> {
        let parts = rows
            .iter()
            .map(|row| row.time_ns as f64 / whole.max(1) as f64);
        parts.collect()
    };
    let whole = functions::whole_ns(&rows);
    tables::table(page, &functions::table(&rows), &parts(&rows, whole));
    let more = rows.len().saturating_sub(tables::ROWS_MAX);
    if more > 0 {
        tables::sentences(page, &format!("... and {more} rows in the JSON report"));
    }
    page.markup("</section>\n");

    let by_rank = Report::function_rows(&report.functions);
    if by_rank.is_empty() {
        return;
    }
    page.markup("<section><h2>MPI functions by rank, most time first</h2>\n");
    tables::table(page, &functions::table_by_rank(&by_rank, RANK_ROWS), &[]);
    let left_out = report.functions_left_out;
    let more = left_out::rank_rows(by_rank.len(), left_out, RANK_ROWS);
    tables::sentences(page, &more);
    page.markup("</section>\n");
}

fn waits(page: &mut Html, report: &Report) {
    let Some(of) = report.wait_states.as_ref().filter(|of| !of.rows.is_empty()) else {
        return;
    };
    page.markup("<section><h2>Wait states</h2>\n");
    if let Some(worst) = wait_states::worst(of) {
        page.element("<p>", &worst, "</p>\n");
    }
    let all = wait_states::whole_ns(&of.rows);
    let part = |row: &WaitStateRow| (row.time_ns as f64 / all.max(1) as f64).min(1.0);
    let parts: Vec<f64> = of.rows.iter().map(part).collect();
    tables::table(page, &wait_states::by_state(&of.rows), &parts);
    tables::table(page, &wait_states::by_rank(of), &[]);
    page.markup("</section>\n");
    let sites = report.call_sites.as_ref();
    if let Some(at) = sites.and_then(|of| waits_by_site::by_place(of, SITE_ROWS as usize)) {
        page.element("<section><h2>", waits_by_site::HEADING, "</h2>\n");
        tables::table(page, &at.table, &at.parts);
        tables::sentences(page, &at.rest.unwrap_or_default());
        page.markup("</section>\n");
    }
}

fn sites(page: &mut Html, report: &Report) {
    let Some(of) = &report.call_sites else {
        return;
    };
    let shown = call_sites::shown(of, SITE_ROWS);
    page.markup("<section><h2>Call sites, most time first</h2>\n");
    let whole = call_sites::whole_ns(&shown).max(1) as f64;
    let time = |row: &CallSiteRow| row.calls.as_ref().map_or(0, |calls| calls.time_ns);
    let parts: Vec<f64> = (shown.rows.iter())
        .map(|row| time(row) as f64 / whole)
        .collect();
    tables::table(page, &call_sites::by_site(&shown), &parts);
    for line in call_sites::rest(&shown) {
        tables::sentences(page, &line);
    }
    page.markup("</section>\n");
}

fn loops(page: &mut Html, report: &Report) {
    let Some(of) = &report.loops else {
        return;
    };
    page.markup("<section><h2>Loops, longest iterations first</h2>\n");
    let parts: Vec<f64> = of.rows.iter().map(|row| row.share).collect();
    tables::table(page, &iterations::by_loop(of), &parts);
    page.markup("</section>\n");
}

fn regions(page: &mut Html, report: &Report) {
    let Some(of) = &report.regions else {
        return;
    };
    let shown = regions::shown(of, REGION_ROWS);
    page.markup("<section><h2>Regions of the program, most own time first</h2>\n");
    let whole = regions::whole_ns(&shown).max(1) as f64;
    let parts: Vec<f64> = shown
        .rows
        .iter()
        .map(|row| row.own_ns as f64 / whole)
        .collect();
    if !parts.is_empty() {
        tables::table(page, &regions::by_region(&shown), &parts);
    }
    for line in regions::rest(&shown) {
        tables::sentences(page, &line);
    }
    page.markup("</section>\n");
}

fn matrix(page: &mut Html, report: &Report) {
    // Where nobody looked there is nothing to show; the page says that the analysis was off.
    let has_traffic = !(report.matrix.sent.is_empty() && report.matrix.received.is_empty());
    if !has_traffic && analyses::was_off(&report.analyses, Analysis::Matrix.name()) {
        return;
    }
    let of = report.matrix(heat_map::SIDE);
    page.markup("<section><h2>Point-to-point messages, bytes sent</h2>\n");
    heat_map::section(page, &of);
    let blocks = left_out::blocks(of.block_ranks, report.matrix.block_ranks);
    tables::sentences(page, &blocks);
    page.markup("</section>\n");
}
