//! `invivo record`: on, off, or for a window.

use super::control::{acknowledged, carry_out};
use super::progress::Progress;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::steer;
use crate::view::since_start::SinceStart;
use invivo_config::{Time, Value};
use invivo_grpc::v1::{CommandReply, FunctionsRequest};
use invivo_proto::control::order::Order;
use invivo_report::units::counted;
use serde::Serialize;

/// Options of `invivo record`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("what").required(true).args(["switch", "length"]),
    after_help = "\
While recording is off the application runs unobserved: no call is counted, no packet moves. Gates \
and commands work
all the same. `--for` forgets everything so far, records so long, the same on all ranks, and \
leaves recording off; it
answers when everything in the window has been taken, with where it lay in job time, how well the \
ranks' clocks agree,
and how many calls were clipped at its edges.

Examples:
  invivo record off
  invivo record on
  invivo record --for 2s && invivo functions
  invivo record --for 500ms --json | jq .calls"
)]
pub struct Args {
    /// Switch recording on or off
    #[arg(value_name = "on|off")]
    switch: Option<Switch>,
    /// Record a window of this length, as 500ms or 2s, and nothing else
    #[arg(long = "for", value_name = "TIME", value_parser = Time::parse)]
    length: Option<Time>,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Serialize)]
struct Window {
    #[serde(flatten)]
    reply: CommandReply,
    /// Calls in the window, those still open not among them.
    calls: u64,
}

/// Switches recording, or records a window.
///
/// # Errors
/// Why it cannot be done.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    match (args.length, args.switch) {
        (Some(length), _) => window(&args.target, length).await,
        (None, switch) => {
            let on = switch == Some(Switch::On);
            carry_out(&args.target, Order::Record { on }).await
        }
    }
}

async fn window(target: &Target, length: Time) -> anyhow::Result<Outcome> {
    let (job, client) = target.client(Scope::Control)?;
    let order = Order::Window {
        length_ns: length.ns(),
    };

    let progress = Progress::show("recording", Some(length.0));
    // Acknowledged only behind the window's end, when all of its records have been taken.
    let reply = steer::give(&order, &job, &client).await;
    progress.end().await;
    let reply = reply?;

    // Recording is off now, so the table holds the window's calls and no others.
    let request = FunctionsRequest::default();
    let table = patiently(&job, async || client.clone().functions(request).await).await?;
    let calls = table.rows.iter().map(|row| row.calls).sum();
    if target.json {
        print_json(&Window {
            reply: reply.clone(),
            calls,
        })?;
    } else {
        print(&format!(
            "{}; {} in it; see them: invivo functions\n",
            steer::sentence(&order, &reply.clone().since(job.started_ns)),
            counted(calls, "call")
        ))?;
    }
    Ok(acknowledged(&reply))
}
