//! `invivo regions`.

use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_grpc::convert::regions::cut;
use invivo_report::regions::{self, Order};
use invivo_report::{analyses, coverage};

/// Options of `invivo regions`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Regions are stretches that the program marks (invivo_regions.h), and its functions where it was \
compiled with
-finstrument-functions. own is time in a region itself, time is that with the regions below it; \
in MPI is the part
of time that was spent in MPI. All are sums over threads and ranks.

Examples:
  invivo regions
  invivo regions --sort mpi --rows 10      those with the most time in MPI
  invivo regions --interval 30s..40s       what was spent then
  invivo regions --json | jq '.rows[] | select(.kind == \"marked\").name'")]
pub struct Args {
    /// By what rows are sorted, the largest first
    #[arg(long, value_enum, value_name = "WHAT", default_value = "own")]
    sort: Sort,
    /// Rows to show at most [default: 40 as text, 2048 as JSON]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rows: Option<u32>,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    target: Target,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Sort {
    /// Time in a region and in none below it
    Own,
    /// Time in a region or below it
    Time,
    /// How often it was entered
    Visits,
    /// Time in MPI, in it or below it
    Mpi,
}

/// A screen's worth; programs get as many rows as the gateway gives.
const ROWS_TEXT: u32 = 40;

/// Shows time by region of the program.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    // All rows: the gateway would cut them by own time.
    let request = args.when.asked().regions();
    let mut reply = patiently(&job, async || client.clone().regions(request).await).await?;
    let order = match args.sort {
        Sort::Own => Order::Own,
        Sort::Time => Order::Time,
        Sort::Visits => Order::Visits,
        Sort::Mpi => Order::Mpi,
    };
    regions::sort(&mut reply.rows, order);
    let default = if args.target.json {
        u32::MAX
    } else {
        ROWS_TEXT
    };
    cut(&mut reply, args.rows.unwrap_or(default));
    if args.target.json {
        print_json(&reply)?;
    } else {
        let nothing = (reply.rows.is_empty(), "no time was spent in regions");
        let table = || regions::text(&reply);
        let mut text = args.when.told(reply.interval.as_ref(), nothing, table);
        text.push('\n');
        text.push_str(&analyses::notes(reply.analysis.as_ref()));
        text.push_str(&coverage::text(&reply.coverage.unwrap_or_default()));
        print(&text)?;
    }
    Ok(Outcome::Done)
}
