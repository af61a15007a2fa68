//! `invivo buffers`.

use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::view::buffers;
use crate::view::since_start::SinceStart;
use invivo_grpc::v1;
use invivo_report::coverage;

/// Options of `invivo buffers`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  invivo buffers
  invivo buffers --json | jq '.complete.min_ns / 1e9'      seconds of complete history, at least")]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

/// Shows what the buffers hold and what they gave up.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let reply = patiently(&job, async || {
        client.clone().buffers(v1::BuffersRequest {}).await
    })
    .await?;
    if args.target.json {
        print_json(&reply)?;
    } else {
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        print(&format!(
            "{}\n{coverage}",
            buffers::text(&reply.since(job.started_ns))
        ))?;
    }
    Ok(Outcome::Done)
}
