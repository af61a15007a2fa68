//! `invivo records`.

use super::target::Target;
use super::{Outcome, note, print, print_json};
use crate::client::{Client, Scope, patiently};
use crate::job::Job;
use crate::view::records;
use crate::view::since_start::SinceStart;
use invivo_config::{Time, Value};
use invivo_grpc::v1;

/// Options of `invivo records`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Calls come in order of their ends, samples between them by their time. With --json each line is \
one page: an object with
`records` (the calls), `samples`, and what is missing.

Examples:
  invivo records 3 --last 1s
  invivo records 0 --thread 2 | less
  invivo records 3 --json | jq -c '.records[] | select(.function == \"MPI_Barrier\")'")]
pub struct Args {
    /// The rank
    rank: u32,
    /// The thread, 0 for the one that initialised MPI
    #[arg(long, value_name = "T", default_value_t = 0)]
    thread: u32,
    /// Only calls that ended so long ago at most, as 500ms or 5s
    #[arg(long, value_name = "TIME", value_parser = Time::parse)]
    last: Option<Time>,
    #[command(flatten)]
    target: Target,
}

/// Shows the calls and samples that a location's buffer keeps.
///
/// # Errors
/// Why they cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let now_ns = now(&job, &client).await?;
    let mut request = v1::RecordsRequest {
        rank: args.rank,
        thread: args.thread,
        from_ns: args.last.map_or(0, |last| now_ns.saturating_sub(last.ns())),
        // Without an end there would always be another page, where a rank records faster than the
        // pages are read.
        to_ns: now_ns,
        ..v1::RecordsRequest::default()
    };
    let mut is_first = true;
    loop {
        let page = patiently(&job, async || client.clone().records(request).await).await?;
        let (broken, next) = (page.broken, page.next);
        if args.target.json {
            print_json(&page)?;
        } else {
            let page = page.since(job.started_ns);
            if is_first {
                print(&records::head(&page))?;
            }
            print(&records::lines(&page))?;
        }
        is_first = false;
        if broken {
            note("the buffer's memory did not hold what was written: nothing follows");
            return Ok(Outcome::Incomplete);
        }
        let Some(next) = next else { break };
        request.after = Some(next);
    }
    Ok(Outcome::Done)
}

/// The present job time, in ns.
async fn now(job: &Job, client: &Client) -> anyhow::Result<u64> {
    let reply = patiently(job, async || {
        client.clone().status(v1::StatusRequest {}).await
    })
    .await?;
    let recording = reply.status.and_then(|status| status.recording);
    Ok(recording.map_or(0, |recording| recording.now_ns))
}
