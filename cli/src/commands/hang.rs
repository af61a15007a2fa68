//! `invivo hang`: who waits for whom, and whether that can end.

use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Client, Scope, patiently};
use crate::view::hang;
use invivo_config::{Time, Value};
use invivo_grpc::v1;
use invivo_report::coverage;
use std::time::Duration;
use tonic::{Response, Status};

/// Calls count when they have been pending for so long, in ns.
const SETTLED_NS: u64 = 1_000_000_000;
/// Between two looks it is longer than that by this, in ns, as they take some time.
const MARGIN_NS: u64 = 200_000_000;

/// Options of `invivo hang`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Ranks that have done nothing new for a second (or --older) are looked at from outside: what their \
call was given, what its
requests stand for, where in the source it stands. The job does nothing for it.

Examples:
  invivo hang
  invivo hang --older 10s
  invivo hang --json | jq -r .sentence")]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Look at ranks that have done nothing new for this time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = <Time as Value>::parse)]
    older: Time,
}

/// Shows who waits for whom.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let request = v1::HangRequest {
        older_ns: u64::try_from(args.older.0.as_nanos()).unwrap_or(u64::MAX),
    };
    let reply = patiently(&job, async || answer(client.clone(), request).await).await?;

    if args.target.json {
        print_json(&reply)?;
    } else {
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        print(&format!("{}\n{coverage}", hang::text(&reply)))?;
    }
    Ok(Outcome::Done)
}

/// Asks, and asks again where one look is not enough.
pub(crate) async fn answer(
    mut client: Client,
    request: v1::HangRequest,
) -> Result<Response<v1::HangReply>, Status> {
    let reply = client.hang(request).await?;
    // Calls that are not recorded have no begin: whether they stand is seen by looking twice.
    if reply.get_ref().watched == 0 {
        return Ok(reply);
    }
    let settled = Duration::from_nanos(request.older_ns.max(SETTLED_NS) + MARGIN_NS);
    tokio::time::sleep(settled).await;
    client.hang(request).await
}
