//! Linking for older systems: zig brings every C library's symbols along, so that what is built on
//! a new machine runs where glibc is as old as [`GLIBC`]. Installed by pip into `target/zig`.

use crate::run::{self, output, root};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

/// The oldest glibc that the release runs with. Of 2018, it is that of the oldest enterprise
/// systems still in use on clusters; before it, `fcntl64` has another name.
pub const GLIBC: &str = "2.28";
/// The packages that pip installs.
pub const PACKAGES: &str = "ziglang==0.17.1 cargo-zigbuild==0.24.0";
/// What cargo calls the target, and its folder below a target directory.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Where pip puts them.
pub fn home() -> PathBuf {
    root().join("target/zig")
}

/// The compiler itself.
fn zig() -> Result<PathBuf> {
    let mut python = Command::new(run::python().join("bin/python"));
    // The version is a part of the folder's name.
    let version = "import sys; print('python%d.%d' % sys.version_info[:2])";
    let version = output(python.args(["-c", version]))?;

    let zig = home()
        .join("lib")
        .join(version.trim())
        .join("site-packages/ziglang/zig");
    zig.exists()
        .then_some(zig)
        .context("no zig in target/zig: remove that folder, and try again")
}

/// `cargo build` for [`GLIBC`]; results lie in the folder [`TARGET`] of the target directory.
pub fn cargo_build() -> Result<Command> {
    cargo_build_for(&format!("{TARGET}.{GLIBC}"))
}

/// `cargo build` for another system.
pub fn cargo_build_for(target: &str) -> Result<Command> {
    let mut build = Command::new(home().join("bin/cargo-zigbuild"));
    build
        // Zig tells bindgen where headers are as seen from here, where they are not below: build
        // scripts are elsewhere.
        .current_dir(root().join("xtask"))
        .env("CARGO_ZIGBUILD_ZIG_PATH", zig()?)
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_MANIFEST_PATH")
        .args(["zigbuild", "--target", target]);
    Ok(build)
}

/// A C compiler for [`GLIBC`], with its arguments, for MPI's compiler wrappers.
pub fn c_compiler() -> Result<String> {
    Ok(format!(
        "{} cc -target x86_64-linux-gnu.{GLIBC}",
        zig()?.display()
    ))
}
