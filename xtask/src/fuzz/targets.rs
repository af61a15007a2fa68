//! The fuzz targets: their names, their programs, and where they work.

use crate::run::root;
use std::path::PathBuf;
use std::process::Command;

/// The targets of proto/fuzz.
pub const TARGETS: [&str; 11] = [
    "packet",
    "records",
    "definition",
    "tree",
    "local",
    "link",
    "peer",
    "region",
    "bin",
    "events",
    "rules",
];

/// An explicit target of the compiler keeps the instrumentation out of build scripts.
pub const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// The longest input. What is longer is not of interest: limits of the decoders are below.
const INPUT_BYTES_MAX: usize = 8192;

/// A target by its name, for the command line.
pub fn target(name: &str) -> Result<&'static str, String> {
    let found = TARGETS.into_iter().find(|target| *target == name);
    found.ok_or_else(|| format!("the targets are {}", TARGETS.join(", ")))
}

/// Where a target works: what it tried and found lies there.
pub fn work(name: &str) -> PathBuf {
    root().join("target/fuzz/work").join(name)
}

/// The inputs that a target has found interesting, in all of its runs.
pub fn found(name: &str) -> PathBuf {
    work(name).join("corpus")
}

/// The program of a target, without what it is to do.
pub fn libfuzzer(name: &str) -> Command {
    let built = root().join("target/fuzz").join(TRIPLE).join("fuzz");
    let mut program = Command::new(built.join(format!("fuzz-{name}")));
    program.current_dir(work(name));
    program.arg(format!("-max_len={INPUT_BYTES_MAX}"));
    program
}
