//! `invivo profile`.

use super::interval::When;
use super::ranks::{Ranges, ranges};
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::profile::{difference, folded, without_inside};
use crate::view::profile::{self, Shown};
use anyhow::Context;
use invivo_config::{Time, Value};
use invivo_grpc::v1;
use invivo_report::coverage;
use std::time::{Duration, Instant};

/// How long names are waited for before time is counted.
const NAMED_WITHIN: Duration = Duration::from_secs(3);
/// Between two looks for them.
const NAMES_INTERVAL: Duration = Duration::from_millis(200);

/// Options of `invivo profile`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Counts samples that were taken since `invivo sampling on`, or from the start of a job that was \
started with --sampling. Each stands for an equal part of a thread's time on a processor; time in \
which a rank sleeps is in no sample. What is inside the MPI library counts as the MPI function \
that was called, unless --inside is given.

With --since or --interval it counts the samples that the ranks' buffers keep of that time: of \
what was slow, also when it is over. These know functions, and no lines. A saved observation has \
no others.

own is time in a function itself, all that with the functions that it calls.

Examples:
  invivo sampling on && sleep 10 && invivo profile
  invivo profile --seconds 5            of the next five seconds
  invivo profile --since 10s            of the last ten
  invivo profile --interval 30s..35s --rank 3
  invivo profile --rank 3 --tree
  invivo open DIR -- profile
  invivo profile --folded | inferno-flamegraph > job.svg
  invivo profile --json | jq '.functions[0]'")]
pub struct Args {
    /// Of these ranks, as 0-3,7
    #[arg(long, value_name = "SET", value_parser = ranges)]
    rank: Option<Ranges>,
    /// Of the next so many seconds, as 5 or 500ms, instead of all so far
    #[arg(long, value_name = "TIME", value_parser = Time::parse)]
    #[arg(conflicts_with_all = ["since", "interval"])]
    seconds: Option<Time>,
    #[command(flatten)]
    when: When,
    /// As a tree: functions below their callers
    #[arg(long, conflicts_with = "folded")]
    tree: bool,
    /// One line for each call path with its time in ns, as programs that draw flame graphs read it
    #[arg(long, conflicts_with = "json")]
    folded: bool,
    /// Functions that are listed; 0 lists all
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Also what is inside the MPI library
    #[arg(long)]
    inside: bool,
    #[command(flatten)]
    target: Target,
}

/// Shows where the ranks spend their time.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    // No ranks mean all ranks.
    let ranks = args.rank.iter().flat_map(Ranges::iter).collect();
    let request = v1::ProfileRequest {
        ranks,
        ..args.when.asked().profile()
    };
    let ask =
        async || patiently(&job, async || client.clone().profile(request.clone()).await).await;
    let mut reply = ask().await?;
    if reply.ranks == 0 && args.rank.is_some() {
        anyhow::bail!("the job has none of these ranks; see: invivo status");
    }
    if reply.sampled_ranks == 0 {
        anyhow::bail!("there are no samples: {}", profile::why_none(&reply));
    }
    if let Some(time) = args.seconds {
        anyhow::ensure!(
            reply.interval.is_none(),
            "nothing runs in a saved observation that could be looked at for some seconds; give \
             --since or --interval"
        );
        // What has no name yet would come with all of its time when it has one.
        let begun = Instant::now();
        while reply.samples_unnamed > 0 && begun.elapsed() < NAMED_WITHIN {
            tokio::time::sleep(NAMES_INTERVAL).await;
            reply = ask().await?;
        }
        tokio::time::sleep(time.0).await;
        reply = difference(&reply, ask().await?).context(
            "ranks began or ended to be sampled in this time, or did not answer in time; try again",
        )?;
    }
    if !args.inside {
        without_inside(&mut reply.nodes);
    }
    let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
    if args.target.json {
        print_json(&profile::json(&reply))?;
    } else if args.folded {
        print(&folded(&reply.nodes))?;
    } else {
        let shown = Shown {
            tree: args.tree,
            top: args.top,
        };
        print(&format!("{}\n{coverage}", profile::text(&reply, shown)))?;
    }
    Ok(Outcome::Done)
}
