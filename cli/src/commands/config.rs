//! `invivo config`: the options in force, and where each came from.

use super::{Outcome, print, print_json};
use invivo_config::Flags;
use invivo_report::table::{Side, Table};
use serde_json::json;

/// Options of `invivo config`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Flags go before the environment (INVIVO_FAN_IN for fan-in), that before ./invivo.toml, that before \
the user's file
($XDG_CONFIG_HOME/invivo/config.toml), and that before the site's (/etc/invivo/config.toml, or \
INVIVO_SITE_CONFIG).

Examples:
  invivo config
  invivo config --fan-in 2             what would hold with this flag
  invivo config --json | jq '.settings[] | select(.origin != \"default\")'")]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Print JSON; durations are in ns and sizes in bytes
    #[arg(long)]
    json: bool,
}

/// Shows the effective configuration.
///
/// # Errors
/// What is wrong with a layer.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let effective = invivo_config::effective(&args.flags)?;
    let rows = effective.rows();
    // All paths are listed, also of files that are not there: a user wants to know where to put
    // one.
    let paths = if args.flags.no_config {
        Vec::new()
    } else {
        invivo_config::paths()
    };
    if args.json {
        let settings = rows.iter().map(
            |row| json!({ "key": row.key, "value": row.json, "origin": row.origin.to_string() }),
        );
        let files = paths
            .iter()
            .map(|path| json!({ "path": path, "there": path.exists() }));
        print_json(&json!({
            "settings": settings.collect::<Vec<_>>(),
            "files": files.collect::<Vec<_>>(),
        }))?;
        return Ok(Outcome::Done);
    }
    let mut table = Table::new([
        ("key", Side::Left),
        ("value", Side::Left),
        ("from", Side::Left),
    ]);
    for row in rows {
        let value = row.toml.unwrap_or_else(|| "-".to_owned());
        table.row([row.key.to_owned(), value, row.origin.to_string()]);
    }
    let mut text = table.text();
    for path in paths {
        let there = if path.exists() { "read" } else { "not there" };
        text.push_str(&format!("{}: {there}\n", path.display()));
    }
    print(&text)?;
    Ok(Outcome::Done)
}
