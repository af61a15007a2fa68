//! `invivo report`: a report that was written as JSON, as text or as a page.

use super::{Outcome, print, print_json};
use anyhow::{Context, bail};
use invivo_jobdir::whole_file;
use std::path::{Path, PathBuf};

/// Options of `invivo report`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
The file is one that `invivo run --report NAME.json` has written; no job is needed.
The page is one file that needs no other and no network: it can be sent, printed and kept.

Examples:
  invivo report melt.json
  invivo report melt.json --html melt.html
  invivo report melt.json --json | jq '.totals[] | {function, seconds}'
  invivo run --report melt.html -- mpiexec -n 4 ./app      the page at the end of the job")]
pub struct Args {
    /// The report, as JSON
    file: PathBuf,
    /// Write an HTML page instead of printing text
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON, in one line
    #[arg(long)]
    json: bool,
}

/// Shows a report again, or makes a page of it.
///
/// # Errors
/// When the report cannot be read, or the page not be written.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let report = invivo_report::read(&args.file)?;
    if let Some(path) = &args.html {
        if is_same(path, &args.file) {
            bail!(
                "the page would replace the report {}; give another name to --html",
                path.display()
            );
        }
        let page = invivo_report::html(&report);
        whole_file::write(path, page.as_bytes())
            .with_context(|| format!("cannot write the page to {}", path.display()))?;
    }
    match (&args.html, args.json) {
        (_, true) => print_json(&report)?,
        (Some(path), false) => {
            print(&format!(
                "the page is in {}: open it in a browser\n",
                path.display()
            ))?;
        }
        (None, false) => print(&invivo_report::text(&report))?,
    }
    Ok(Outcome::Done)
}

fn is_same(page: &Path, report: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    whole(page).is_some_and(|page| whole(report) == Some(page))
}
