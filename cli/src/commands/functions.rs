//! `invivo functions`.

use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_grpc::v1;
use invivo_report::glyphs::Look;
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
    /// move; as JSON its rows have their bins
    #[arg(long, value_name = "FUNCTION", conflicts_with = "per_rank")]
    histogram: Option<Vec<String>>,
    /// Draw with ASCII characters only
    #[arg(long, requires = "histogram")]
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
        histograms: args.histogram.is_some(),
        ..args.when.asked().functions()
    };
    let mut reply = patiently(&job, async || client.clone().functions(request).await).await?;
    let known: Vec<String> = reply.rows.iter().map(|row| row.function.clone()).collect();
    reply.rows.retain(|row| args.is_meant(&row.function));
    reply.rank_rows.retain(|row| args.is_meant(&row.function));
    args.is_called(reply.rows.is_empty(), &known)?;
    if args.target.json {
        print_json(&reply)?;
        return Ok(Outcome::Done);
    }
    let table = || {
        if args.histogram.is_some() {
            return histogram::of_functions(&reply.rows, args.look());
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
    told(&text, reply.analysis.as_ref(), reply.coverage)
}

async fn sites(args: &Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let request = v1::CallSitesRequest {
        rows_max: args.rows_max(),
        histograms: args.histogram.is_some(),
        ..args.when.asked().sites()
    };
    let mut reply = patiently(&job, async || client.clone().call_sites(request).await).await?;
    let function = |row: &v1::CallSiteRow| row.calls.as_ref().map(|of| of.function.clone());
    let known: Vec<String> = reply.rows.iter().filter_map(function).collect();
    reply
        .rows
        .retain(|row| function(row).is_none_or(|name| args.is_meant(&name)));
    args.is_called(reply.rows.is_empty(), &known)?;
    if args.target.json {
        print_json(&reply)?;
        return Ok(Outcome::Done);
    }
    let nothing = (reply.rows.is_empty(), NOTHING);
    let table = || match args.histogram {
        Some(_) => histogram::of_sites(&reply.rows, args.look()),
        None => call_sites::text(&reply),
    };
    let text = args.when.told(reply.interval.as_ref(), nothing, table);
    told(&text, reply.analysis.as_ref(), reply.coverage)
}

/// Prints a table, and what is to be said of it.
fn told(
    table: &str,
    analysis: Option<&v1::AnalysisStatus>,
    coverage: Option<v1::Coverage>,
) -> anyhow::Result<Outcome> {
    let notes = analyses::notes(analysis);
    let coverage = coverage::text(&coverage.unwrap_or_default());
    print(&format!("{table}\n{notes}{coverage}"))?;
    Ok(Outcome::Done)
}

impl Args {
    /// 0 is the gateway's own default.
    fn rows_max(&self) -> u32 {
        // What is drawn may be far down.
        let all = self.target.json || self.histogram.is_some();
        self.rows.unwrap_or(if all { 0 } else { ROWS_TEXT })
    }

    fn look(&self) -> Look {
        Look::of(self.ascii, |name| std::env::var_os(name))
    }

    /// Whether a function is one of those to be drawn, or all are shown.
    fn is_meant(&self, function: &str) -> bool {
        let meant = self.histogram.as_ref();
        meant.is_none_or(|meant| meant.iter().any(|name| name.eq_ignore_ascii_case(function)))
    }

    /// Whether one of those to be drawn was called; `known` were.
    fn is_called(&self, none: bool, known: &[String]) -> anyhow::Result<()> {
        let Some(meant) = self
            .histogram
            .as_ref()
            .filter(|_| none && !known.is_empty())
        else {
            return Ok(());
        };
        let known: BTreeSet<&String> = known.iter().collect();
        let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
        anyhow::bail!(
            "no call of {} has ended; functions that were called: {}",
            meant.join(" or "),
            known.join(", ")
        )
    }
}
