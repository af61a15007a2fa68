//! `invivo overhead`: shows what the measurement takes of the ranks' time, or caps it.

use super::control::carry_out;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::overhead::between;
use crate::view::overhead;
use invivo_config::{Overhead, Time, Value};
use invivo_grpc::v1;
use invivo_proto::control::order::Order;
use invivo_report::coverage;

/// Options of `invivo overhead`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Without a cap, shows what the measurement takes: in the ranks, for calls, regions and samples; and \
of processors that its processes took while no other was free. With one, detail is given up while \
it is above, in this order: regions, the shortest first; samples; metrics; analyses that cost \
something for each call; MPI functions that carry no messages; all recording. What costs next to \
nothing stays. It comes back, the last first, when the overhead has been below half the cap for a \
while.

Commands such as `invivo selection clear` overrule it: what they are about is not touched, until a \
cap is set again.

Examples:
  invivo overhead
  invivo overhead 2%
  invivo overhead off                       no cap; what was given up comes back
  invivo overhead --json | jq .governance.given_up")]
pub struct Args {
    /// The most of the ranks' time, from 0.1% to 100%; or off
    #[arg(value_name = "SHARE", value_parser = said)]
    cap: Option<Overhead>,
    /// Look for so long at what it takes now
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = Time::parse)]
    #[arg(conflicts_with = "cap")]
    over: Time,
    #[command(flatten)]
    target: Target,
}

/// A cap that is said: an empty one, as of a variable that is not set, takes none off.
///
/// # Errors
/// What is wrong with it.
pub fn said(text: &str) -> Result<Overhead, String> {
    match text.is_empty() {
        true => Err("give a share of the ranks' time, such as 2%, or off".to_owned()),
        false => Overhead::parse(text),
    }
}

/// Shows or caps what the measurement takes.
///
/// # Errors
/// Why it cannot be done.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let Some(Overhead(cap)) = args.cap else {
        return show(&args).await;
    };
    carry_out(&args.target, Order::Overhead { cap }).await
}

async fn show(args: &Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    if job.observation.is_some() {
        anyhow::bail!("this was saved, and nothing measures it any more; ask a job that runs");
    }
    let ask = async || {
        let request = v1::StatusRequest {};
        patiently(&job, async || client.clone().status(request).await).await
    };
    let first = ask().await?;
    tokio::time::sleep(args.over.0).await;
    let seen = between(&first, ask().await?);
    if args.target.json {
        print_json(&seen)?;
    } else {
        let coverage = coverage::text(&seen.coverage.clone().unwrap_or_default());
        print(&format!("{}\n{coverage}", overhead::text(&seen)))?;
    }
    Ok(Outcome::Done)
}
