//! `invivo efficiency`.

use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::view::efficiency;
use invivo_grpc::v1;
use invivo_report::glyphs::Look;
use invivo_report::{analyses, coverage};

/// Options of `invivo efficiency`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The efficiencies of the POP project: parallel efficiency = load balance x communication \
efficiency. Computing is recorded time outside of MPI.

Examples:
  invivo efficiency
  invivo efficiency --since 10s
  invivo efficiency --json | jq '.efficiency.load_balance'")]
pub struct Args {
    #[command(flatten)]
    when: When,
    /// Columns of time, at most [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    columns: Option<u32>,
    /// Draw with ASCII characters only
    #[arg(long)]
    ascii: bool,
    #[command(flatten)]
    target: Target,
}

/// Shows how well the ranks share the work, and what communication costs.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let request = v1::GridRequest {
        metric: "compute".into(),
        columns_max: args.columns.unwrap_or(0),
        // The numbers are those of all ranks, however many share a row.
        rows_max: 1,
        ..args.when.asked().grid()
    };
    let reply = patiently(&job, async || client.clone().grid(request.clone()).await).await?;
    if args.target.json {
        print_json(&reply)?;
    } else {
        let look = Look::of(args.ascii, |name| std::env::var_os(name));
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        let notes = analyses::notes(reply.analysis.as_ref());
        let text = efficiency::text(&reply, look);
        print(&format!("{text}\n{notes}{coverage}"))?;
    }
    Ok(Outcome::Done)
}
