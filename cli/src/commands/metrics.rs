//! `invivo metrics`: shows what is measured of each rank beside its calls, or changes it.

use super::control::carry_out;
use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::measured;
use crate::view::metrics;
use invivo_config::{Time, Value};
use invivo_grpc::v1;
use invivo_proto::control::metrics::{Measured, MetricSet};
use invivo_proto::control::order::Order;
use invivo_report::coverage;

/// Options of `invivo metrics`.
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Without another word, shows the values of what is or was measured: of all ranks, and the ranks \
with least and most. They are read from outside, at even intervals: nothing in the rank does it. \
What was added between two readings is spread evenly over the time between them.

Examples:
  invivo metrics set usual
  invivo metrics
  invivo metrics --since 10s
  invivo metrics list                          what can be measured here
  invivo heatmap --metric page-faults          the same over time, by rank
  invivo metrics --json | jq '.values[] | {name, max, max_rank}'")]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum What {
    /// Show all metrics: what each tells, and whether it is or can be measured
    #[command(after_help = "\
Examples:
  invivo metrics list
  invivo metrics list --json | jq '.metrics[] | select(.without != [])'")]
    List(Plain),
    /// Measure these of each rank, in place of those before
    #[command(after_help = "\
What was measured before stays, until `invivo reset`. A rank on which one of them cannot be \
measured is measured as before, and named; the exit status is 0 only if every rank has \
acknowledged.

Examples:
  invivo metrics set usual
  invivo metrics set page-faults,cpu-time,program --every 50ms
  invivo metrics set cycles,instructions")]
    Set(Set),
    /// Measure nothing any longer; what was measured stays
    #[command(after_help = "\
Examples:
  invivo metrics off")]
    Off(Plain),
}

#[derive(Clone, Debug, clap::Args)]
struct Set {
    /// Metrics of `invivo metrics list`, joined by commas; usual stands for some that every
    /// machine has, program for what the program keeps itself
    #[arg(value_name = "NAMES", value_parser = set)]
    names: MetricSet,
    /// Time from one reading to the next, from 10ms to 60s
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = Time::parse)]
    every: Time,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Debug, clap::Args)]
struct Plain {
    #[command(flatten)]
    target: Target,
}

fn set(text: &str) -> Result<MetricSet, String> {
    text.parse()
        .map_err(|error: <MetricSet as std::str::FromStr>::Err| error.to_string())
}

/// Shows or changes what is measured.
///
/// # Errors
/// Why it cannot be done.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (measured, target) = match args.what {
        None => return show(&args.when, &args.target).await,
        Some(What::List(of)) => return list(&of.target).await,
        Some(What::Off(of)) => (Measured::default(), of.target),
        Some(What::Set(of)) => {
            let measured = Measured {
                set: of.names,
                interval_ns: of.every.ns(),
            };
            (measured, of.target)
        }
    };
    let order = Order::Metrics(measured).checked();
    carry_out(&target, order.map_err(anyhow::Error::msg)?).await
}

async fn show(when: &When, target: &Target) -> anyhow::Result<Outcome> {
    let (job, client) = target.client(Scope::View)?;
    let part = when.asked().grid();
    let measured = patiently(&job, async || measured::ask(client.clone(), &part).await).await?;
    if target.json {
        print_json(&measured)?;
    } else {
        let coverage = coverage::text(&measured.reply.coverage.clone().unwrap_or_default());
        print(&format!("{}\n{coverage}", metrics::text(&measured)))?;
    }
    Ok(Outcome::Done)
}

async fn list(target: &Target) -> anyhow::Result<Outcome> {
    let (job, client) = target.client(Scope::View)?;
    let request = v1::MetricsRequest {};
    let reply = patiently(&job, async || client.clone().metrics(request).await).await?;
    if target.json {
        print_json(&reply)?;
    } else {
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        print(&format!("{}\n{coverage}", metrics::list(&reply)))?;
    }
    Ok(Outcome::Done)
}
