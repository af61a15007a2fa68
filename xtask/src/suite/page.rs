//! The scripts of the page of `invivo web`: their types, which comments say, and their form.

use super::ended::Ended;
use crate::run::{check, root};
use crate::setup::page;
use anyhow::Result;
use std::process::Command;

/// What prettier formats.
const FORMATTED: [&str; 5] = [
    "cli/page/*.js",
    "cli/page/*.css",
    "cli/page/*.html",
    "cli/page/screen.d.ts",
    "tests/page/*.mjs",
];

/// Checks both.
pub fn check_scripts() -> Result<Ended> {
    let tools = page::home().join("node_modules/.bin");
    if !tools.exists() {
        return Ok(Ended::Skipped("no target/page: cargo xtask setup".into()));
    }
    let mut types = Command::new(tools.join("tsc"));
    check(
        types
            .current_dir(root())
            .args(["-p", "cli/page/tsconfig.json"]),
    )?;
    let mut form = Command::new(tools.join("prettier"));
    form.current_dir(root())
        .args(["--log-level", "warn", "--check"]);
    check(
        form.args(["--config", "tests/page/package.json"])
            .args(FORMATTED),
    )?;
    Ok(Ended::Passed)
}
