//! Licences, advisories and sources of all dependencies, by cargo-deny.

use super::ended::Ended;
use crate::run::root;
use crate::setup::tool;
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::{Command, Output};

/// Fails where a check fails; says so where only the database of advisories is out of reach.
pub fn check() -> Result<Ended> {
    let Some(program) = tool("cargo-deny") else {
        return Ok(Ended::Skipped("compiles cargo-deny first: --all".into()));
    };
    let rest = deny(&program, &["bans", "licenses", "sources"])?;
    ensure!(
        rest.status.success(),
        "{}",
        String::from_utf8_lossy(&rest.stderr)
    );

    let advisories = deny(&program, &["advisories"])?;
    if advisories.status.success() {
        return Ok(Ended::Passed);
    }

    let said = String::from_utf8_lossy(&advisories.stderr);
    ensure!(said.contains("failed to fetch advisory database"), "{said}");
    Ok(Ended::PassedBut("advisories unreachable".into()))
}

fn deny(program: &Path, checks: &[&str]) -> Result<Output> {
    let mut deny = Command::new(program);
    deny.current_dir(root())
        .args(["--all-features", "--log-level", "error", "check"]);
    Ok(deny.args(checks).output()?)
}
