//! `invivo waitstates`.

use super::interval::When;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use invivo_grpc::v1;
use invivo_report::{analyses, coverage, wait_states, waits_by_site};

/// Options of `invivo waitstates`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Wait states have Scalasca's names and definitions: Wait at N x N, Wait at Barrier, Late Broadcast, \
Early Reduce and
Early Scan, of non-blocking collectives in the call that completes them; and Late Sender and
Late Receiver, which need the matching of messages (invivo analyses on messages).

Examples:
  invivo waitstates
  invivo waitstates --by site             where in the program, and for whom there
  invivo waitstates --since 60s           the last minute
  invivo waitstates --interval 30s..40s   what happened then
  invivo waitstates --ranks 3
  invivo waitstates --json | jq '.ranks | max_by(.caused_ns).rank'")]
pub struct Args {
    /// Ranks that waited longest, and as many that made others wait longest [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: Option<u32>,
    /// Show the waits by call site instead: function, file and line of the program
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "ranks")]
    by: Option<By>,
    /// Rows by site to show at most, those with the most waiting; JSON has all [default: 40]
    #[arg(long, value_name = "N", requires = "by", conflicts_with = "json",
          value_parser = clap::value_parser!(u32).range(1..))]
    rows: Option<u32>,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    target: Target,
}

/// What rows are about.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum By {
    /// Where in the program somebody waits
    Site,
}

/// What is said of a time without waits.
const NOTHING: &str = "nobody waited";
/// Ranks in the table: a screen's worth with the rest.
const RANKS_SHOWN: u32 = 8;
/// Rows by site: about a screen.
const ROWS_SHOWN: u32 = 40;

/// Shows who waits for whom.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    if let Some(By::Site) = args.by {
        return by_site(args).await;
    }
    let (job, client) = args.target.client(Scope::View)?;
    let default = if args.target.json { 0 } else { RANKS_SHOWN };
    let request = v1::WaitStatesRequest {
        ranks_max: args.ranks.unwrap_or(default),
        ..args.when.asked().wait_states()
    };
    let reply = patiently(&job, async || client.clone().wait_states(request).await).await?;
    if args.target.json {
        print_json(&reply)?;
    } else {
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        let notes = [&reply.analysis, &reply.messages];
        let notes: String = notes.map(|of| analyses::notes(of.as_ref())).concat();
        let nothing = (reply.rows.is_empty(), NOTHING);
        let table = || wait_states::text(&reply);
        let table = args.when.told(reply.interval.as_ref(), nothing, table);
        print(&format!("{table}\n{notes}{coverage}"))?;
    }
    Ok(Outcome::Done)
}

/// Shows where in the program somebody waits.
async fn by_site(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    // Sites are chosen here: the gateway knows those with the most time, not with the most waiting.
    let request = args.when.asked().sites();
    let reply = patiently(&job, async || client.clone().call_sites(request).await).await?;
    if args.target.json {
        print_json(&reply)?;
    } else {
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        let notes = [&reply.wait_states, &reply.messages, &reply.analysis];
        let notes: String = notes.map(|of| analyses::notes(of.as_ref())).concat();
        let rows = args.rows.unwrap_or(ROWS_SHOWN) as usize;
        let table = || waits_by_site::text(&reply, rows) + &waits_by_site::unnamed(&reply);
        let is_empty = reply.rows.iter().all(|row| row.waits.is_empty());
        let table = args
            .when
            .told(reply.interval.as_ref(), (is_empty, NOTHING), table);
        print(&format!("{table}\n{notes}{coverage}"))?;
    }
    Ok(Outcome::Done)
}
