//! Builds `target/dist-hooks`: the tree once more, with what only tests may switch on.
//!
//! Only programs and preloaded libraries with the feature `test-hooks` differ; all other files are
//! links to `target/dist`. The programs are built in the development profile, of whose crates the
//! tests have built most: what is tested with hooks are faults, clocks and contents, never speed.

use super::compile::{Linked, compile};
use super::install::{install, without_mpi};
use crate::run::{FAMILIES, Family, Step, dist, dist_hooks};
use crate::suite::in_development;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The profile, and where cargo puts what it builds in it.
const PROFILE: &str = "dev";
const FOLDER: &str = "debug";

/// Builds it beside a `target/dist` that is there. With `all`, of all MPIs, and not only of the
/// first.
pub fn run(all: bool) -> Result<PathBuf> {
    let tree = dist_hooks();
    let step = Step::begin("building the tree with test hooks");
    step.end(build(&tree, all))?;
    Ok(tree)
}

fn build(tree: &Path, all: bool) -> Result<()> {
    link_all(&dist(), tree)?;
    for family in FAMILIES.into_iter().filter(|one| all || one.is_first()) {
        let Some(compiler) = family.compiler else {
            continue;
        };
        let mut build = if family.is_first() {
            in_development::cargo_of_all("build")
        } else {
            let mut build = Linked::Here.build()?;
            build.args(["-p", "invivo-tool-process", "--features", "test-hooks"]);
            build
        };
        build.env("MPICC", compiler);
        compile(build, &family.target(), PROFILE, "tests")?;
        let built = Linked::Here.results(&family.target(), FOLDER);
        install(
            &without_mpi(&built.join("tool-process"))?,
            &family.place_in(tree, "tool-process"),
        )?;
        if family.is_first() {
            install(&built.join("invivo"), &tree.join("bin/invivo"))?;
        }
        shim(family, tree)?;
    }
    Ok(())
}

/// The preloaded library, which reads the clock: in its own profile, because it is one whole only
/// where all of it is compiled together.
fn shim(family: Family, tree: &Path) -> Result<()> {
    let mut build = Linked::Here.build()?;
    let features = format!("family-{},test-hooks", family.name);
    build.args(["-p", "invivo-app-shim", "--features", &features]);
    compile(build, &family.target(), "shim", "test hooks")?;
    let library = "libinvivo_shim.so";
    let built = Linked::Here.results(&family.target(), "shim").join(library);
    install(&built, &family.place_in(tree, library))?;
    Ok(())
}

/// Hard links of all files; what is there is replaced.
fn link_all(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            link_all(&entry.path(), &target)?;
        } else {
            // Removed first: writing into a hard link would change the other tree.
            let _ = std::fs::remove_file(&target);
            std::fs::hard_link(entry.path(), &target)?;
        }
    }
    Ok(())
}
