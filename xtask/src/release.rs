//! The release: the relocatable tree, linked so that it runs on older systems too, as one tarball.

use crate::build::{self, Linked};
use crate::run::{Step, check, dist, root};
use crate::setup::Purpose;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// What stands in the tarball beside the tree.
const BESIDE: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "deploy",
];

/// `invivo-0.1.0-x86_64-linux`: the tarball's name and its only folder.
fn name() -> String {
    format!("invivo-{}-x86_64-linux", env!("CARGO_PKG_VERSION"))
}

/// Where the tarball is put.
pub fn tarball() -> PathBuf {
    root().join("target").join(format!("{}.tar.gz", name()))
}

/// Builds the tree for older systems, and packs it.
pub fn run(json: bool) -> Result<()> {
    build::run(None, Linked::Widely, Purpose::Release, false)?;
    let step = Step::begin(format!("packing {}", tarball().display()));
    step.end(pack())?;
    if json {
        println!("{}", serde_json::json!({ "tarball": tarball() }));
    } else {
        eprintln!("xtask: the release is {}", tarball().display());
    }
    Ok(())
}

/// The same files give the same bytes: sorted, owned by nobody in particular, and of one time.
fn pack() -> Result<()> {
    let beside = tarball().with_extension("new");
    let mut tar = Command::new("tar");
    tar.args([
        "--create",
        "--gzip",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mtime=@0",
    ]);
    // Only these folders: whatever else lies in the installed tree is left out.
    tar.arg(format!("--transform=s,^,{}/,", name()))
        .arg("--file")
        .arg(&beside);
    tar.arg("--directory")
        .arg(dist())
        .args(["bin", "lib", "include", "share"]);

    check(tar.arg("--directory").arg(root()).args(BESIDE))?;
    // Renamed when complete: an interrupted run leaves no half tarball under the name.
    std::fs::rename(&beside, tarball()).context("putting the tarball in place")
}
