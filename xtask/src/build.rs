//! The relocatable tree in `target/dist`:
//!
//! ```text
//! bin/invivo  bin/ui-gateway
//! lib/invivo/{ompi,mpich}/{libinvivo_shim.so,tool-place,analysis-node,self-test}
//! share/man/man1/  share/{bash-completion,zsh,fish}/...
//! ```

use crate::run::{FAMILIES, Family, Step, cargo, check, dist, root};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// Builds what has changed and copies it into the tree.
pub fn run(family: Option<&str>, json: bool) -> Result<()> {
    let mut files = Vec::new();
    let step = Step::begin("building bin/invivo and bin/ui-gateway");
    step.end(check(cargo().args([
        "build",
        "--release",
        "-p",
        "invivo-cli",
        "-p",
        "invivo-ui-gateway",
    ])))?;
    for name in ["invivo", "ui-gateway"] {
        files.push(install(
            &root().join("target/release").join(name),
            &dist().join("bin").join(name),
        )?);
    }
    files.extend(share()?);
    for chosen in FAMILIES
        .iter()
        .filter(|one| family.is_none_or(|name| name == one.name))
    {
        files.extend(shim(*chosen)?);
        files.extend(tools(*chosen)?);
        files.push(self_test(*chosen)?);
    }
    if json {
        println!("{}", serde_json::json!({ "dist": dist(), "files": files }));
    } else {
        eprintln!("xtask: the tree is in {}", dist().display());
    }
    Ok(())
}

/// Where each shell looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/invivo"),
    ("zsh", "share/zsh/site-functions/_invivo"),
    ("fish", "share/fish/vendor_completions.d/invivo.fish"),
];

/// Manual pages and completions: the program writes them itself.
fn share() -> Result<Vec<PathBuf>> {
    let invivo = || std::process::Command::new(dist().join("bin/invivo"));
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
fn shim(family: Family) -> Result<Vec<PathBuf>> {
    let step = Step::begin(format!("building the shim for {}", family.name));
    let feature = format!("family-{}", family.name);
    let mut build = cargo();
    build.env("CARGO_TARGET_DIR", family.target());
    build.args([
        "build",
        "--profile",
        "shim",
        "-p",
        "invivo-app-shim",
        "--features",
        &feature,
    ]);
    step.end(check(&mut build))?;
    Ok(vec![install(
        &family.target().join("shim/libinvivo_shim.so"),
        &place(family, "libinvivo_shim.so"),
    )?])
}

/// What links the family's MPI.
fn tools(family: Family) -> Result<Vec<PathBuf>> {
    let step = Step::begin(format!(
        "building tool-place and analysis-node for {}",
        family.name
    ));
    let mut build = cargo();
    build
        .env("CARGO_TARGET_DIR", family.target())
        .env("MPICC", family.compiler);
    build.args([
        "build",
        "--release",
        "-p",
        "invivo-tool-place",
        "-p",
        "invivo-analysis-node",
    ]);
    step.end(check(&mut build))?;
    ["tool-place", "analysis-node"]
        .map(|name| install(&family.target().join("release").join(name), &place(family, name)))
        .into_iter()
        .collect()
}

/// The program of `invivo doctor`: compiled here, because where it runs there may be no compiler.
fn self_test(family: Family) -> Result<PathBuf> {
    let built = family.target().join("self-test");
    let mut compiler = std::process::Command::new(family.compiler);
    compiler.args(["-O1", "-Wall", "-o"]).arg(&built);
    check(compiler.arg(root().join("deploy/self-test.c")))?;
    install(&built, &place(family, "self-test"))
}

fn place(family: Family, name: &str) -> PathBuf {
    dist().join("lib/invivo").join(family.name).join(name)
}

/// Copies beside and renames, so that a running program keeps its file and a reader never sees half of one.
fn install(from: &Path, to: &Path) -> Result<PathBuf> {
    let directory = to.parent().context("a file in the tree")?;
    std::fs::create_dir_all(directory)?;
    let beside = to.with_extension("new");
    std::fs::copy(from, &beside).with_context(|| format!("copying {}", from.display()))?;
    std::fs::rename(&beside, to).with_context(|| format!("installing {}", to.display()))?;
    Ok(to.to_owned())
}
