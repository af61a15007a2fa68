//! `invivo functions`.

use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_grpc::v1;
use invivo_report::{analyses, call_sites, coverage, functions};

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
    let (job, client) = args.target.client(Scope::View)?;
    // 0 is the gateway's own default.
    let rank_rows_max = args
        .rows
        .unwrap_or(if args.target.json { 0 } else { ROWS_TEXT });
    if let Some(By::Site) = args.by {
        let request = v1::CallSitesRequest {
            rows_max: rank_rows_max,
            ..args.when.asked().sites()
        };
        let reply = patiently(&job, async || client.clone().call_sites(request).await).await?;
        if args.target.json {
            print_json(&reply)?;
        } else {
            let nothing = (reply.rows.is_empty(), NOTHING);
            let table = || call_sites::text(&reply);
            let mut text = args.when.told(reply.interval.as_ref(), nothing, table);
            text.push('\n');
            text.push_str(&analyses::notes(reply.analysis.as_ref()));
            text.push_str(&coverage::text(&reply.coverage.unwrap_or_default()));
            print(&text)?;
        }
        return Ok(Outcome::Done);
    }
    let request = v1::FunctionsRequest {
        per_rank: args.per_rank,
        rank_rows_max,
        ..args.when.asked().functions()
    };
    let reply = patiently(&job, async || client.clone().functions(request).await).await?;
    if args.target.json {
        print_json(&reply)?;
    } else {
        let table = || {
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
        let mut text = args.when.told(reply.interval.as_ref(), nothing, table);
        text.push('\n');
        text.push_str(&analyses::notes(reply.analysis.as_ref()));
        text.push_str(&coverage::text(&reply.coverage.unwrap_or_default()));
        print(&text)?;
    }
    Ok(Outcome::Done)
}
