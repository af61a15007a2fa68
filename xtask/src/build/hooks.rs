//! Builds `target/dist-hooks`: the tree once more, with what only tests may switch on.
//!
//! Only programs and preloaded libraries with the feature `test-hooks` differ; all other files are
//! links to `target/dist`. The launcher is the one that tests are built with. What takes calls and
//! records is built as in the tree, because tests with hooks flood it.

use super::compile::{Linked, compile};
use super::install::{install, without_mpi};
use crate::run::{FAMILIES, Family, Step, dist, dist_hooks};
use crate::suite::in_development;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

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
    launcher(tree)?;
    for family in FAMILIES.into_iter().filter(|one| all || one.is_first()) {
        let Some(compiler) = family.compiler else {
            continue;
        };
        // Each keeps one core busy, most of the time.
        std::thread::scope(|scope| {
            let shim = scope.spawn(|| shim(family, tree));
            let tool = tool(family, compiler, tree);
            shim.join().expect("it does not panic").and(tool)
        })?;
    }
    Ok(())
}

fn launcher(tree: &Path) -> Result<()> {
    let target = FAMILIES[0].target();
    compile(
        in_development::cargo_of_all("build"),
        &target,
        "dev",
        "tests",
    )?;
    let built = Linked::Here.results(&target, "debug").join("invivo");
    install(&built, &tree.join("bin/invivo"))?;
    Ok(())
}

/// The tool process, built with the packages that are built with it for the tree: others ask for
/// other features of what they share, and all of that would be compiled again.
fn tool(family: Family, compiler: &str, tree: &Path) -> Result<()> {
    let mut build = match family.is_first() {
        true => super::command(Some(family), Linked::Here)?,
        false => Linked::Here.build()?,
    };
    build.env("MPICC", compiler);
    build.args(["-p", "invivo-tool-process"]);
    build.args(["--features", "invivo-tool-process/test-hooks"]);
    compile(build, &family.target(), "release", "test hooks")?;
    let name = "tool-process";
    let built = Linked::Here.results(&family.target(), "release").join(name);
    install(&without_mpi(&built)?, &family.place_in(tree, name))?;
    Ok(())
}

/// The preloaded library, which reads the clock.
fn shim(family: Family, tree: &Path) -> Result<()> {
    let mut build = Linked::Here.build()?;
    let features = format!("family-{},test-hooks", family.name);
    build.args(["-p", "invivo-app-shim", "--features", &features]);
    compile(build, &family.target(), "shim", "test hooks")?;
    let name = "libinvivo_shim.so";
    let built = Linked::Here.results(&family.target(), "shim").join(name);
    install(&built, &family.place_in(tree, name))?;
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
