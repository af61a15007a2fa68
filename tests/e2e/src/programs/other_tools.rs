//! Libraries of other tools that are preloaded into the ranks of a job beside Invivo.

use crate::mpi::Family;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A library of Debian's; its package is in the list of `cargo xtask setup`.
fn library(name: &str) -> PathBuf {
    let file = Path::new("/usr/lib/x86_64-linux-gnu").join(name);
    assert!(file.exists(), "{}: run `cargo xtask setup`", file.display());
    file
}

/// Another memory allocator.
pub fn jemalloc() -> PathBuf {
    library("libjemalloc.so.2")
}

/// The layer of an event tracer (EZTrace) for one of Debian's MPIs.
pub fn eztrace(family: Family) -> PathBuf {
    library(&format!("libeztrace-{}.so", family.debian_name()))
}

/// A command line that starts a program with a library preloaded before everything else: a shell
/// puts it in front of `LD_PRELOAD` behind Invivo's own start.
pub fn behind(library: &Path, program: &[OsString]) -> Vec<OsString> {
    let script = r#"export LD_PRELOAD="$0${LD_PRELOAD:+:$LD_PRELOAD}"; exec "$@""#;
    // `$0` of the script is the library, because arguments begin behind it.
    let front: [OsString; 4] = ["sh".into(), "-c".into(), script.into(), library.into()];
    front.into_iter().chain(program.iter().cloned()).collect()
}
