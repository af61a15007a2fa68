//! The sections on the processes of the tool in a job: where their time goes, and what they take
//! while the ranks are quiet.

use super::cells::{each, newest, rows, word};
use crate::bench::idle::{ALL, KINDS};
use crate::bench::page::section::Runs;
use anyhow::Result;
use serde_json::Value;
use std::fmt::Write as _;

pub fn profile(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    if rows(run).next().is_none() {
        // Why there is none: perf was not there.
        return Ok(format!("{}\n", word(run, "about")));
    }
    let mut text = String::new();
    for mpi in each(run, "mpi") {
        for program in each(run, "program") {
            let of_job = |row: &&Value| row["mpi"] == mpi && row["program"] == program;
            if !rows(run).any(|row| of_job(&row)) {
                continue;
            }
            let _ = writeln!(
                text,
                "{mpi}, {program}:\n\n| process | function | % of the tool's CPU time | ns per \
                 call |\n|---|---|---|---|"
            );
            for row in rows(run).filter(of_job) {
                let of = |name: &str| row[name].as_f64().unwrap_or(0.0);
                // A name may hold what a table takes for its own.
                let function = word(row, "function").replace('|', "\\|").replace('`', "'");
                let _ = writeln!(
                    text,
                    "| {} | `{function}` | {:.1} | {:.1} |",
                    word(row, "process"),
                    of("share_percent"),
                    of("ns_per_call")
                );
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// Both kinds of job side by side, and below the processes of each MPI the sum of all.
pub fn idle(runs: &Runs) -> Result<String> {
    let run = newest(runs)?;
    let [(one, _), (apart, _)] = KINDS;
    let mut text = String::from(
        "| MPI | process | one tool process: of them | % of a core | place and root apart: of them \
         | % of a core | the most of one process, % | aim |\n|---|---|---|---|---|---|---|---|\n",
    );
    for mpi in each(run, "mpi") {
        let mut processes = each(run, "process");
        processes.retain(|process| *process != ALL);
        processes.push(ALL);
        for process in processes {
            let [one, apart] = [one, apart].map(|tools| Idle::of(run, mpi, tools, process));
            let most = [&one, &apart].into_iter().filter_map(|idle| idle.most);
            // The aim is each process' own.
            let (most, aim) = match process {
                ALL => ("-".to_owned(), "-".to_owned()),
                _ => (
                    format!("{:.3}", most.fold(0.0, f64::max)),
                    rows(run)
                        .next()
                        .map_or_else(String::new, |row| row["target_percent"].to_string()),
                ),
            };
            let _ = writeln!(
                text,
                "| {mpi} | {process} | {} | {} | {} | {} | {most} | {aim} |",
                one.processes, one.sum, apart.processes, apart.sum,
            );
        }
    }
    Ok(text)
}

/// Cells of the processes of a name, in jobs of one kind.
struct Idle {
    processes: u64,
    sum: String,
    /// What the one took that took most, in percent of a core.
    most: Option<f64>,
}

impl Idle {
    fn of(run: &Value, mpi: &str, tools: &str, process: &str) -> Idle {
        let of_job = || rows(run).filter(|row| row["mpi"] == mpi && row["tools"] == tools);
        let number = |row: &Value| row["processes"].as_u64().unwrap_or(0);
        if let Some(row) = of_job().find(|row| row["process"] == process) {
            return Idle {
                processes: number(row),
                sum: sum(row).map_or_else(|| "-".to_owned(), |sum| sum.shown()),
                most: row["percent"].as_f64(),
            };
        }
        // Earlier runs have no sum of all: it is that of the rows where each has its own.
        let sums: Option<Vec<Sum>> = of_job().map(sum).collect();
        let all = sums.filter(|sums| process == ALL && !sums.is_empty());
        Idle {
            processes: of_job().filter(|_| process == ALL).map(number).sum(),
            sum: all.map_or_else(
                || "-".to_owned(),
                |sums| format!("{:.3}", sums.iter().map(|sum| sum.median).sum::<f64>()),
            ),
            most: None,
        }
    }
}

/// What all processes of a row took together, in percent of a core.
struct Sum {
    median: f64,
    /// Where there were several turns.
    bounds: Option<(f64, f64)>,
}

/// Earlier runs have the most of one process only, which is the sum where there is one, or where
/// that is nothing.
fn sum(row: &Value) -> Option<Sum> {
    let of = |name: &str| row["sum_percent"][name].as_f64();
    if let Some(median) = of("median") {
        let bounds = of("low").zip(of("high"));
        let is_one = row["sum_percent"]["count"] == 1;
        return Some(Sum {
            median,
            bounds: bounds.filter(|_| !is_one),
        });
    }
    let most = row["percent"].as_f64()?;
    (row["processes"] == 1 || most == 0.0).then_some(Sum {
        median: most,
        bounds: None,
    })
}

impl Sum {
    fn shown(&self) -> String {
        match self.bounds {
            Some((low, high)) => format!("{:.3} ({low:.3} .. {high:.3})", self.median),
            None => format!("{:.3}", self.median),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sums_stand_side_by_side_and_earlier_runs_are_read() {
        let row = |tools: &str, process: &str, number: u32, percent: f64| {
            json!({ "mpi": "MPI", "tools": tools, "process": process, "processes": number,
                    "percent": percent, "target_percent": 0.1 })
        };
        let with_sum = |mut row: Value, median: f64| {
            row["sum_percent"] = json!({ "median": median, "low": 0.0, "high": 1.0, "count": 1 });
            row
        };
        let earlier = json!({ "rows": [
            row("one", "invivo", 4, 0.0), row("one", "tool-process", 1, 0.07),
            row("place, root", "invivo", 6, 0.0), row("place, root", "tool-process", 2, 0.06),
        ] });
        let text = idle(&vec![earlier]).unwrap();
        assert!(text.contains("| MPI | tool-process | 1 | 0.070 | 2 | - | 0.070 | 0.1 |\n"));
        assert!(
            text.ends_with("| MPI | all of them | 5 | 0.070 | 8 | - | - | - |\n"),
            "{text}"
        );

        let newer = json!({ "rows": [
            with_sum(row("one", "tool-process", 1, 0.07), 0.07),
            with_sum(row("one", ALL, 5, 0.07), 0.08),
            with_sum(row("place, root", "tool-process", 2, 0.06), 0.11),
            with_sum(row("place, root", ALL, 9, 0.06), 0.12),
        ] });
        let text = idle(&vec![newer]).unwrap();
        assert!(text.contains("| MPI | tool-process | 1 | 0.070 | 2 | 0.110 | 0.070 | 0.1 |\n"));
        assert!(
            text.ends_with("| MPI | all of them | 5 | 0.080 | 9 | 0.120 | - | - |\n"),
            "{text}"
        );
    }
}
