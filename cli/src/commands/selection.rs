//! `invivo selection`: shows which regions and MPI functions are recorded, or changes it.

use super::control::carry_out;
use super::target::Target;
use super::{Outcome, print, print_json};
use crate::client::{Scope, patiently};
use crate::view::since_start::SinceStart;
use invivo_config::{Time, Value};
use invivo_grpc::v1;
use invivo_jobdir::whole_file;
use invivo_proto::control::order::Order;
use invivo_proto::control::selection::{Fits, InvalidText, Rule, Selection};
use invivo_report::selection::suggest::{self, Wanted};
use invivo_report::{analyses, coverage, selection};
use std::io::Read;
use std::path::PathBuf;

/// Options of `invivo selection`.
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Without another word, shows the rules in force, and what is recorded. The time of a region that \
is left out is its caller's; MPI calls by which messages are followed are always recorded. A \
change is made at the same job time on all ranks; the exit status is 0 only if every rank has \
acknowledged.

The last rule that fits decides; what none fits is recorded. A PATTERN has *, ? and [a-z]:
  solve*             regions of such names
  MPI_Test*          MPI functions of such names
  source:*.f90       regions whose function is in such a source file
  module:libm*       regions whose function is in such a program or library
  group:coll         MPI functions: p2p, request, coll, rma, io, cg, type, env, misc
  shorter:1us@10000  regions that take less on average, once a rank has entered them so often

Examples:
  invivo selection
  invivo selection suggest
  invivo selection exclude 'tiny_*' source:lookup.c
  invivo selection include tiny_solve
  echo 'exclude *; include solve*; exclude group:type' | invivo selection load -
  invivo selection clear")]
pub struct Args {
    #[command(subcommand)]
    change: Option<Change>,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Change {
    /// No longer record what a pattern fits: rules behind those in force
    #[command(after_help = "\
Examples:
  invivo selection exclude 'tiny_*' 'v::at(int, int)'
  invivo selection exclude source:lookup.c module:libm.so.6 group:type
  invivo selection exclude shorter:500ns@100000")]
    Exclude(Patterns),
    /// Record what a pattern fits: rules behind those in force
    #[command(after_help = "\
Examples:
  invivo selection exclude '*' && invivo selection include 'solve*'")]
    Include(Patterns),
    /// Replace all rules by those of a file
    Load(Load),
    /// Record everything again
    Clear(Clear),
    /// Find regions that cost more than they tell
    Suggest(Suggest),
}

#[derive(Clone, Debug, clap::Args)]
struct Patterns {
    /// What to fit: a name, or source:, module:, group: or shorter: and what follows
    #[arg(value_name = "PATTERN", required = true, value_parser = fits)]
    patterns: Vec<Fits>,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
A line is `exclude PATTERN` or `include PATTERN`, behind # are comments; or the file is a filter \
file of Score-P.

Examples:
  invivo selection load scorep.filt
  echo 'exclude *; include solve*' | invivo selection load -")]
struct Load {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Debug, clap::Args)]
struct Clear {
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Suggests to leave out regions that are entered often and take little time of their own; nothing is \
changed.

Examples:
  invivo selection suggest
  invivo selection suggest --shorter-than 500ns --share 0
  invivo selection suggest -o tiny.filt && invivo selection load tiny.filt")]
struct Suggest {
    /// Regions whose visits take less of their own time on average
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = Time::parse)]
    shorter_than: Time,
    /// Regions with so many visits at least, of all ranks together
    #[arg(long, value_name = "N", default_value = "10000")]
    visits: u64,
    /// Regions with at least so much of all begins and ends
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = share)]
    share: f64,
    /// Write a filter file of Score-P, which `invivo selection load` reads
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

fn fits(text: &str) -> Result<Fits, String> {
    text.parse()
        .map_err(|error: <Fits as std::str::FromStr>::Err| error.to_string())
}

/// From 0 to 1, of a text as `1%`.
fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse();
    match number {
        Ok(percent @ 0.0..=100.0) => Ok(percent / 100.0),
        _ => Err(format!("{text:?} is no share; give one as 1% or 0.5%")),
    }
}

/// Shows or changes what is recorded.
///
/// # Errors
/// Why it cannot be done.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let (selection, target) = match args.change {
        None => return show(&args.target).await,
        Some(Change::Suggest(args)) => return suggest(args).await,
        Some(Change::Exclude(of)) => (behind(false, of.patterns), of.target),
        Some(Change::Include(of)) => (behind(true, of.patterns), of.target),
        Some(Change::Load(of)) => (read(&of.file)?, of.target),
        Some(Change::Clear(of)) => (all(), of.target),
    };
    let order = Order::Select(selection).checked();
    carry_out(&target, order.map_err(anyhow::Error::msg)?).await
}

/// Everything is recorded.
fn all() -> Selection {
    Selection {
        replaces: true,
        rules: Vec::new(),
    }
}

/// Rules that come behind those in force.
fn behind(include: bool, patterns: Vec<Fits>) -> Selection {
    let rules = patterns.into_iter().map(|fits| Rule { include, fits });
    Selection {
        replaces: false,
        rules: rules.collect(),
    }
}

/// The rules of a file.
fn read(file: &str) -> anyhow::Result<Selection> {
    if file != "-" {
        return <Selection as Value>::parse(&format!("@{file}")).map_err(anyhow::Error::msg);
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| anyhow::anyhow!("cannot read the rules in standard input: {error}"))?;
    text.parse()
        .map_err(|error: InvalidText| anyhow::anyhow!("standard input, {error}"))
}

async fn show(target: &Target) -> anyhow::Result<Outcome> {
    let (job, client) = target.client(Scope::View)?;
    let request = v1::SelectionRequest {};
    let reply = patiently(&job, async || client.clone().selection(request).await).await?;
    if target.json {
        print_json(&reply)?;
    } else {
        let coverage = coverage::text(&reply.coverage.clone().unwrap_or_default());
        let text = selection::text(&reply.since(job.started_ns));
        print(&format!("{text}\n{coverage}"))?;
    }
    Ok(Outcome::Done)
}

async fn suggest(args: Suggest) -> anyhow::Result<Outcome> {
    let (job, client) = args.target.client(Scope::View)?;
    let request = v1::RegionsRequest::default();
    let reply = patiently(&job, async || client.clone().regions(request).await).await?;
    let suggestion = suggest::suggest(
        &reply,
        Wanted {
            mean_ns: args.shorter_than.ns(),
            visits: args.visits,
            share: args.share,
        },
    );
    // A file without rules would record everything again where it is loaded.
    let output = (args.output.as_ref()).filter(|_| !suggestion.regions.is_empty());
    if let Some(path) = output {
        let file = suggest::filter_file(&suggestion);
        whole_file::write(path, file.as_bytes())
            .map_err(|error| anyhow::anyhow!("cannot write {}: {error}", path.display()))?;
    }
    if args.target.json {
        print_json(&suggestion)?;
    } else {
        let file = output.map(|path| path.to_string_lossy());
        let mut text = suggest::text(&suggestion, file.as_deref());
        text.push_str(&analyses::notes(reply.analysis.as_ref()));
        print(&text)?;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_per_cent() {
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("0"), Ok(0.0));
        for text in ["", "%", "-1%", "101%", "nan", "some"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
