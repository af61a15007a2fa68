//! Builds the relocatable tree in `target/dist`:
//!
//! ```text
//! bin/invivo  bin/ui-gateway  lib/invivo/client
//! lib/invivo/{ompi,mpich}/{libinvivo_shim.so,tool-process,self-test}
//! lib/invivo/abi/libinvivo_shim.so
//! include/invivo_regions.{h,f90,py}
//! share/man/man1/  share/{bash-completion,zsh,fish}/...
//! ```

mod compile;
pub mod hooks;
mod install;
mod packages;

use crate::run::{FAMILIES, Family, Step, dist, root};
use crate::setup::{self, Purpose};
use anyhow::Result;
pub use compile::Linked;
use compile::{Compiled, compile, compile_c, print_table};
use install::{install, marks, share, without_mpi};
use packages::{PROGRAMS, TOOLS};
use std::path::PathBuf;
use std::process::Command;

/// What a step installed and what it compiled for that.
#[derive(Default)]
struct Built {
    files: Vec<PathBuf>,
    compiled: Vec<Compiled>,
}

impl Built {
    fn add(&mut self, other: Built) {
        self.files.extend(other.files);
        self.compiled.extend(other.compiled);
    }
}

/// Prepares the machine for `purpose`, and builds the tree for one family or for all.
pub fn run(family: Option<&str>, linked: Linked, purpose: Purpose<'_>, json: bool) -> Result<()> {
    let families: Vec<Family> = FAMILIES
        .into_iter()
        .filter(|one| family.is_none_or(|name| name == one.name))
        .collect();

    let mut built = match linked {
        Linked::Here => side_by_side(&families, purpose)?,
        Linked::Widely => {
            setup::run(purpose, false)?;
            one_after_the_other(&families)?
        }
    };

    built.compiled.sort_by(|a, b| a.folder.cmp(&b.folder));
    print_table(&built.compiled);
    if json {
        println!(
            "{}",
            serde_json::json!({ "dist": dist(), "files": built.files })
        );
    } else {
        eprintln!("xtask: the tree is in {}", dist().display());
    }
    Ok(())
}

/// Builds the shims, the programs, and the other families' tools at the same time.
///
/// Shims need no package, and their one link-time optimisation keeps one core busy: they are built
/// while packages are installed. Families have target directories of their own, so that the others'
/// tool processes can be built beside the programs.
fn side_by_side(families: &[Family], purpose: Purpose<'_>) -> Result<Built> {
    std::thread::scope(|scope| {
        let shims = scope.spawn(|| {
            let mut built = Built::default();
            for family in families {
                built.add(shim(*family, Linked::Here)?);
            }
            Ok::<_, anyhow::Error>(built)
        });

        let prepared = setup::run(purpose, false);
        // Only now, because the bindings to MPI need the packages.
        let rest = prepared.and_then(|()| {
            let others = scope.spawn(|| {
                let mut built = Built::default();
                for family in families.iter().filter(|family| !family.is_first()) {
                    built.add(tools(*family, Linked::Here)?);
                }
                Ok::<_, anyhow::Error>(built)
            });
            let mut built = programs(families, Linked::Here)?;
            built.add(others.join().expect("it does not panic")?);
            Ok(built)
        });

        // The shims are waited for even if the rest has failed: a thread of this scope.
        let mut built = shims.join().expect("it does not panic")?;
        built.add(rest?);
        Ok(built)
    })
}

/// Builds one part after the other, because the linker for older systems must not run twice at a
/// time.
fn one_after_the_other(families: &[Family]) -> Result<Built> {
    let mut built = programs(families, Linked::Widely)?;
    for family in families {
        built.add(shim(*family, Linked::Widely)?);
        if !family.is_first() {
            built.add(tools(*family, Linked::Widely)?);
        }
    }
    Ok(built)
}

