//! Compares runs of a program by their reports: what takes longer, by how much, and whether that
//! can be chance.
//!
//! ```text
//! quantities <- run <- call_sites     what is taken from a report
//! changes <- quantities        what is found
//! rank_sums                    how probable a difference is by chance
//! verdicts <- rank_sums        the same for many quantities at once
//! unlike                       what may make the sides unlike
//! text                         the page
//! ```

mod call_sites;
mod changes;
mod quantities;
mod rank_sums;
mod run;
mod text;
mod unlike;
mod verdicts;

pub use changes::{CHANCE_MAX, Change, Comparison, Runs, Verdict};
pub use quantities::{Direction, Quantity, SHARE_MIN, Unit};
pub use rank_sums::RUNS_MAX;
pub use text::text;

use crate::contents::Report;
use run::Run;

/// Compares runs, or windows of jobs that run on. `threshold` is relative: 0.02 is two percent.
///
/// None of the sides may be empty, nor have more than [`RUNS_MAX`] runs.
pub fn compare(base: &[Report], new: &[Report], windows: bool, threshold: f64) -> Comparison {
    let mut changes = changes(base, new, windows);
    // Call sites and regions are judged for themselves: how many a program has says nothing of its
    // functions.
    let judge = |changes| verdicts::judge(changes, (base.len(), new.len()), threshold);
    let of_one_kind = |a: &Change, b: &Change| a.quantity.kind() == b.quantity.kind();
    let kinds = changes.chunk_by_mut(of_one_kind);
    let runs_needed = kinds.map(judge).max().unwrap_or(1);
    Comparison {
        worse: changes.iter().any(|one| one.verdict == Verdict::Worse),
        notes: unlike::notes(base, new, windows),
        base: runs(base),
        new: runs(new),
        windows,
        threshold,
        runs_needed,
        changes,
    }
}

fn runs(of: &[Report]) -> Runs {
    let first = of.first();
    let start = first.and_then(|report| report.start.as_ref());
    Runs {
        runs: of.len(),
        ranks: first.map_or(0, |report| report.job.ranks),
        library: first.map_or_else(String::new, |report| report.job.library.clone()),
        command: start.map(|start| start.command_line()),
        date: start.map(|start| start.date()),
    }
}

fn changes(base: &[Report], new: &[Report], windows: bool) -> Vec<Change> {
    let [base, new] = Run::of_sides(base, new, windows);
    let values = |quantity: &Quantity, runs: &[Run<'_>]| -> Vec<f64> {
        runs.iter().filter_map(|run| quantity.of(run)).collect()
    };
    let whole = quantities::of_the_whole().into_iter();
    let functions = quantities::of_functions(&base, &new).into_iter();
    let sites = quantities::of_call_sites(&base, &new).into_iter();
    let regions = quantities::of_regions(&base, &new).into_iter();
    let all = whole.chain(functions).chain(sites).chain(regions);
    let all = all.filter_map(|quantity| {
        let of_all = |runs: &[Run<'_>]| -> Option<f64> {
            let values: Vec<f64> = (runs.iter())
                .filter_map(|run| quantity.with_namesakes(run))
                .collect();
            median(&values)
        };
        let of_all = of_all(&base).zip(of_all(&new));
        let (base, new) = (values(&quantity, &base), values(&quantity, &new));
        let (base_median, new_median) = (median(&base)?, median(&new)?);
        let relative = |base: f64, new: f64| (base > 0.0).then(|| new / base - 1.0);
        Some(Change {
            with_namesakes: of_all.map(|(base, new)| new - base),
            quantity,
            change: relative(base_median, new_median),
            base,
            new,
            base_median,
            new_median,
            p: None,
            verdict: Verdict::Same,
        })
    });
    all.collect()
}

/// Of numbers in any order; of an even count the mean of the middle two.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests;
