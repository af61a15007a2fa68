//! Proves that contracts, buffers, tree and analyses call no operating system.

use super::ended::Ended;
use crate::run::{cargo, root};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// Crates that call no operating system.
const PURE: [&str; 4] = ["proto", "otfx", "tbon", "analysis"];
/// A target without an operating system: what compiles for it calls none.
const BARE_METAL: &str = "x86_64-unknown-none";
/// A library with a panic handler of its own. The standard library has one too, and the compiler
/// refuses two: so nothing below this crate may use it. That needs no other target than this
/// machine's.
const PROOF: &str = "\
//! Links the pure crates without the standard library.
#![no_std]

struct NoAllocator;

unsafe impl core::alloc::GlobalAlloc for NoAllocator {
    unsafe fn alloc(&self, _: core::alloc::Layout) -> *mut u8 {
        core::ptr::null_mut()
    }
    unsafe fn dealloc(&self, _: *mut u8, _: core::alloc::Layout) {}
}

#[global_allocator]
static ALLOCATOR: NoAllocator = NoAllocator;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
";

/// The proof, its canary, and the bare target where it is installed.
pub fn check() -> Result<Ended> {
    let folder = root().join("target/no-std");
    let proof = build(&folder.join("proof"), PROOF, &PURE)?;
    ensure!(
        proof.status.success(),
        "{}",
        String::from_utf8_lossy(&proof.stderr)
    );

    // What is to be found: a dependency that uses the standard library.
    write(
        &folder.join("impure"),
        "impure",
        "pub fn now() { std::time::Instant::now(); }\n",
        "",
    )?;
    let found = build(&folder.join("canary"), PROOF, &["target/no-std/impure"])?;
    let said = String::from_utf8_lossy(&found.stderr);
    ensure!(
        !found.status.success() && said.contains("panic_impl"),
        "the canary, which uses the standard library, was not refused for that: {said}"
    );

    let installed = Command::new("rustup")
        .args(["target", "list", "--installed"])
        .output();
    if installed.is_ok_and(|list| String::from_utf8_lossy(&list.stdout).contains(BARE_METAL)) {
        let mut bare = cargo();
        bare.args(["check", "--target", BARE_METAL]);
        for name in PURE {
            bare.arg("-p").arg(format!("invivo-{name}"));
        }
        crate::run::check(&mut bare)?;
    }
    Ok(Ended::Passed)
}

/// Builds a library of `source` on `crates`, folders below the repository, in `folder`.
fn build(folder: &Path, source: &str, crates: &[&str]) -> Result<std::process::Output> {
    let mut needs = String::new();
    let mut uses = String::new();
    for path in crates {
        let name = path.rsplit('/').next().unwrap_or(path);
        let package = if path.contains('/') {
            name.to_owned()
        } else {
            format!("invivo-{name}")
        };
        let folder = root().join(path);
        needs.push_str(&format!("{package} = {{ path = {folder:?} }}\n"));
        // Without a use the compiler would not even load it.
        uses.push_str(&format!(
            "extern crate {} as _;\n",
            package.replace('-', "_")
        ));
    }
    write(folder, "no-std", &format!("{source}\n{uses}"), &needs)?;
    // The same versions as in the product.
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let mut build = cargo();
    build
        .arg("build")
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"));
    build.env("CARGO_TARGET_DIR", root().join("target/no-std/build"));
    build.output().context("starting cargo")
}

/// A crate outside of the workspace.
fn write(folder: &Path, name: &str, source: &str, needs: &str) -> Result<()> {
    std::fs::create_dir_all(folder.join("src"))?;
    // Only a linked result needs the panic handler: a plain library would always compile.
    let kind = if needs.is_empty() { "lib" } else { "staticlib" };
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [lib]\ncrate-type = [\"{kind}\"]\n\n[dependencies]\n{needs}\n\
         [profile.dev]\npanic = \"abort\"\n\n[workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::write(folder.join("src/lib.rs"), source)?;
    Ok(())
}
