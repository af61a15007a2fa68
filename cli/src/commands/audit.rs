//! `invivo audit`: the control commands that were given, by whom, and how they went.

use super::target::Target;
use super::{Outcome, note, print, print_json};
use crate::client::{Scope, explained, patiently};
use crate::view::audit;
use invivo_grpc::v1::{AuditEntry, AuditRequest};
use tonic::Streaming;

/// Options of `invivo audit`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Times are in UTC. The log of a job that is over stays in its state directory, for the last 50 jobs.

Examples:
  invivo audit
  invivo audit --follow                             each new command as well, until the job ends
  invivo audit --json | jq 'select(.command == \"pause\")'")]
pub struct Args {
    /// Go on with each new command until the job ends
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    target: Target,
}

/// Shows the audit log.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let mut last = 0;
    loop {
        let request = AuditRequest { follow: args.follow };
        let mut entries = patiently(&job, async || client.clone().audit(request).await).await?;
        let end = show(&mut entries, args.target.json, &mut last).await?;
        match end {
            // The gateway may die and come again, and then knows its log from the beginning.
            Err(status) if args.follow && !job.has_ended() => {
                note(&format!("{}; asking again", explained(&job, &status)));
                last = 0;
            }
            Err(status) if !args.follow => return Err(explained(&job, &status).into()),
            _ if args.follow && !job.has_ended() => {}
            _ => return Ok(Outcome::Done),
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}

/// Prints what comes until the stream ends or breaks.
async fn show(
    entries: &mut Streaming<AuditEntry>,
    json: bool,
    last: &mut u64,
) -> anyhow::Result<Result<(), tonic::Status>> {
    loop {
        let entry = match entries.message().await {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(Ok(())),
            Err(status) => return Ok(Err(status)),
        };
        // A command comes again when it is known how it went.
        if entry.sequence < *last {
            continue;
        }
        *last = entry.sequence;
        if json {
            print_json(&entry)?;
        } else {
            print(&(audit::line(&entry) + "\n"))?;
        }
    }
}
