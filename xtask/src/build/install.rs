//! Puts programs, libraries, manual pages and completions into a tree.

use crate::run::{check, root};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where each shell looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/invivo"),
    ("zsh", "share/zsh/site-functions/_invivo"),
    ("fish", "share/fish/vendor_completions.d/invivo.fish"),
];

/// Copies to a new name and renames, so that a running program keeps its file and a reader never
/// sees half of one.
pub fn install(from: &Path, to: &Path) -> Result<PathBuf> {
    let directory = to.parent().context("a file in the tree")?;
    std::fs::create_dir_all(directory)?;

    let beside = to.with_extension("new");
    std::fs::copy(from, &beside).with_context(|| format!("copying {}", from.display()))?;
    std::fs::rename(&beside, to).with_context(|| format!("installing {}", to.display()))?;
    Ok(to.to_owned())
}

/// A copy of the program, beside it, that names no MPI library.
pub fn without_mpi(built: &Path) -> Result<PathBuf> {
    let mut free = Command::new("patchelf");
    for library in ["libmpi.so.40", "libmpi.so.12", "libmpich.so.12"] {
        free.args(["--remove-needed", library]);
    }

    let freed = built.with_extension("free");
    check(free.arg("--output").arg(&freed).arg(built))?;
    Ok(freed)
}

/// What programs are marked with, for each language.
pub fn marks(tree: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for name in [
        "invivo_regions.h",
        "invivo_regions.f90",
        "invivo_regions.py",
    ] {
        let from = root().join("regions").join(name);
        files.push(install(&from, &tree.join("include").join(name))?);
    }
    Ok(files)
}

/// Manual pages and completions: the program writes them itself.
pub fn share(tree: &Path) -> Result<Vec<PathBuf>> {
    let invivo = || Command::new(tree.join("bin/invivo"));

    let pages = tree.join("share/man/man1");
    std::fs::create_dir_all(&pages)?;
    check(invivo().arg("man").arg(&pages))?;

    let mut files = vec![pages];
    for (shell, path) in COMPLETIONS {
        let to = tree.join(path);

        std::fs::create_dir_all(to.parent().context("a file in the tree")?)?;
        let made = invivo().args(["completions", shell]).output()?;
        ensure!(made.status.success(), "invivo completions {shell} failed");
        std::fs::write(&to, made.stdout)?;
        files.push(to);
    }
    Ok(files)
}
