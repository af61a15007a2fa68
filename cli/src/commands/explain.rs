//! `invivo explain`: what limits the job now, in one sentence.

use super::interval::When;
use super::progress::Progress;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::look;
use invivo_config::{Time, Value};
use invivo_report::coverage;
use invivo_report::explain::{Seen, explain_seen};
use std::time::Duration;

/// Options of `invivo explain`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Looks for some seconds, and says which of these it is: nothing, one rank that computes longer than
the others, ranks that compute in turn, or communication; with the numbers and the line of the
program that has most of the time in MPI. Where ranks are sampled (invivo sampling on), of a rank
that computes longer also the function in which it is most; where metrics are measured (invivo
metrics set usual), also how long it had no processor, or wanted none.

Of the past it says it at once, from what tool places keep of the run. Of a saved observation
that is open it is the whole of it.

Examples:
  invivo explain
  invivo explain --for 10s
  invivo explain --since 60s             the last minute
  invivo explain --interval 30s..40s     what limited it then
  invivo explain --json | jq -r .sentence")]
pub struct Args {
    /// Look for so long
    #[arg(long = "for", value_name = "TIME", value_parser = Time::parse, default_value = "3s",
          conflicts_with_all = ["since", "interval"])]
    time: Time,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    target: Target,
}

/// The shortest and the longest look: with less there are too few columns to see ranks take turns.
const TIMES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(500)..=Duration::from_secs(600);
/// How long is looked in which functions a rank is that computes longest, where it is sampled.
const CLOSER: Duration = Duration::from_secs(1);

/// Looks, and says it.
///
/// # Errors
/// Why it cannot be said.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let time = args.time.0;
    if !TIMES.contains(&time) {
        anyhow::bail!("--for takes 500ms to 10m; give a time in between, as --for 10s");
    }
    let (job, client) = args.target.client(Scope::View)?;
    if job.observation.is_some() {
        if args.when.is_given() {
            anyhow::bail!(
                "a saved observation is explained as a whole; save that time alone while the job \
                 runs: invivo save --interval"
            );
        }
        let told = patiently(&job, async || look::observation(client.clone()).await).await?;
        let told = told.ok_or_else(|| anyhow::anyhow!("too little is known of its ranks"))?;
        if args.target.json {
            print_json(&told)?;
        } else {
            print(&format!("{}.\n", told.sentence))?;
        }
        return Ok(Outcome::Done);
    }
    if args.when.is_given() {
        let look = async || look::past(client.clone(), &args.when).await;
        let seen = patiently(&job, look).await?;
        let nothing =
            "nothing of this time is kept: it was not recorded, was forgotten, or is to come";
        return say(&seen.ok_or_else(|| anyhow::anyhow!(nothing))?, &args.target);
    }
    let moment = async || patiently(&job, async || look::moment(client.clone()).await).await;
    let first = moment().await?;
    let progress = Progress::show("looking at the job", Some(time));
    tokio::time::sleep(time).await;
    progress.end().await;
    let second = moment().await?;
    let seen = patiently(&job, async || {
        look::seen(client.clone(), &first, &second).await
    });
    let mut seen = seen.await?;
    look::look_further(&client, &mut seen).await;
    look::look_closer(&client, &mut seen, CLOSER).await;
    say(&seen, &args.target)
}

fn say(seen: &Seen, target: &Target) -> anyhow::Result<Outcome> {
    let told = explain_seen(seen);
    if target.json {
        print_json(&told)?;
    } else {
        let coverage = coverage::text(&seen.grid.coverage.clone().unwrap_or_default());
        print(&format!("{}.\n\n{coverage}", told.sentence))?;
    }
    Ok(Outcome::Done)
}
