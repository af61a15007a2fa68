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

/// Where a tool lies, or will.
pub fn tool(name: &str) -> PathBuf {
    root().join("target/tools/bin").join(name)
}

/// Compiles the tools that are not there, or not in this version.
pub fn ensure() -> Result<()> {
    let home = root().join("target/tools");
    for (name, version, options) in TOOLS {
        let stamp = home.join(format!("{name}-{version}"));
        if stamp.exists() && tool(name).exists() {
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
        // The stamp has the version, so that another one is compiled over it.
        step.end(made.and_then(|()| Ok(std::fs::write(&stamp, "")?)))?;
    }
    // A gigabyte that nothing needs any more.
    let left = home.join("build");
    if left.exists() {
        std::fs::remove_dir_all(&left)?;
    }
    Ok(())
}
