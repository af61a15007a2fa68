//! `invivo status`.

use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::steer::hello;
use invivo_grpc::v1;
use invivo_report::units::{counted, duration};
use invivo_report::{coverage, status};
use serde::Serialize;

/// Options of `invivo status`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  invivo status
  invivo status --json | jq .status.ranks")]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Answer {
    job: Option<v1::Job>,
    #[serde(flatten)]
    reply: v1::StatusReply,
}

/// Shows what the ranks are doing now.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let reply = patiently(&job, async || {
        client.clone().status(v1::StatusRequest {}).await
    })
    .await?;
    // Ranks and MPI library are in the gateway's introduction, not in the status.
    let described = patiently(&job, async || client.clone().hello(hello()).await)
        .await?
        .job;
    if args.target.json {
        print_json(&Answer {
            job: described,
            reply,
        })?;
    } else {
        let status = reply.status.unwrap_or_default();
        let mut text = format!("job {}: {}", job.job, job.command.join(" "));
        if let Some(job) = described {
            text.push_str(&format!(
                " on {} ({})",
                counted(job.ranks.into(), "rank"),
                status::library(&job.library)
            ));
        }
        text.push_str(&format!(", watched for {}\n", duration(status.observed_ns)));
        text.push_str(&status::text(&status));
        text.push_str(&coverage::text(&reply.coverage.unwrap_or_default()));
        print(&text)?;
    }
    Ok(Outcome::Done)
}
