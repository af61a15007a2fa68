//! `invivo compare`: runs of a program, before and after something, by their reports.

use super::{Outcome, print, print_json};
use anyhow::bail;
use invivo_report::Report;
use invivo_report::compare::{self, RUNS_MAX};
use std::path::PathBuf;

/// Options of `invivo compare`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Reports are those that `invivo run --report NAME.json` has written; no job is needed. With several
runs of each side it is told which differences can be chance, for all quantities together.

Examples:
  invivo compare before.json after.json
  invivo compare base-*.json --with new-*.json
  invivo compare base-*.json --with new-*.json --fail-above 5%     exit status 1 if worse: for CI
  invivo compare before.json after.json --json | jq '.changes[] | select(.verdict == \"worse\")'")]
pub struct Args {
    /// The reports of the base; without --with two, of which the second is the new one
    #[arg(required = true, value_name = "REPORT")]
    base: Vec<PathBuf>,
    /// The reports that are compared with the base
    #[arg(long, value_name = "REPORT", num_args = 1..)]
    with: Vec<PathBuf>,
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
        let reports = paths.iter().map(|path| Ok(invivo_report::read(path)?));
        reports.collect()
    };
    let threshold = args.fail_above.unwrap_or(args.threshold);
    let found = compare::compare(&read(base)?, &read(new)?, threshold);
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
