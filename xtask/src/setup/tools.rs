//! Tools of the checks that come as crates: compiled once into `target/tools`, which takes minutes.
//! Checks go without those that are not there.

use crate::run::{Step, cargo, check, root};
use anyhow::Result;
use std::path::PathBuf;

/// Program and version, with cargo's options. Without optimisation: that is most of the time.
const TOOLS: [(&str, &str, &[&str]); 2] = [
    // What serves and watches a book is half of its dependencies.
    ("mdbook", "0.5.4", &["--no-default-features"]),
    ("cargo-deny", "0.20.2", &[]),
];

/// Where a tool lies, if it is there in the version that is wanted.
pub fn tool(name: &str) -> Option<PathBuf> {
    let (_, version, _) = TOOLS.iter().find(|(tool, ..)| *tool == name)?;
    let program = home().join("bin").join(name);
    (stamp(name, version).exists() && program.exists()).then_some(program)
}

fn home() -> PathBuf {
    root().join("target/tools")
}

/// Has the version, so that another one is compiled over it.
fn stamp(name: &str, version: &str) -> PathBuf {
    home().join(format!("{name}-{version}"))
}

/// Compiles the tools that are not there, or not in this version.
pub fn ensure() -> Result<()> {
    let home = home();
    for (name, version, options) in TOOLS {
        if tool(name).is_some() {
            continue;
        }

        let step = Step::begin(format!("compiling {name} {version} into target/tools"));
        let mut install = cargo();
        install.env("CARGO_TARGET_DIR", home.join("build"));
        install
            .args(["install", "--locked", "--debug", "--force", "--root"])
            .arg(&home);
        install.arg(format!("{name}@{version}")).args(options);

        let made = check(&mut install);
        let stamp = stamp(name, version);
        step.end(made.and_then(|()| Ok(std::fs::write(stamp, "")?)))?;
    }
    // A gigabyte that nothing needs any more.
    let left = home.join("build");
    if left.exists() {
        std::fs::remove_dir_all(&left)?;
    }
    Ok(())
}
