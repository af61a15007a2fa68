//! Other tools that stand beside Invivo in the ranks of a job.

use crate::family::Family;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A library of Debian's. Its package is in the list of `cargo xtask setup`.
fn library(name: &str) -> PathBuf {
    let file = Path::new("/usr/lib/x86_64-linux-gnu").join(name);
    assert!(file.exists(), "{}: run `cargo xtask setup`", file.display());
    file
}

/// Another allocator.
pub fn jemalloc() -> PathBuf {
    library("libjemalloc.so.2")
}

/// An event tracer's layer for one of Debian's MPIs.
pub fn eztrace(family: Family) -> PathBuf {
    library(&format!("libeztrace-{}.so", family.debian_name()))
}

/// A program that a script starts behind a preloaded library, which so comes before everything
/// else.
pub fn behind(library: &Path, program: &[OsString]) -> Vec<OsString> {
    let script = r#"export LD_PRELOAD="$0${LD_PRELOAD:+:$LD_PRELOAD}"; exec "$@""#;
    let front: [OsString; 4] = ["sh".into(), "-c".into(), script.into(), library.into()];
    front.into_iter().chain(program.iter().cloned()).collect()
}
