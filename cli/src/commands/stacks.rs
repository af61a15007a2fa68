//! `invivo stacks`.

use super::ranks::{Ranges, ranges};
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::view::stacks;
use invivo_grpc::v1;
use invivo_report::coverage;

/// Options of `invivo stacks`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Ranks on the same path stand in one line; where their paths part, the lines part. Each thread is \
stopped from outside and does not notice: mostly for 20
to 130 microseconds (the more, the deeper in Python), for milliseconds where all processors are
busy; the longest is shown. One that sleeps in a system call that would notice is read as it lies.

Examples:
  invivo stacks
  invivo stacks --rank 0-3,7 --threads
  invivo stacks --json | jq -r '.nodes[] | select(.ends > 0) | \"\\(.which) \\(.function)\"'")]
pub struct Args {
    /// These ranks, as 0-3,7
    #[arg(long, value_name = "SET", value_parser = ranges)]
    rank: Option<Ranges>,
    /// All threads of each rank, not the first alone
    #[arg(long)]
    threads: bool,
    /// Also what is inside the MPI library
    #[arg(long)]
    inside: bool,
    #[command(flatten)]
    target: Target,
}

/// Shows where the ranks are.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let request = v1::StacksRequest {
        threads: args.threads,
        ranks: args.rank.iter().flat_map(Ranges::iter).collect(),
    };

    // No ranges mean all ranks.
    let reply = patiently(&job, async || client.clone().stacks(request.clone()).await).await?;
    if reply.ranks == 0 && args.rank.is_some() {
        anyhow::bail!("the job has none of these ranks; see: invivo status");
    }
    if args.target.json {
        print_json(&reply)?;
    } else {
        let shown = stacks::Shown {
            threads: args.threads,
            inside: args.inside,
        };
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        print(&format!("{}\n{coverage}", stacks::text(&reply, shown)))?;
    }
    Ok(Outcome::Done)
}
