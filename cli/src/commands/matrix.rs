//! `invivo matrix`.

use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_grpc::v1;
use invivo_report::{analyses, coverage, matrix};

/// Options of `invivo matrix`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  invivo matrix
  invivo matrix --side 4                   folded into four by four blocks of ranks
  invivo matrix --since 60s                the last minute
  invivo matrix --json | jq '.cells[] | select(.sent.bytes > 1000000)'")]
pub struct Args {
    /// Rows and columns to show at most; more ranks are folded into blocks [default: 12 as text, 64
    /// as JSON]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    side: Option<u32>,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    target: Target,
}

/// Shows the point-to-point communication matrix.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    // 0 is the gateway's own default.
    let side_max = args.side.unwrap_or(if args.target.json {
        0
    } else {
        matrix::SIDE_TEXT
    });
    let request = v1::MatrixRequest {
        side_max,
        ..args.when.asked().matrix()
    };
    let reply = patiently(&job, async || client.clone().matrix(request).await).await?;
    if args.target.json {
        print_json(&reply)?;
    } else {
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        let notes = analyses::notes(reply.analysis.as_ref());
        let nothing = (reply.cells.is_empty(), "no point-to-point message was sent");
        let table = || matrix::text(&reply);
        let table = args.when.told(reply.interval.as_ref(), nothing, table);
        print(&format!("{table}\n{notes}{coverage}"))?;
    }
    Ok(Outcome::Done)
}
