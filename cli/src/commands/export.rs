//! `invivo export`: a saved observation in the form of another tool.

use super::progress::Meter;
use super::{Outcome, print, print_json};
use anyhow::{Context, bail};
use invivo_archive::otf2::{self, Communication, Exported};
use invivo_archive::saved::SavedObservation;
use invivo_archive::{csv, perfetto};
use invivo_jobdir::whole_file;
use invivo_report::units;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Options of `invivo export`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The observation is one that `invivo save` has written; no job is needed. Every file of it is \
checked before it is used.
  otf2      a directory with an archive for Vampir, Scalasca, otf2-print and others; it is written
            by libotf2 3.0, which must be there (Debian: libopen-trace-format2-dev)
  perfetto  a file for https://ui.perfetto.dev; all calls are held in memory while it is made
  csv       a file with a line for each call and visit of a region

An observation begins and ends in the midst of messages: of some one side is there alone. Scalasca's
analyser needs both: --matched leaves the others out.

Examples:
  invivo export melt.obs --to otf2 melt.otf2 && otf2-print melt.otf2/traces.otf2
  invivo export melt.obs --to otf2 --matched melt.otf2
  mpiexec -n 4 scout.mpi melt.otf2/traces.otf2
  invivo export melt.obs --to perfetto melt.pftrace
  invivo export melt.obs --to csv melt.csv")]
pub struct Args {
    /// The directory of the observation
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The form
    #[arg(long, value_name = "FORM")]
    to: Form,
    /// The directory or file to make
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Of OTF2: only messages and collectives of which all sides are there, as Scalasca needs them
    #[arg(long)]
    matched: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What an observation can be made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    Otf2,
    Perfetto,
    Csv,
}

/// What was written, as JSON.
#[derive(Debug, Serialize)]
struct Written<'a> {
    out: &'a Path,
    #[serde(flatten)]
    exported: Exported,
}

/// Writes an observation in another form.
///
/// # Errors
/// Why it cannot be written; then nothing is left.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.matched && args.to != Form::Otf2 {
        bail!("--matched is for --to otf2 alone; the other forms have all that is known");
    }
    let of = SavedObservation::open(&args.dir)?;
    let cannot = || format!("cannot export to {}", args.out.display());
    let locations = of.locations().len() as u64;
    let mut meter = Meter::default();
    let communication = match args.matched {
        true => Communication::Matched,
        false => Communication::All,
    };
    let (exported, next) = match args.to {
        Form::Otf2 => {
            let exported = otf2::export(&of, &args.out, communication, |done, all| {
                meter.show(|| format!("exporting: {done} of {all} locations"));
            });
            let anchor = args.out.join(otf2::NAME).with_added_extension("otf2");
            (
                exported.with_context(cannot)?,
                format!("read it: otf2-print {}", anchor.display()),
            )
        }
        Form::Perfetto => {
            refuse_existing(&args.out)?;
            let (observation, endpoints) = of.view()?;
            whole_file::write_with(&args.out, |mut out| {
                perfetto::write(&observation, &endpoints, &mut out)
            })
            .with_context(cannot)?;
            let exported = Exported {
                locations,
                calls: observation.calls(),
                visits: observation.visits(),
                samples: observation.samples(),
                ..Exported::default()
            };
            let next = "drop it onto https://ui.perfetto.dev".to_owned();
            (exported, next)
        }
        Form::Csv => {
            refuse_existing(&args.out)?;
            refuse_existing(&of_samples(&args.out))?;
            let mut written = Ok(csv::Written::default());
            whole_file::write_with(&args.out, |mut out| {
                written = csv::write(&of, &mut out);
                // The file does not appear where the observation is damaged.
                match &written {
                    Ok(_) => Ok(()),
                    Err(error) => Err(std::io::Error::other(error.to_string())),
                }
            })
            .with_context(cannot)?;
            let written = written.with_context(cannot)?;
            let (samples, beside) = csv_samples(&of, &args.out)?;
            let exported = Exported {
                locations,
                calls: written.calls,
                visits: written.visits,
                samples,
                ..Exported::default()
            };
            (exported, format!("a line for each of them{beside}"))
        }
    };
    drop(meter);

    if args.json {
        let out = args.out.as_path();
        print_json(&Written { out, exported })?;
    } else {
        print(&text(&args.out, &exported, &next))?;
    }
    Ok(Outcome::Done)
}

/// Where samples go, which have other columns: `OUT.samples.csv` beside `OUT.csv`.
fn of_samples(out: &Path) -> PathBuf {
    out.with_extension("samples.csv")
}

/// Writes a table of the samples, if there are some; how many, and where in words.
fn csv_samples(of: &SavedObservation, out: &Path) -> anyhow::Result<(u64, String)> {
    if of.locations().iter().all(|one| one.samples.is_none()) {
        return Ok((0, String::new()));
    }
    let file = of_samples(out);
    let mut written = Ok(0);
    whole_file::write_with(&file, |mut out| {
        written = csv::write_samples(of, &mut out);
        match &written {
            Ok(_) => Ok(()),
            Err(error) => Err(std::io::Error::other(error.to_string())),
        }
    })
    .with_context(|| format!("cannot export to {}", file.display()))?;
    Ok((written?, format!("; samples in {}", file.display())))
}

fn refuse_existing(out: &Path) -> anyhow::Result<()> {
    if out.is_file() || out.is_dir() {
        bail!(
            "{} exists already, and is left as it is; give another name",
            out.display()
        );
    }
    Ok(())
}

fn text(out: &Path, exported: &Exported, next: &str) -> String {
    let visits = match exported.visits {
        0 => String::new(),
        visits => format!(" and {} of regions", units::counted(visits, "visit")),
    };
    let samples = match exported.samples {
        0 => String::new(),
        samples => format!(" and {}", units::counted(samples, "sample")),
    };
    let mut text = format!(
        "{}{visits}{samples} of {}: {}; {next}\n",
        units::counted(exported.calls, "call"),
        units::counted(exported.locations, "location"),
        out.display(),
    );
    let notes = [
        (
            exported.moved,
            "events were moved by some ns, so that times rise",
        ),
        (
            exported.without_communicator,
            "messages or collectives are left out: their communicator is not known",
        ),
        (
            exported.without_operation,
            "collectives are left out: OTF2 has no operation for them",
        ),
        (
            exported.posted_before,
            "operations were posted before the first call that is there",
        ),
        (
            exported.unmatched,
            "sides of messages and collectives are left out: others of them are not there",
        ),
    ];
    for (count, what) in notes.into_iter().filter(|(count, _)| *count != 0) {
        text += &format!("{} {what}\n", units::count(count));
    }
    text
}
