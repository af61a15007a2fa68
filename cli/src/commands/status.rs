//! `invivo status`.

use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Client, Scope, patiently};
use crate::steer::hello;
use invivo_grpc::v1;
use invivo_report::units::{counted, duration};
use invivo_report::{coverage, status};
use serde::Serialize;
use tonic::{Response, Status};

/// Options of `invivo status`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The line *measured* says what is measured now, by the commands that were done (invivo sampling,
metrics, selection) and without what is given up to keep the overhead below its cap.

Examples:
  invivo status
  invivo status --json | jq .status.ranks")]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

/// The status, and the job that it is of.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    job: Option<v1::Job>,
    #[serde(flatten)]
    reply: v1::StatusReply,
}

/// Asks for it.
pub(crate) async fn answer(mut client: Client) -> Result<Response<Answer>, Status> {
    let reply = client.status(v1::StatusRequest {}).await?.into_inner();
    // Ranks and MPI library are in the gateway's introduction, not in the status.
    let job = client.hello(hello()).await?.into_inner().job;
    Ok(Response::new(Answer { job, reply }))
}

/// Shows what the ranks are doing now.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let answer = patiently(&job, async || answer(client.clone()).await).await?;
    if args.target.json {
        print_json(&answer)?;
    } else {
        let Answer {
            job: described,
            reply,
        } = answer;
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
