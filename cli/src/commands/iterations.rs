//! `invivo iterations`.

use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_report::{analyses, coverage, iterations};

/// Options of `invivo iterations`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
A loop is a call site that ranks come to again and again by way of the same call sites. An \
iteration goes from one call
there to the next; the program marks nothing. Of call sites that are come to equally often in \
the same time one stands
for all. Iterations that come to other call sites are counted as others.

Examples:
  invivo iterations
  invivo iterations --since 60s            the last minute: are they longer now?
  invivo iterations --json | jq '.rows[] | {mean_ns, iterations_max}'
  invivo timeline --iteration              show the last one")]
pub struct Args {
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    target: Target,
}

/// Shows the loops of the program.
///
/// # Errors
/// Why they cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let request = args.when.asked().iterations();
    let reply = patiently(&job, async || client.clone().iterations(request).await).await?;
    if args.target.json {
        print_json(&reply)?;
    } else {
        let nothing = (reply.rows.is_empty(), "no loop was found");
        let table = || iterations::text(&reply);
        let mut text = args.when.told(reply.interval.as_ref(), nothing, table);
        // Loops of a part of the run have other numbers.
        let hint = iterations::hint(&reply).filter(|_| !args.when.is_given());
        if let Some(hint) = hint {
            text.push_str(&format!("{hint}\n"));
        }
        text.push('\n');
        text.push_str(&analyses::notes(reply.analysis.as_ref()));
        text.push_str(&coverage::text(&reply.coverage.unwrap_or_default()));
        print(&text)?;
    }
    Ok(Outcome::Done)
}
