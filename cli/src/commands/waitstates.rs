//! `invivo waitstates`.

use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_grpc::v1;
use invivo_report::{analyses, coverage, wait_states};

/// Options of `invivo waitstates`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Wait states have Scalasca's names and definitions: Wait at N x N, Wait at Barrier, Late Broadcast, \
Early Reduce,
and Late Sender, which needs the matching of messages (invivo analyses on messages).

Examples:
  invivo waitstates
  invivo waitstates --ranks 3
  invivo waitstates --json | jq '.ranks | max_by(.caused_ns).rank'")]
pub struct Args {
    /// Ranks that waited longest, and as many that made others wait longest [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: Option<u32>,
    #[command(flatten)]
    target: Target,
}

/// Ranks in the table: a screen's worth with the rest.
const RANKS_SHOWN: u32 = 8;

/// Shows who waits for whom.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let default = if args.target.json { 0 } else { RANKS_SHOWN };
    let request = v1::WaitStatesRequest {
        ranks_max: args.ranks.unwrap_or(default),
    };
    let reply = patiently(&job, async || client.clone().wait_states(request).await).await?;
    if args.target.json {
        print_json(&reply)?;
    } else {
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        let notes = [&reply.analysis, &reply.messages];
        let notes: String = notes.map(|of| analyses::notes(of.as_ref())).concat();
        print(&format!("{}\n{notes}{coverage}", wait_states::text(&reply)))?;
    }
    Ok(Outcome::Done)
}
