//! `invivo timeline`: what every rank did, call by call, as a picture and a Perfetto trace.

use super::one_iteration::{Which, choose, crop};
use super::target::Target;
use super::{Outcome, note, print, print_json};
use crate::client::{Scope, explained, patiently};
use invivo_config::{Time, Value};
use invivo_grpc::v1;
use invivo_jobdir::whole_file;
use invivo_report::glyphs::Look;
use invivo_report::timeline;
use invivo_report::timeline_pages::TimelinePages;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Options of `invivo timeline`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The picture has a row for each rank, the worst first where there are many. The file is a Perfetto \
trace: drop it onto
https://ui.perfetto.dev, which reads it in the browser and sends it nowhere. With --json each line \
is a page: some ranks with
their calls.

Examples:
  invivo timeline
  invivo timeline --seconds 0.5 -o job.pftrace
  invivo timeline --iteration              the last iteration of the main loop
  invivo timeline --iteration longest -o slow.pftrace
  invivo timeline --json | jq -c '.pieces[] | {rank: .location.rank, open: .open.function}'")]
pub struct Args {
    /// How far back, in seconds or as 500ms
    #[arg(long, value_name = "TIME", value_parser = Time::parse, default_value = "5")]
    seconds: Time,
    /// Instead: one iteration of the main loop of the program
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, default_missing_value = "last",
          conflicts_with = "seconds")]
    iteration: Option<Which>,
    /// Of this loop, as invivo iterations numbers them
    #[arg(long = "loop", value_name = "N", requires = "iteration",
          value_parser = clap::value_parser!(u32).range(1..))]
    number: Option<u32>,
    /// Write a Perfetto trace
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The newest calls of all ranks together, at most [default: 500000; of an iteration, which may
    /// be long over, 2000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=CALLS_MAX))]
    calls: Option<u64>,
    /// Draw with ASCII characters only
    #[arg(long)]
    ascii: bool,
    #[command(flatten)]
    target: Target,
}

/// Calls of a timeline, and the most that the gateway gives.
const CALLS: u64 = 500_000;
const CALLS_MAX: u64 = 2_000_000;

/// Shows what every rank did last.
///
/// # Errors
/// Why it cannot be shown.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let chosen = match args.iteration {
        Some(which) => Some(choose(&job, &client, which, args.number).await?),
        None => None,
    };
    let length_ns = chosen.as_ref().map_or(args.seconds.ns(), |of| of.length_ns);
    let request = v1::TimelineRequest {
        length_ns,
        calls_max: args.calls.unwrap_or(match chosen {
            Some(_) => CALLS_MAX,
            None => CALLS,
        }),
    };
    let mut pages = patiently(&job, async || client.clone().timeline(request).await).await?;
    let mut gathered = TimelinePages::new(&job.job);
    while let Some(mut page) = pages
        .message()
        .await
        .map_err(|status| explained(&job, &status))?
    {
        if let Some(of) = &chosen {
            crop(&mut page, &of.time);
        }
        if args.target.json {
            print_json(&page)?;
        }
        // Page by page as they come: the gateway never holds the whole timeline.
        gathered.add(&page);
    }

    gathered.observation.is_past = chosen.is_some();
    // The file first: a terminal that is closed meanwhile does not cost it.
    if let Some(path) = &args.output {
        whole_file::write_with(path, |mut out| gathered.write(&mut out))
            .map_err(|error| anyhow::anyhow!("cannot write {}: {error}", path.display()))?;
    }
    if !args.target.json {
        let mut look = Look::of(args.ascii, |name| std::env::var_os(name));
        look.color &= std::io::stdout().is_terminal();
        if let Some(of) = &chosen {
            print(&format!("{}\n\n", of.said))?;
        }
        print(&timeline::text(&gathered.observation, look))?;
        if let Some(path) = &args.output {
            print(&format!(
                "the timeline is in {}: drop it onto https://ui.perfetto.dev\n",
                path.display()
            ))?;
        }
    }

    let missing = gathered.observation.missing.len();
    if missing > 0 {
        note(&format!(
            "{} did not answer: the ranks below are missing",
            if missing == 1 {
                "1 tool process".to_owned()
            } else {
                format!("{missing} tool processes")
            }
        ));
        return Ok(Outcome::Incomplete);
    }
    Ok(Outcome::Done)
}
