//! Builds `target/dist-hooks`: the tree once more, with what only tests may switch on.
//!
//! Only programs and preloaded libraries with the feature `test-hooks` differ; all other files are
//! links to `target/dist`.

use super::compile::{Linked, compile};
use super::install::{install, without_mpi};
use super::packages::PROGRAMS;
use crate::run::{FAMILIES, Family, Step, dist, dist_hooks, root};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Programs with the feature, the packages that hold them, and whether they are on MPI.
const HOOKED: [(&str, &str, bool); 2] = [
    ("invivo", "invivo-launcher", false),
    ("tool-process", "invivo-tool-process", true),
];

/// Builds it beside a `target/dist` that is there. With `all`, the preloaded libraries of all MPIs
/// have hooks, and not only the first: each takes as long as all the rest.
pub fn run(all: bool) -> Result<PathBuf> {
    let tree = dist_hooks();
    let step = Step::begin("building the tree with test hooks");
    step.end(build(&tree, all))?;
    Ok(tree)
}

fn build(tree: &Path, all: bool) -> Result<()> {
    link_all(&dist(), tree)?;
    for family in FAMILIES {
        let Some(compiler) = family.compiler else {
            continue;
        };
        if all || family.is_first() {
            shim(family, tree)?;
        }
        let mut build = Linked::Here.build()?;
        build.env("MPICC", compiler);

        let hooked = HOOKED
            .iter()
            .filter(|(_, package, on_mpi)| has_feature(package) && (*on_mpi || family.is_first()));

        let mut names = Vec::new();
        if family.is_first() {
            // The packages that were built with the tree: others ask for other features of what
            // they share, and all of that would be compiled again.
            for (_, package, _) in PROGRAMS {
                build.args(["-p", package]);
            }
        }

        for (name, package, on_mpi) in hooked {
            build.args([
                "-p",
                package,
                "--features",
                &format!("{package}/test-hooks"),
            ]);
            names.push((*name, *on_mpi));
        }

        if names.is_empty() {
            continue;
        }

        compile(build, &family.target(), "release", "test hooks")?;
        for (name, on_mpi) in names {
            place(family, tree, name, on_mpi)?;
        }
    }
    Ok(())
}

/// The preloaded library, which reads the clock.
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

fn place(family: Family, tree: &Path, name: &str, on_mpi: bool) -> Result<()> {
    let built = Linked::Here.results(&family.target(), "release").join(name);
    if on_mpi {
        let to = family.place_in(tree, name);
        install(&without_mpi(&built)?, &to)?;
    } else {
        install(&built, &tree.join("bin").join(name))?;
    }
    Ok(())
}

fn has_feature(package: &str) -> bool {
    // Packages are named after their folders.
    let folder = package.trim_start_matches("invivo-");
    let manifest = root().join(folder).join("Cargo.toml");
    std::fs::read_to_string(manifest).is_ok_and(|text| text.contains("\ntest-hooks"))
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
