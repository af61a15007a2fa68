//! Python interpreters for tests: `python3`, and those of other versions that the machine has.

use std::path::PathBuf;
use std::process::Command;

/// Minor versions of which an interpreter may be there by its name, `python3.9` and so on.
const MINORS: std::ops::RangeInclusive<u32> = 9..=14;

/// The interpreters by their minor versions, at least one; each is the program itself, no script
/// that starts it.
pub fn interpreters() -> Vec<(u32, PathBuf)> {
    let versions = MINORS.map(|minor| format!("python3.{minor}"));
    let names = std::iter::once("python3".to_owned()).chain(versions);
    let mut found: Vec<(u32, PathBuf)> = names.filter_map(|name| interpreter(&name)).collect();
    found.sort();
    found.dedup_by_key(|(minor, _)| *minor);
    assert!(!found.is_empty(), "python3 of version 3.9 or newer");
    println!("{found:?}");
    found
}

fn interpreter(name: &str) -> Option<(u32, PathBuf)> {
    let tell = "import os, sys; print(sys.version_info[1], os.path.realpath(sys.executable))";
    let told = Command::new(name).args(["-c", tell]).output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (minor, path) = told.trim().split_once(' ')?;
    let minor = minor.parse().ok().filter(|minor| MINORS.contains(minor))?;
    Some((minor, path.into()))
}
