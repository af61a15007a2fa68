//! What ran, how it ended, and how complete that is: the sentences of the report.

use super::markup::Html;
use super::tables;
use crate::contents::Report;
use crate::text::{ends, last_seconds, library, particulars};
use crate::units::{counted, duration};
use crate::{coverage, fault, status, text};

/// A name and what stands for it, and no row where nothing does.
fn row(page: &mut Html, name: &'static str, value: &str) {
    if !value.is_empty() {
        page.markup("<dt>").markup(name).markup("</dt>");
        page.element("<dd>", value, "</dd>\n");
    }
}

/// The command, the date, the host, the versions, and the end.
pub fn what_ran(page: &mut Html, report: &Report) {
    let job = &report.job;
    page.markup("<section><h2>What ran</h2>\n<dl>\n");
    if let Some(start) = &report.start {
        let command = start.command_line();
        if !command.is_empty() {
            page.element("<dt>command</dt><dd><code>", &command, "</code></dd>\n");
        }
        row(page, "started", &start.date());
        row(page, "host", &start.host);
        row(page, "Invivo", &start.invivo_version);
    }
    row(page, "MPI", &library(report).unwrap_or_default());
    row(page, "ranks", &crate::units::count(job.ranks.into()));
    row(page, "tool processes", &text::tools(job.places, job.nodes));
    row(page, "watched for", &duration(report.observed_ns()));
    row(page, "at the end", &end(report));
    page.markup("</dl>\n");
    if let Some(told) = &report.explanation {
        page.element("<p>", &format!("{}.", told.sentence), "</p>\n");
    }
    for line in particulars(report) {
        page.element("<p>", &line, "</p>\n");
    }
    page.markup("</section>\n");
}

fn end(report: &Report) -> String {
    let known = report.ended.len() as u64;
    let early = known.saturating_add(report.ended_left_out);
    let states = status::states(&report.states);
    match early {
        0 => states,
        _ => format!(
            "{} ended early; of the others: {states}",
            counted(early, "rank")
        ),
    }
}

/// Deaths, call paths, and the last seconds; nothing where the job ended well.
pub fn how_it_ended(page: &mut Html, report: &Report) {
    let ends = ends(report);
    let last = last_seconds(report);
    if ends.is_empty() && last.is_empty() && report.last_seconds.is_empty() {
        return;
    }
    page.markup("<section class=\"trouble\"><h2>How it ended</h2>\n<ul>\n");
    for line in ends.iter().chain(&last) {
        page.element("<li>", line, "</li>\n");
    }
    page.markup("</ul>\n");
    lines(page, fault::paths(&report.ended).lines());
    if !report.last_seconds.is_empty() {
        page.markup("<h3>MPI time by rank, the last seconds</h3>\n");
        let rows = report.last_seconds.iter();
        lines(page, rows.take(LINES_MAX).map(String::as_str));
    }
    page.markup("</section>\n");
}

/// Lines of a picture; it has a row for each of the 24 worst ranks, and a few more.
const LINES_MAX: usize = 40;

fn lines<'a>(page: &mut Html, lines: impl Iterator<Item = &'a str>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    page.markup("<pre>");
    for line in lines {
        page.text(line).markup("\n");
    }
    page.markup("</pre>\n");
}

/// Coverage, losses, own cost and notes.
pub fn completeness(page: &mut Html, report: &Report) {
    page.markup("<section><h2>How complete this is, and what it cost</h2>\n<dl>\n");
    let counted_for = coverage::text(&report.coverage);
    let cost = coverage::own_cost(&report.coverage, report.observed_ns());
    for line in counted_for.lines().chain(cost.lines()) {
        let (name, value) = line.split_once(": ").unwrap_or(("", line));
        page.element("<dt>", name, "</dt>")
            .element("<dd>", value, "</dd>\n");
    }
    page.markup("</dl>\n");
    for note in report.notes.iter().take(tables::ROWS_MAX) {
        page.element("<p>note: ", note, "</p>\n");
    }
    page.markup("</section>\n");
}
