//! `invivo explain`: what limits the job now, in one sentence.

use super::progress::Progress;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_config::{Time, Value};
use invivo_grpc::v1;
use invivo_report::coverage;
use invivo_report::explain::{Seen, explain};
use std::time::{Duration, Instant};

/// Options of `invivo explain`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Looks for some seconds, and says which of these it is: nothing, one rank that computes longer than
the others, ranks that compute in turn, or communication; with the numbers and the line of the
program that has most of the time in MPI.

Examples:
  invivo explain
  invivo explain --for 10s
  invivo explain --json | jq -r .sentence")]
pub struct Args {
    /// Look for so long
    #[arg(long = "for", value_name = "TIME", value_parser = Time::parse, default_value = "3s")]
    time: Time,
    #[command(flatten)]
    target: Target,
}

/// The shortest and the longest look: with less there are too few columns to see ranks take turns.
const TIMES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(500)..=Duration::from_secs(600);
/// As fine as the grid goes.
const COLUMNS: u32 = 256;
/// As many as are told.
const RANKS_MAX: u32 = 1024;

/// Looks, and says it.
///
/// # Errors
/// Why it cannot be said.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let time = args.time.0;
    if !TIMES.contains(&time) {
        anyhow::bail!("--for takes 500ms to 10m; give a time in between, as --for 10s");
    }
    let (job, client) = args.target.client(Scope::View)?;
    let sites = async || {
        let request = v1::CallSitesRequest::default();
        patiently(&job, async || client.clone().call_sites(request).await).await
    };
    let waits = async || {
        let request = v1::WaitStatesRequest {
            ranks_max: RANKS_MAX,
        };
        patiently(&job, async || client.clone().wait_states(request).await).await
    };
    let (before, waits_before) = (sites().await?, waits().await?);
    let begun = Instant::now();
    let progress = Progress::show("looking at the job", Some(time));
    tokio::time::sleep(time).await;
    progress.end().await;
    let (after, waits_after) = (sites().await?, waits().await?);
    let interval_ns = u64::try_from(begun.elapsed().as_nanos())?;
    let request = v1::GridRequest {
        metric: "compute".into(),
        last_ns: interval_ns,
        columns_max: COLUMNS,
        rows_max: 1,
        ..v1::GridRequest::default()
    };
    let grid = patiently(&job, async || client.clone().grid(request.clone()).await).await?;
    let status = patiently(&job, async || {
        client.clone().status(v1::StatusRequest {}).await
    })
    .await?;
    let seen = Seen {
        status: status.status.unwrap_or_default(),
        grid,
        before,
        after,
        waits_before,
        waits_after,
        interval_ns,
    };
    let told = explain(&seen);
    if args.target.json {
        print_json(&told)?;
    } else {
        let coverage = coverage::text(&seen.grid.coverage.unwrap_or_default());
        print(&format!("{}.\n\n{coverage}", told.sentence))?;
    }
    Ok(Outcome::Done)
}
