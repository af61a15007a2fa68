//! `invivo functions`.

use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_grpc::{convert, v1};
use invivo_report::glyphs::Look;
use invivo_report::units::counted;
use invivo_report::{analyses, call_sites, coverage, functions, histogram};
use std::collections::BTreeSet;

/// Options of `invivo functions`.
#[derive(Clone, Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("rows-of").args(["per_rank", "by"])))]
#[command(after_help = "\
Examples:
  invivo functions
  invivo functions --since 60s             the last minute
  invivo functions --interval 30s..40s     what happened then
  invivo functions --by site               where in the program calls are made
  invivo functions --per-rank --rows 20    the worst ranks
  invivo functions --histogram MPI_Allreduce             how long its calls take, as bars
  invivo functions --by site --histogram MPI_Allreduce   the same for each place in the program
  invivo functions --json | jq '.rows[0].function'")]
pub struct Args {
    /// Show the rows by rank and function as well, those with the most time first
    #[arg(long)]
    per_rank: bool,
    /// Show the rows by call site instead: function, file and line of the program
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<By>,
    /// Rows by rank or by site to show at most [default: 40 as text, as JSON 4096 by rank and 2048
    /// by site]
    #[arg(long, value_name = "N", requires = "rows-of",
          value_parser = clap::value_parser!(u32).range(1..))]
    rows: Option<u32>,
    /// Show how the durations of this function's calls are distributed, and the bytes that they
    /// move; as JSON its rows have their bins, and no others are there. Several times: of several
    #[arg(
        long = "histogram",
        value_name = "FUNCTION",
        conflicts_with = "per_rank"
    )]
    drawn: Vec<String>,
    /// Draw with ASCII characters only
    #[arg(long, requires = "drawn")]
    ascii: bool,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    target: Target,
}

/// What rows are about.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum By {
    /// Where in the program calls are made
    Site,
}

// About a screen; programs get as many rows as the gateway gives.
const ROWS_TEXT: u32 = 40;

/// What is said of a time without calls.
const NOTHING: &str = "no MPI call ended";

/// Shows the MPI function table.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.by {
        Some(By::Site) => sites(&args).await,
        None => functions(&args).await,
    }
}

async fn functions(args: &Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let rank_rows_max = args.rows_max();
    let request = v1::FunctionsRequest {
        per_rank: args.per_rank,
        rank_rows_max,
        histograms: args.draws(),
        ..args.when.asked().functions()
    };
    let mut reply = patiently(&job, async || client.clone().functions(request).await).await?;
    let called = reply.rows.iter().map(|row| row.function.as_str());
    let missing = args.missing(called, &args.when, 0)?;
    reply.rows.retain(|row| args.is_meant(&row.function));
    if args.target.json {
        print_json(&reply)?;
        return Ok(Outcome::Done);
    }
    let table = || {
        if args.draws() {
            return histogram::of_functions(&reply.rows, args.look()) + &missing;
        }
        let mut text = functions::text(&reply.rows);
        if args.per_rank {
            text.push('\n');
            text.push_str(&functions::by_rank(
                &reply.rank_rows,
                rank_rows_max as usize,
                reply.rank_rows_total as usize,
            ));
        }
        text
    };
    let nothing = (reply.rows.is_empty(), NOTHING);
    let text = args.when.told(reply.interval.as_ref(), nothing, table);
    let of = [reply.analysis.as_ref(), reply.call_sites.as_ref()];
    told(&text, of, reply.coverage)
}

async fn sites(args: &Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let request = v1::CallSitesRequest {
        // Those that are drawn are chosen from all.
        rows_max: if args.draws() { 0 } else { args.rows_max() },
        histograms: args.draws(),
        ..args.when.asked().sites()
    };
    let mut reply = patiently(&job, async || client.clone().call_sites(request).await).await?;
    let calls = reply.rows.iter().filter_map(|row| row.calls.as_ref());
    let called = calls.map(|calls| calls.function.as_str());
    let missing = args.missing(called, &args.when, reply.rows_left_out)?;
    let is_meant = |calls: &v1::FunctionRow| args.is_meant(&calls.function);
    (reply.rows).retain(|row| row.calls.as_ref().is_none_or(is_meant));
    let before = reply.rows.len();
    if args.draws() && (args.rows.is_some() || !args.target.json) {
        convert::sites::cut(&mut reply, args.rows_max());
    }
    let more = match before - reply.rows.len() {
        0 => String::new(),
        more => format!(
            "\n... and {} with less time\n",
            counted(more as u64, "place")
        ),
    };
    if args.target.json {
        print_json(&reply)?;
        return Ok(Outcome::Done);
    }
    let nothing = (reply.rows.is_empty(), NOTHING);
    let table = || match args.draws() {
        true => histogram::of_sites(&reply.rows, args.look()) + &more + &missing,
        false => call_sites::text(&reply),
    };
    let text = args.when.told(reply.interval.as_ref(), nothing, table);
    told(&text, [reply.analysis.as_ref(), None], reply.coverage)
}

/// Prints a table, and what is to be said of it.
fn told(
    table: &str,
    of: [Option<&v1::AnalysisStatus>; 2],
    coverage: Option<v1::Coverage>,
) -> anyhow::Result<Outcome> {
    let notes = of.map(analyses::notes).concat();
    let coverage = coverage::text(&coverage.unwrap_or_default());
    print(&format!("{table}\n{notes}{coverage}"))?;
    Ok(Outcome::Done)
}

impl Args {
    /// 0 is the gateway's own default.
    fn rows_max(&self) -> u32 {
        let default = if self.target.json { 0 } else { ROWS_TEXT };
        self.rows.unwrap_or(default)
    }

    /// Whether histograms are asked for.
    fn draws(&self) -> bool {
        !self.drawn.is_empty()
    }

    fn look(&self) -> Look {
        Look::of(self.ascii, |name| std::env::var_os(name))
    }

    /// Whether a function is one of those to be drawn, or all are shown.
    fn is_meant(&self, function: &str) -> bool {
        let mut drawn = self.drawn.iter();
        !self.draws() || drawn.any(|name| name.eq_ignore_ascii_case(function))
    }

    /// A line for each function that is to be drawn and was not called; `called` were, and so many
    /// rows with less time are not known.
    ///
    /// # Errors
    /// None of them was called, but others.
    fn missing<'a>(
        &self,
        called: impl Iterator<Item = &'a str>,
        when: &When,
        rows_left_out: u64,
    ) -> anyhow::Result<String> {
        let called: BTreeSet<&str> = called.collect();
        let is_missing = |name: &&String| {
            let mut called = called.iter();
            !called.any(|function| function.eq_ignore_ascii_case(name))
        };
        let missing: Vec<&String> = self.drawn.iter().filter(is_missing).collect();
        let time = if when.is_given() { " in this time" } else { "" };
        let less = match rows_left_out {
            0 => "",
            _ => ", or its rows have too little time",
        };
        let line = |name: &&String| format!("no call of {name} has ended{time}{less}");
        let lines: Vec<String> = missing.iter().map(line).collect();
        if self.draws() && missing.len() == self.drawn.len() && !called.is_empty() {
            let called: Vec<&str> = called.into_iter().collect();
            anyhow::bail!(
                "{}; functions that were called: {}",
                lines.join("; "),
                called.join(", ")
            );
        }
        Ok(lines.iter().map(|line| format!("\n{line}\n")).collect())
    }
}
