//! What the tests of the page of `invivo web` need: a browser, and by npm what drives it and checks
//! the page's scripts, in `target/page`. The page itself needs none of it.

use super::packages::{self, Use};
use crate::run::{Step, check, root};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What npm reads.
const FILES: [&str; 3] = [".npmrc", "package.json", "package-lock.json"];

/// Where npm puts it.
pub fn home() -> PathBuf {
    root().join("target/page")
}

/// Installs what is missing. Where there is no browser to be had, as in Ubuntu's packages, the
/// tests say that they have not tested it.
pub fn ensure() -> Result<()> {
    let has_npm = ["node", "npm"].iter().all(|program| runs(program));
    let node = (!has_npm).then_some(Use::Node);
    let uses: Vec<Use> = node.into_iter().chain([Use::Browser]).collect();
    if let Err(error) = packages::ensure(&uses) {
        eprintln!("xtask: the page of invivo web is not tested in a browser: {error:#}");
        return Ok(());
    }
    let sources = root().join("tests/page");
    if FILES
        .iter()
        .all(|name| is_same(&sources.join(name), &home().join(name)))
        && home().join("node_modules").exists()
    {
        return Ok(());
    }
    let step = Step::begin("installing what tests the page into target/page");
    step.end(install(&sources))
}

fn install(sources: &Path) -> Result<()> {
    std::fs::create_dir_all(home())?;
    // The lock comes last: it stands for what is installed.
    for name in &FILES[..2] {
        std::fs::copy(sources.join(name), home().join(name))?;
    }
    std::fs::copy(sources.join(FILES[2]), home().join(FILES[2]))?;
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]);
    let installed = check(npm.current_dir(home()).stdout(std::io::stderr()));
    if installed.is_err() {
        std::fs::remove_file(home().join(FILES[2]))?;
    }
    installed
}

fn is_same(one: &Path, other: &Path) -> bool {
    let read = |path: &Path| std::fs::read(path).ok();
    read(one).is_some_and(|text| read(other) == Some(text))
}

fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
