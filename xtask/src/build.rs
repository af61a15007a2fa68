//! The relocatable tree in `target/dist`:
//!
//! ```text
//! bin/invivo  bin/ui-gateway  lib/invivo/client
//! lib/invivo/{ompi,mpich}/{libinvivo_shim.so,tool-place,analysis-node,self-test}  lib/invivo/abi/libinvivo_shim.so
//! share/man/man1/  share/{bash-completion,zsh,fish}/...
//! ```

use crate::run::{FAMILIES, Family, Step, cargo, check, dist, root};
use crate::zig;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the tree is to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// On this machine: built with what it has.
    Here,
    /// On systems as old as [`zig::GLIBC`].
    Widely,
}

impl Linked {
    /// `cargo build`, or what stands for it.
    fn build(self) -> Result<Command> {
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
    fn made(self, target: &Path, profile: &str) -> PathBuf {
        match self {
            Linked::Here => target.join(profile),
            Linked::Widely => target.join(zig::TARGET).join(profile),
        }
    }
}

/// Builds what has changed and copies it into the tree.
pub fn run(family: Option<&str>, linked: Linked, json: bool) -> Result<()> {
    let of_families = || -> Result<Vec<Vec<PathBuf>>> {
        let chosen = FAMILIES
            .iter()
            .filter(|one| family.is_none_or(|name| name == one.name));
        chosen.map(|one| of_family(*one, linked)).collect()
    };
    let (programs, of_families) = match linked {
        // A shim is one piece, and programs end in one: each leaves cores idle. They share no
        // target directory.
        Linked::Here => std::thread::scope(|scope| {
            let programs = scope.spawn(|| programs(linked));
            let of_families = of_families();
            (programs.join().expect("it does not panic"), of_families)
        }),
        Linked::Widely => (programs(linked), of_families()),
    };
    let mut files = programs?;
    files.extend(of_families?.into_iter().flatten());
    if json {
        println!("{}", serde_json::json!({ "dist": dist(), "files": files }));
    } else {
        eprintln!("xtask: the tree is in {}", dist().display());
    }
    Ok(())
}

/// What is outside of MPI.
fn programs(linked: Linked) -> Result<Vec<PathBuf>> {
    let step = Step::begin("building bin/invivo, bin/ui-gateway and lib/invivo/client");
    let mut build = linked.build()?;
    build.arg("--release");
    for package in ["invivo-launcher", "invivo-cli", "invivo-ui-gateway"] {
        build.args(["-p", package]);
    }
    step.end(check(&mut build))?;
    let mut files = Vec::new();
    for (name, place) in [
        ("invivo", "bin/invivo"),
        ("ui-gateway", "bin/ui-gateway"),
        ("invivo-client", "lib/invivo/client"),
    ] {
        files.push(install(
            &linked.made(&root().join("target"), "release").join(name),
            &dist().join(place),
        )?);
    }
    files.extend(share()?);
    Ok(files)
}

/// What there is once per family of MPIs.
fn of_family(family: Family, linked: Linked) -> Result<Vec<PathBuf>> {
    let mut files = shim(family, linked)?;
    if let Some(compiler) = family.compiler {
        files.extend(tools(family, compiler, linked)?);
        files.push(self_test(family, compiler, linked)?);
    }
    Ok(files)
}

/// Where each shell looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/invivo"),
    ("zsh", "share/zsh/site-functions/_invivo"),
    ("fish", "share/fish/vendor_completions.d/invivo.fish"),
];

/// Manual pages and completions: the program writes them itself.
fn share() -> Result<Vec<PathBuf>> {
    let invivo = || Command::new(dist().join("bin/invivo"));
    let pages = dist().join("share/man/man1");
    std::fs::create_dir_all(&pages)?;
    check(invivo().arg("man").arg(&pages))?;
    let mut files = vec![pages];
    for (shell, path) in COMPLETIONS {
        let to = dist().join(path);
        std::fs::create_dir_all(to.parent().context("a file in the tree")?)?;
        let made = invivo().args(["completions", shell]).output()?;
        ensure!(made.status.success(), "invivo completions {shell} failed");
        std::fs::write(&to, made.stdout)?;
        files.push(to);
    }
    Ok(files)
}

/// The preloaded library. It needs no MPI; its profile has no unwinding.
fn shim(family: Family, linked: Linked) -> Result<Vec<PathBuf>> {
    let step = Step::begin(format!("building the shim for {}", family.name));
    let feature = format!("family-{}", family.name);
    let mut build = linked.build()?;
    build.env("CARGO_TARGET_DIR", family.target());
    build.args([
        "--profile",
        "shim",
        "-p",
        "invivo-app-shim",
        "--features",
        &feature,
    ]);
    step.end(check(&mut build))?;
    Ok(vec![install(
        &linked
            .made(&family.target(), "shim")
            .join("libinvivo_shim.so"),
        &place(family, "libinvivo_shim.so"),
    )?])
}

/// What calls the family's MPI. In the tree these programs name no MPI library: each is started
/// with the one that the application has loaded, whatever its file is called and wherever it lies.
fn tools(family: Family, compiler: &str, linked: Linked) -> Result<Vec<PathBuf>> {
    let step = Step::begin(format!(
        "building tool-place and analysis-node for {}",
        family.name
    ));
    let mut build = linked.build()?;
    build
        .env("CARGO_TARGET_DIR", family.target())
        .env("MPICC", compiler);
    build.args([
        "--release",
        "-p",
        "invivo-tool-place",
        "-p",
        "invivo-analysis-node",
    ]);
    step.end(check(&mut build))?;
    ["tool-place", "analysis-node"]
        .map(|name| {
            let built = linked.made(&family.target(), "release").join(name);
            install(&without_mpi(&built)?, &place(family, name))
        })
        .into_iter()
        .collect()
}

/// A copy of the program, beside it, that names no MPI library.
fn without_mpi(built: &Path) -> Result<PathBuf> {
    let mut free = Command::new("patchelf");
    for library in ["libmpi.so.40", "libmpi.so.12", "libmpich.so.12"] {
        free.args(["--remove-needed", library]);
    }
    let freed = built.with_extension("free");
    check(free.arg("--output").arg(&freed).arg(built))?;
    Ok(freed)
}

/// The program of `invivo doctor`: compiled here, because where it runs there may be no compiler,
/// and the MPI library may have another name.
fn self_test(family: Family, compiler: &str, linked: Linked) -> Result<PathBuf> {
    let built = family.target().join("self-test");
    let mut compile = Command::new(compiler);
    compile.args(["-O1", "-Wall", "-o"]).arg(&built);
    if linked == Linked::Widely {
        for wrapped in ["OMPI_CC", "MPICH_CC"] {
            compile.env(wrapped, zig::c_compiler()?);
        }
    }
    check(compile.arg(root().join("deploy/self-test.c")))?;
    install(&without_mpi(&built)?, &place(family, "self-test"))
}

fn place(family: Family, name: &str) -> PathBuf {
    dist().join("lib/invivo").join(family.name).join(name)
}

/// Copies beside and renames, so that a running program keeps its file and a reader never sees half
/// of one.
fn install(from: &Path, to: &Path) -> Result<PathBuf> {
    let directory = to.parent().context("a file in the tree")?;
    std::fs::create_dir_all(directory)?;
    let beside = to.with_extension("new");
    std::fs::copy(from, &beside).with_context(|| format!("copying {}", from.display()))?;
    std::fs::rename(&beside, to).with_context(|| format!("installing {}", to.display()))?;
    Ok(to.to_owned())
}
