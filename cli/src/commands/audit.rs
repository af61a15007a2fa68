//! `invivo audit`: the control commands that were given, by whom, and how they went.

use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, explained, patiently};
use crate::view::audit;
use invivo_grpc::v1::{AuditEntry, AuditRequest};
use std::time::Duration;
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

/// Between two attempts to follow a gateway that is starting again.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Shows the audit log.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let request = AuditRequest {
        follow: args.follow,
    };
    let mut screen = Screen {
        json: args.target.json,
        newest_ns: 0,
        shown_before_ns: None,
    };
    loop {
        let mut entries = match patiently(&job, async || client.clone().audit(request).await).await
        {
            Ok(entries) => entries,
            // The gateway leaves with the job: that is the end of the log, and no failure.
            Err(_) if args.follow && job.has_ended().await => return Ok(Outcome::Done),
            Err(error) => return Err(error.into()),
        };
        match screen.show(&mut entries).await? {
            Err(status) if !args.follow => return Err(explained(&job, &status).into()),
            // The gateway may end and come again, as long as the job is there; what it still knows
            // has been shown.
            _ if args.follow && !job.has_ended().await => {
                screen.shown_before_ns = Some(screen.newest_ns)
            }
            _ => return Ok(Outcome::Done),
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

struct Screen {
    json: bool,
    /// When the newest entry shown was made.
    newest_ns: u64,
    /// What is not newer was shown on an earlier connection.
    shown_before_ns: Option<u64>,
}

impl Screen {
    /// Prints what comes until the stream ends or breaks. A command comes a second time when its
    /// outcome is known.
    async fn show(
        &mut self,
        entries: &mut Streaming<AuditEntry>,
    ) -> anyhow::Result<Result<(), tonic::Status>> {
        loop {
            let entry = match entries.message().await {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(Ok(())),
                Err(status) => return Ok(Err(status)),
            };
            // A new connection begins with the whole log.
            if self
                .shown_before_ns
                .is_some_and(|before| entry.unix_ns <= before)
            {
                continue;
            }
            self.newest_ns = self.newest_ns.max(entry.unix_ns);
            if self.json {
                print_json(&entry)?;
            } else {
                print(&(audit::line(&entry) + "\n"))?;
            }
        }
    }
}
