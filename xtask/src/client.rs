//! The client alone, for laptops on which no job runs: `invivo` for macOS, which reaches jobs by
//! `--on`. It is made here; nobody has run it on such a machine in a test.

use crate::run::{Step, check, root};
use crate::setup::{self, Purpose};
use crate::zig;
use anyhow::{Context, Result};
use clap::Args;
use std::path::PathBuf;
use std::process::Command;

/// What it can be made for.
const TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];

/// `cargo xtask client`.
#[derive(Debug, Args)]
pub struct Client {
    /// Only for this target; for all without it.
    #[arg(long, value_parser = TARGETS)]
    target: Option<String>,
    /// Print the programs' paths as JSON on stdout.
    #[arg(long)]
    json: bool,
}

impl Client {
    /// Builds it, and says where it is.
    pub fn run(&self) -> Result<()> {
        setup::run(Purpose::Release, false)?;
        let wanted = |target: &&&str| self.target.as_deref().is_none_or(|of| of == **target);
        let programs: Vec<PathBuf> = TARGETS
            .iter()
            .filter(wanted)
            .map(build)
            .collect::<Result<_>>()?;
        if self.json {
            println!("{}", serde_json::json!({ "programs": programs }));
        } else {
            for program in &programs {
                eprintln!("xtask: {}", program.display());
            }
        }
        Ok(())
    }
}

/// For all targets, as a test.
pub fn build_all() -> Result<()> {
    TARGETS
        .iter()
        .try_for_each(|target| build(target).map(drop))
}

/// Builds the client for one target, and puts it beside the others under the name that users type.
fn build(target: &&str) -> Result<PathBuf> {
    let step = Step::begin(format!("the client for {target}"));
    let built = compile(target);
    step.end(built)
}

fn compile(target: &str) -> Result<PathBuf> {
    check(Command::new("rustup").args(["target", "add", target]))?;
    let all = root().join("target/client");
    let mut build = zig::cargo_build_for(target)?;
    build
        .arg("--target-dir")
        .arg(&all)
        .args(["--release", "-p", "invivo-cli"]);
    check(&mut build)?;

    let folder = all.join(target);
    let program = folder.join("invivo");
    std::fs::copy(folder.join("release/invivo-client"), &program)
        .context("giving the client its name")?;
    Ok(program)
}
