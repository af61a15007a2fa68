//! `invivo compare`: runs of a program, before and after something, by their reports or by what was
//! saved of them.

use super::{Outcome, print, print_json};
use anyhow::{Context, bail};
use invivo_report::Report;
use invivo_report::compare::{self, RUNS_MAX};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Options of `invivo compare`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Reports are those that `invivo run --report NAME.json` has written, or directories of `invivo
save` or `--save`; no job is needed. Windows of a running job are made by `invivo record --for 2s`
and `invivo report --json > FILE`, as often as wanted. With several runs of each side it is told
which differences can be chance, for all quantities together.

Examples:
  invivo compare before.json after.json
  invivo compare before.obs after.obs
  invivo compare base-*.json --with new-*.json
  invivo compare base-*.json --with new-*.json --fail-above 5%     exit status 1 if worse: for CI
  invivo compare --windows base-*.json --with new-*.json           of jobs that run on
  invivo compare before.json after.json --json | jq '.changes[] | select(.verdict == \"worse\")'")]
pub struct Args {
    /// The reports of the base; without --with two, of which the second is the new one
    #[arg(required = true, value_name = "REPORT")]
    base: Vec<PathBuf>,
    /// The reports that are compared with the base
    #[arg(long, value_name = "REPORT", num_args = 1..)]
    with: Vec<PathBuf>,
    /// The reports are of windows of jobs that run on: compare what is in a second of them
    #[arg(long)]
    windows: bool,
    /// Differences up to this are not judged
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "2%")]
    threshold: f64,
    /// The same, and exit with status 1 where something is worse by more
    #[arg(long, value_name = "PERCENT", value_parser = percent, conflicts_with = "threshold")]
    fail_above: Option<f64>,
    /// Print JSON, in one line
    #[arg(long)]
    json: bool,
}

/// Compares reports.
///
/// # Errors
/// When they cannot be read, or it is not said which belong to which side.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (base, new) = sides(args)?;
    let read = |paths: &[PathBuf]| -> anyhow::Result<Vec<Report>> {
        if paths.len() > RUNS_MAX {
            bail!(
                "{} reports are given, at most {RUNS_MAX} of each side",
                paths.len()
            );
        }
        let reports = paths.iter().map(|path| match path.is_dir() {
            true => of_observation(path),
            false => Ok(invivo_report::read(path)?),
        });
        reports.collect()
    };
    let threshold = args.fail_above.unwrap_or(args.threshold);
    let found = compare::compare(&read(base)?, &read(new)?, args.windows, threshold);
    if args.json {
        print_json(&found)?;
    } else {
        print(&compare::text(&found))?;
    }
    Ok(match args.fail_above.is_some() && found.worse {
        true => Outcome::Incomplete,
        false => Outcome::Done,
    })
}

/// The report of a saved observation.
fn of_observation(dir: &Path) -> anyhow::Result<Report> {
    let shown = dir.display();
    // This program lies in `lib/invivo`, and what opens observations in `bin` beside that.
    let here = std::env::current_exe().context("cannot find where this invivo is installed")?;
    let root = here.ancestors().nth(3).unwrap_or(Path::new("/"));
    let program = root.join("bin/invivo");
    let opened = Command::new(&program)
        .arg("open")
        .arg(dir)
        .args(["--", "report", "--json"])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    anyhow::ensure!(
        opened.status.success(),
        "there is no report of {shown}: it cannot be opened"
    );
    serde_json::from_slice(&opened.stdout)
        .with_context(|| format!("the report of {shown} cannot be read"))
}

fn sides(args: &Args) -> anyhow::Result<(&[PathBuf], &[PathBuf])> {
    match (&args.base[..], &args.with[..]) {
        ([base, new], []) => Ok((std::slice::from_ref(base), std::slice::from_ref(new))),
        (several, []) => bail!(
            "{} given: say which are the new ones: invivo compare BASE... --with NEW...",
            invivo_report::units::counted(several.len() as u64, "report")
        ),
        (base, new) => Ok((base, new)),
    }
}

/// "5%" or "5": a share.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("give a percentage, as 5%".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_its_sign_or_not() {
        assert_eq!((percent("5%"), percent("2.5")), (Ok(0.05), Ok(0.025)));
        for odd in ["", "%", "x", "-1", "NaN", "5%%", "1e9"] {
            assert!(percent(odd).is_err(), "{odd}");
        }
    }
}
