//! Runs `cargo build`, and counts what it compiled.

use crate::run::{cargo, check, root, show};
use crate::zig;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the tree is to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// On this machine: built with what it has.
    Here,
    /// On systems as old as [`zig::GLIBC`].
    Widely,
}

impl Linked {
    /// `cargo build`, or what replaces it.
    pub fn build(self) -> Result<Command> {
        match self {
            Linked::Here => {
                let mut build = cargo();
                build.arg("build");
                Ok(build)
            }
            Linked::Widely => zig::cargo_build(),
        }
    }

    /// Where its results lie.
    pub fn results(self, target: &Path, profile: &str) -> PathBuf {
        match self {
            Linked::Here => target.join(profile),
            Linked::Widely => target.join(zig::TARGET).join(profile),
        }
    }
}

/// What one `cargo build` made.
pub struct Compiled {
    /// The folder below the repository.
    pub folder: String,
    pub why: String,
    /// Libraries, programs, macros and build scripts: name and features.
    pub units: Vec<String>,
    /// How many of them were not there yet.
    pub fresh: usize,
}

/// Runs a `cargo build` in the target directory `target`.
pub fn compile(mut build: Command, target: &Path, profile: &str, why: &str) -> Result<Compiled> {
    build.env("CARGO_TARGET_DIR", target);
    // Progress and warnings still go to stderr.
    build.args([
        "--profile",
        profile,
        "--message-format=json-render-diagnostics",
    ]);
    let output = build
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", show(&build)))?;
    ensure!(
        output.status.success(),
        "{}: {}",
        output.status,
        show(&build)
    );

    let messages = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();

    let made = |message: &&Value| message["reason"] == "compiler-artifact";
    // The package alone is not enough: a crate compiled with other features is another unit.
    let unit = |message: &Value| {
        let name = message["package_id"].as_str().unwrap_or_default();
        format!(
            "{} {} {}",
            name, message["target"]["kind"], message["features"]
        )
    };

    let folder = target.strip_prefix(root()).unwrap_or(target).join(profile);
    Ok(Compiled {
        folder: folder.display().to_string(),
        why: why.to_owned(),
        units: messages.iter().filter(made).map(unit).collect(),
        fresh: messages
            .iter()
            .filter(made)
            .filter(|message| message["fresh"] == false)
            .count(),
    })
}

/// A table of what was compiled, and how often the same thing is.
pub fn print_table(all: &[Compiled]) {
    eprintln!(
        "\n  {:<20} {:>6} {:>9}  compiled apart because",
        "target folder", "crates", "just now"
    );

    let mut known: Vec<&String> = Vec::new();
    for one in all {
        eprintln!(
            "  {:<20} {:>6} {:>9}  {}",
            one.folder,
            one.units.len(),
            one.fresh,
            one.why
        );
        known.extend(&one.units);
    }

    let total = known.len();
    known.sort();
    known.dedup();
    eprintln!(
        "  {:<20} {total:>6} {:>9}  of these {} differ; the others are there more than once\n",
        "all",
        all.iter().map(|one| one.fresh).sum::<usize>(),
        known.len()
    );
}

/// Compiles one C program with an MPI's compiler.
pub fn compile_c(compiler: &str, linked: Linked, source: &Path, program: &Path) -> Result<()> {
    let mut compile = Command::new(compiler);
    compile.args(["-O1", "-Wall", "-o"]).arg(program);
    // MPI's wrappers call the compiler that these variables name.
    if linked == Linked::Widely {
        for wrapped in ["OMPI_CC", "MPICH_CC"] {
            compile.env(wrapped, zig::c_compiler()?);
        }
    }
    check(compile.arg(source))
}
