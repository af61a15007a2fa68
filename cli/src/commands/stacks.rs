//! `invivo stacks`.

use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::view::stacks;
use invivo_grpc::v1;
use invivo_report::coverage;

/// Options of `invivo stacks`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Ranks on the same path stand in one line; where their paths part, the lines part. Each thread is \
stopped from outside and does not notice: mostly for 20
to 130 microseconds (the more, the deeper in Python), for milliseconds where all processors are
busy; the longest is shown. One that sleeps in a system call that would notice is read as it lies.

Examples:
  invivo stacks
  invivo stacks --rank 0-3,7 --threads
  invivo stacks --json | jq -r '.nodes[] | select(.ends > 0) | \"\\(.which) \\(.function)\"'")]
pub struct Args {
    /// These ranks, as 0-3,7
    #[arg(long, value_name = "SET", value_parser = ranges)]
    rank: Option<Ranges>,
    /// All threads of each rank, not the first alone
    #[arg(long)]
    threads: bool,
    /// Also what is inside the MPI library
    #[arg(long)]
    inside: bool,
    #[command(flatten)]
    target: Target,
}

/// Ranks from one to another, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ranges(Vec<(u32, u32)>);

/// Reads ranks as `0-3,7`.
fn ranges(text: &str) -> Result<Ranges, String> {
    let wrong = |what: &str| format!("'{what}' is no rank and no range of ranks such as 0-3");
    let range = |what: &str| -> Result<(u32, u32), String> {
        // A single rank is a range of one.
        let (first, last) = what.split_once('-').unwrap_or((what, what));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong(what));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong(what));
        }
        Ok((first, last))
    };
    text.split(',')
        .map(range)
        .collect::<Result<_, _>>()
        .map(Ranges)
}

/// Shows where the ranks are.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let ranks = args
        .rank
        .as_ref()
        .map(|ranges| ranges.0.as_slice())
        .unwrap_or_default();
    let request = v1::StacksRequest {
        threads: args.threads,
        ranks: ranks
            .iter()
            .map(|&(first, last)| v1::RankRange { first, last })
            .collect(),
    };

    // No ranges mean all ranks.
    let reply = patiently(&job, async || client.clone().stacks(request.clone()).await).await?;
    if reply.ranks == 0 && args.rank.is_some() {
        anyhow::bail!("the job has none of these ranks; see: invivo status");
    }
    if args.target.json {
        print_json(&reply)?;
    } else {
        let shown = stacks::Shown {
            threads: args.threads,
            inside: args.inside,
        };
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        print(&format!("{}\n{coverage}", stacks::text(&reply, shown)))?;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_read_as_people_write_them() {
        assert_eq!(ranges("0-3,7"), Ok(Ranges(vec![(0, 3), (7, 7)])));
        assert_eq!(ranges("5"), Ok(Ranges(vec![(5, 5)])));
        for wrong in ["", "3-0", "a", "1,,2", "-1"] {
            assert!(ranges(wrong).is_err(), "{wrong}");
        }
    }
}
