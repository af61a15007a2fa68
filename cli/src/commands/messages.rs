//! `invivo messages`.

use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::view::messages;
use invivo_report::{analyses, coverage};

/// Options of `invivo messages`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  invivo messages
  invivo messages --since 60s              the last minute
  invivo messages --json | jq '.late_sender.sum_ns / 1e9'")]
pub struct Args {
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    target: Target,
}

/// Shows point-to-point messages: pairs of sends and receives, their transfer times, and waiting
/// for late senders.
///
/// # Errors
/// Why they cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let request = args.when.asked().messages();
    let reply = patiently(&job, async || client.clone().messages(request).await).await?;
    if args.target.json {
        print_json(&reply)?;
    } else {
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        let notes = analyses::notes(reply.analysis.as_ref());
        // It tells of no messages by itself.
        let text = || messages::text(&reply);
        let text = args.when.told(reply.interval.as_ref(), (false, ""), text);
        print(&format!("{text}\n{notes}{coverage}"))?;
    }
    Ok(Outcome::Done)
}
