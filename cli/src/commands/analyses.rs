//! `invivo analyses`: shows which analyses are on, or switches some.

use super::control::carry_out;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_config::Value;
use invivo_grpc::v1;
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::order::Order;
use invivo_report::{analyses, coverage};

/// Options of `invivo analyses`.
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Without on or off, shows every analysis: whether it is on, since when, and what it answers. What \
is off costs nothing,
and its answers name the time that they miss. It is switched at the same job time on all ranks; \
the exit status is 0
only if every rank has acknowledged.

Analyses: functions, matrix, messages, heatmap, sites, waitstates, regions; several are joined by \
commas, and all stands for each of them.
Status, hang, stacks, timeline, buffers and records need none of them.

Examples:
  invivo analyses
  invivo analyses on messages
  invivo analyses off matrix,messages
  invivo analyses --json | jq '.analyses[] | select(.off > 0).name'")]
pub struct Args {
    #[command(subcommand)]
    switch: Option<Switch>,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Switch {
    /// Switch analyses on, for the rest of the job
    On(SwitchArgs),
    /// Switch analyses off; what they have counted stays
    Off(SwitchArgs),
}

#[derive(Clone, Debug, clap::Args)]
struct SwitchArgs {
    /// Which, joined by commas
    #[arg(value_name = "NAMES", value_parser = <AnalysisSet as Value>::parse)]
    names: AnalysisSet,
    #[command(flatten)]
    target: Target,
}

/// Shows or switches analyses.
///
/// # Errors
/// Why it cannot be done.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (switch, on) = match args.switch {
        None => return show(&args.target).await,
        Some(Switch::On(switch)) => (switch, true),
        Some(Switch::Off(switch)) => (switch, false),
    };
    let these = switch.names;
    carry_out(&switch.target, Order::Analyses { these, on }).await
}

async fn show(target: &Target) -> anyhow::Result<Outcome> {
    let (job, client) = target.client(Scope::View)?;
    let request = v1::AnalysesRequest {};
    let reply = patiently(&job, async || client.clone().analyses(request).await).await?;
    if target.json {
        print_json(&reply)?;
    } else {
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        print(&format!("{}\n{coverage}", analyses::text(&reply.analyses)))?;
    }
    Ok(Outcome::Done)
}
