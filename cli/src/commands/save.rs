//! `invivo save`: what the buffers hold, into a directory, while the job runs.

use super::interval::When;
use super::progress::Meter;
use super::ranks::{Ranges, ranges};
use super::target::Target;
use super::{Outcome, note, print, print_json};
use crate::client::Scope;
use crate::saved::Received;
use crate::saving::{self, Got};
use anyhow::Context;
use invivo_archive::saved::Writer;
use invivo_grpc::v1;
use invivo_report::units;
use serde::Serialize;
use std::path::{Path, PathBuf};
use tokio::signal::unix::{SignalKind, signal};

/// Options of `invivo save`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The buffers are saved as they are at one moment, and the job runs on. What is being saved takes no \
new calls until it \
has been read; a buffer that is full gives up its oldest quarter first, so that there is room. \
The directory appears when all of it is there, or not at all. No job is needed to read it.

Examples:
  invivo save melt.obs
  invivo save melt.obs --since 30s --rank 0-3
  invivo save melt.obs && invivo export melt.obs --to otf2 melt.otf2
  invivo save melt.obs --json | jq '{locations, bytes}'")]
pub struct Args {
    /// The directory to make
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    when: When,
    /// These ranks, as 0-3,7
    #[arg(long, value_name = "SET", value_parser = ranges)]
    rank: Option<Ranges>,
    #[command(flatten)]
    target: Target,
}

/// What was saved, as JSON.
#[derive(Debug, Serialize)]
struct Saved<'a> {
    dir: &'a Path,
    from_ns: u64,
    to_ns: u64,
    #[serde(flatten)]
    received: &'a Received,
}

/// Saves what the buffers hold.
///
/// # Errors
/// Why it cannot be saved; then nothing is left.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let cannot = || format!("cannot save to {}", args.dir.display());
    // Before anything is asked of the job.
    let writer = Writer::new(&args.dir).with_context(cannot)?;
    let (job, client) = args.target.client(Scope::Control)?;
    let interval = args.when.asked().grid();
    let request = v1::SaveRequest {
        from_ns: interval.from_ns,
        to_ns: interval.to_ns,
        last_ns: interval.last_ns,
        ranks: args.rank.iter().flat_map(Ranges::iter).collect(),
    };
    let mut meter = Meter::default();
    let show = |got: &Got| {
        meter.show(|| {
            format!(
                "saving: {} of {}, {} of {} locations",
                units::bytes(got.bytes),
                units::bytes(got.bytes_total),
                got.locations,
                got.locations_total,
            )
        });
    };
    let ended = async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        anyhow::bail!("interrupted: nothing is saved, and the job is not affected")
    };
    let (about, received) = tokio::select! {
        saved = saving::save(&job, &client, request, writer, show) => saved.with_context(cannot)?,
        ended = ended => return ended,
    };

    if args.target.json {
        print_json(&Saved {
            dir: &args.dir,
            from_ns: about.from_ns,
            to_ns: about.to_ns,
            received: &received,
        })?;
    } else {
        print(&text(&args.dir, &about, &received))?;
    }
    if !about.missing.is_empty() {
        let count = units::counted(about.missing.len() as u64, "tool process");
        note(&format!(
            "{count} did not answer: the ranks below are missing"
        ));
        return Ok(Outcome::Incomplete);
    }
    if received.cut > 0 {
        return Ok(Outcome::Incomplete);
    }
    Ok(Outcome::Done)
}

fn text(dir: &Path, about: &invivo_archive::saved::format::About, received: &Received) -> String {
    let shown = dir.display();
    let mut text = format!(
        "{} of {} with {} of calls, {} long: {shown}\n",
        units::counted(received.locations, "location"),
        units::counted(received.ranks, "rank"),
        units::bytes(received.bytes),
        units::duration(about.to_ns.saturating_sub(about.from_ns)),
    );
    let lost = [
        (received.reduced, "given up by buffers"),
        (received.dropped, "dropped"),
        (received.reset, "forgotten by a reset"),
        (received.in_flight, "not read yet"),
        (received.not_selected, "not selected"),
    ];
    let lost = lost.iter().filter(|(calls, _)| *calls != 0);
    let lost = lost.map(|(calls, how)| format!("{} {how}", units::counted(*calls, "call")));
    let lost: Vec<String> = lost.collect();
    if !lost.is_empty() {
        text += &format!("of the whole run missing: {}\n", lost.join(", "));
    }
    if received.cut > 0 {
        let cut = units::counted(received.cut, "buffer");
        text +=
            &format!("{cut} went to other threads meanwhile: some of what they held is missing\n");
    }
    text + &format!("next: invivo open {shown}, or invivo export {shown} --to otf2 NEW_DIR\n")
}
