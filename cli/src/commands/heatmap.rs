//! `invivo heatmap`.

use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::view::heatmap;
use invivo_grpc::v1;
use invivo_proto::control::metric::{Metric, UnknownMetric};
use invivo_report::glyphs::Look;
use invivo_report::{analyses, coverage};

/// Options of `invivo heatmap`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Times count from the beginning of the observed time, when the first rank had initialised MPI. \
Columns are as wide as the run makes them: a place keeps a thousand bins of each rank, however \
long it runs.

Examples:
  invivo heatmap
  invivo heatmap --since 60s                   the last minute
  invivo heatmap --interval 30s..40s --metric bytes
  invivo heatmap --metric waiting              when the ranks waited for each other
  invivo metrics set usual && sleep 10 && invivo heatmap --metric page-faults
  invivo heatmap --json | jq '.rows[].cells[-1] | {max, max_rank}'")]
pub struct Args {
    /// What to show: mpi, compute (time in MPI or outside of it), waiting (for another rank),
    /// calls, bytes (sent), or a metric that is or was measured, as `invivo metrics` names it
    #[arg(long, value_parser = metric, default_value_t)]
    metric: Metric,
    #[command(flatten)]
    when: When,
    /// Columns, at most [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    columns: Option<u32>,
    /// Rows, at most; more ranks share rows [default: 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    rows: Option<u32>,
    /// Draw with ASCII characters only
    #[arg(long)]
    ascii: bool,
    #[command(flatten)]
    target: Target,
}

fn metric(text: &str) -> Result<Metric, String> {
    text.parse()
        .map_err(|error: UnknownMetric| error.to_string())
}

/// Shows what the ranks did over time.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    // 0 is the gateway's own default.
    let request = v1::GridRequest {
        metric: args.metric.to_string(),
        columns_max: args.columns.unwrap_or(0),
        rows_max: args.rows.unwrap_or(0),
        ..args.when.asked().grid()
    };
    let reply = patiently(&job, async || client.clone().grid(request.clone()).await).await?;
    if args.target.json {
        print_json(&reply)?;
    } else {
        let look = Look::of(args.ascii, |name| std::env::var_os(name));
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        let notes = analyses::notes(reply.analysis.as_ref());
        print(&format!(
            "{}\n{notes}{coverage}",
            heatmap::text(&reply, look)
        ))?;
    }
    Ok(Outcome::Done)
}