/// The programs outside of MPI, with the tool processes of the first family: in one run of cargo,
/// so that what both use is compiled once.
fn programs(families: &[Family], linked: Linked) -> Result<Built> {
    let first = families.iter().copied().find(|family| family.is_first());
    let with = if first.is_some() {
        ", tool-process for ompi"
    } else {
        ""
    };
    let step = Step::begin(format!("building invivo, its client, ui-gateway{with}"));

    let target = root().join("target");
    let build = command(first, linked)?;
    let compiled = compile(build, &target, "release", "programs, and tools on Open MPI");
    let mut built = Built {
        files: Vec::new(),
        compiled: vec![step.end(compiled)?],
    };
    for (name, _, place) in PROGRAMS {
        let from = linked.results(&target, "release").join(name);
        built.files.push(install(&from, &dist().join(place))?);
    }
    if let Some(family) = first {
        built.files.extend(install_tools(family, linked)?);
    }
    // Last: the installed `invivo` writes its own manual pages.
    built.files.extend(share(&dist())?);
    built.files.extend(marks(&dist())?);
    Ok(built)
}

/// Builds the programs, and with a family its tool processes: the packages that are built together.
///
/// Whoever builds more of them names them all, because fewer packages ask for other features of
/// what they share, and all of that would be compiled again. For further families `tools` builds
/// them, in their own target directories.
pub fn command(with_tools: Option<Family>, linked: Linked) -> Result<Command> {
    let mut build = linked.build()?;
    for (_, package, _) in PROGRAMS {
        build.args(["-p", package]);
    }
    if let Some(compiler) = with_tools.and_then(|family| family.compiler) {
        build.env("MPICC", compiler);
        for (_, package) in TOOLS {
            build.args(["-p", package]);
        }
    }
    Ok(build)
}

/// The preloaded library. It needs no MPI; its profile has no unwinding.
fn shim(family: Family, linked: Linked) -> Result<Built> {
    let step = Step::begin(format!("building the shim for {}", family.name));
    let feature = format!("family-{}", family.name);
    let mut build = linked.build()?;
    build.args(["-p", "invivo-app-shim", "--features", &feature]);
    let compiled = compile(
        build,
        &family.target(),
        "shim",
        "no unwinding; one per family",
    );
    let compiled = vec![step.end(compiled)?];
    let library = "libinvivo_shim.so";
    let from = linked.results(&family.target(), "shim").join(library);
    Ok(Built {
        files: vec![install(&from, &family.place(library))?],
        compiled,
    })
}

/// The tool processes of a family that has an MPI of its own.
fn tools(family: Family, linked: Linked) -> Result<Built> {
    let Some(compiler) = family.compiler else {
        return Ok(Built::default());
    };
    let step = Step::begin(format!("building tool-process for {}", family.name));

    let mut build = linked.build()?;
    build.env("MPICC", compiler);
    for (_, package) in TOOLS {
        build.args(["-p", package]);
    }

    let compiled = compile(
        build,
        &family.target(),
        "release",
        "bindings to another MPI",
    );
    let compiled = vec![step.end(compiled)?];
    Ok(Built {
        files: install_tools(family, linked)?,
        compiled,
    })
}

/// In the tree tool processes name no MPI library: each is started with the one that the
/// application has loaded, whatever its file is called and wherever it lies.
fn install_tools(family: Family, linked: Linked) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (name, _) in TOOLS {
        let built = linked.results(&family.target(), "release").join(name);
        files.push(install(&without_mpi(&built)?, &family.place(name))?);
    }

    if let Some(compiler) = family.compiler {
        // The program of `invivo doctor` is compiled here: where it runs there may be no compiler,
        // and the MPI library may have another name.
        let program = family.target().join(format!("self-test-{}", family.name));
        compile_c(
            compiler,
            linked,
            &root().join("deploy/self-test.c"),
            &program,
        )?;
        files.push(install(
            &without_mpi(&program)?,
            &family.place("self-test"),
        )?);
    }
    Ok(files)
}
