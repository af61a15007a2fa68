//! How well the ranks share the work, and each rank's time in MPI.

use super::markup::Html;
use super::tables;
use crate::contents::Report;
use crate::efficiency::RankTime;
use crate::recording;
use crate::table::{Side, Table};
use crate::units::{count, duration, share};

/// Ranks on the page; of more, those with the least and those with the most time in MPI.
const RANKS_MAX: usize = 32;

/// The three efficiencies, each with a bar.
pub fn efficiencies(page: &mut Html, report: &Report) {
    let Some(of) = &report.efficiency else { return };
    page.markup("<section><h2>Efficiency</h2>\n");
    let rows = [
        (
            "parallel efficiency",
            of.parallel_efficiency,
            "the part of the ranks' time that computes: the product of the other two",
        ),
        (
            "load balance",
            of.load_balance,
            "100 % where all ranks compute for equally long",
        ),
        (
            "communication efficiency",
            of.communication_efficiency,
            "100 % where the rank that computes longest is never in MPI",
        ),
    ];
    let mut table = Table::new([
        ("efficiency", Side::Left),
        ("is", Side::Right),
        ("says", Side::Left),
    ]);
    let mut parts = Vec::new();
    for (name, part, says) in rows {
        table.row([name.to_owned(), share(part, 1.0), says.to_owned()]);
        parts.push(part);
    }
    tables::table(page, &table, &parts);
    tables::sentences(
        page,
        &format!(
            "Rank {} computes longest, rank {} shortest.",
            of.max_rank, of.min_rank
        ),
    );
    page.markup("</section>\n");
}

/// The time in MPI by rank, the least first: the others wait for those.
pub fn times(page: &mut Html, report: &Report) {
    let Some(times) = report.rank_times() else {
        return;
    };
    page.markup("<section><h2>Time in MPI by rank</h2>\n<p>The least first: the others wait for ");
    page.markup("these ranks, as far as time in MPI is waiting. Initialisation is not ");
    page.markup("in it.</p>\n");
    let half = RANKS_MAX / 2;
    if times.len() <= RANKS_MAX {
        table(page, &times, report);
    } else {
        page.markup("<div class=\"beside\"><div>\n<h3>Least</h3>\n");
        table(page, &times[..half], report);
        page.markup("</div>\n<div>\n<h3>Most</h3>\n");
        let most: Vec<RankTime> = times.iter().rev().take(half).copied().collect();
        table(page, &most, report);
        page.markup("</div></div>\n");
        let left_out = count((times.len() - RANKS_MAX) as u64);
        tables::sentences(page, &format!("{left_out} ranks lie between these."));
    }
    page.markup("</section>\n");
}

fn table(page: &mut Html, times: &[RankTime], report: &Report) {
    let mut table = Table::new([
        ("rank", Side::Left),
        ("time in MPI", Side::Right),
        ("of the recorded time", Side::Right),
    ]);
    let recorded_ns = recording::span_ns(&report.status()) as f64;
    let mut parts = Vec::new();
    for of in times {
        // Of a rank that ended early the report does not say how long it was recorded.
        let is_cut_short = report.ended.iter().any(|ended| ended.rank == of.rank);
        let whole = if is_cut_short { 0.0 } else { recorded_ns };
        let mpi_ns = of.mpi_ns as f64;
        table.row([
            of.rank.to_string(),
            duration(of.mpi_ns),
            share(mpi_ns, whole),
        ]);
        parts.push(if whole > 0.0 { mpi_ns / whole } else { 0.0 });
    }
    tables::table(page, &table, &parts);
}
