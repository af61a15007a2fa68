//! Coverage-guided fuzzing with libFuzzer on stable Rust: LLVM's own coverage pass is reached by
//! stable options.

use crate::run::{cargo, check, root};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The targets of proto/fuzz.
const TARGETS: [&str; 9] = [
    "packet",
    "records",
    "definition",
    "tree",
    "local",
    "link",
    "peer",
    "region",
    "bin",
];

/// What libFuzzer wants to know: which edges were taken, and what was compared with what.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// An explicit target keeps the instrumentation out of build scripts.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Builds all targets, lets the canary die, then runs each for `seconds`.
pub fn run(seconds: u32) -> Result<()> {
    let target = root().join("target/fuzz");
    let mut build = cargo();
    build
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", INSTRUMENTATION);

    // The options come by RUSTFLAGS alone: this variable would hide them.
    build.env_remove("CARGO_ENCODED_RUSTFLAGS");
    check(build.args([
        "build",
        "--profile",
        "fuzz",
        "-p",
        "invivo-proto-fuzz",
        "--target",
        TRIPLE,
    ]))?;

    let programs = target.join(TRIPLE).join("fuzz");
    let canary = once(&programs, "canary", 20)?;
    ensure!(
        !canary.status.success()
            && String::from_utf8_lossy(&canary.stderr).contains("the canary is dead"),
        "the fuzzer did not find the canary's fault in 20 s: its runs prove nothing"
    );
    eprintln!("xtask: fuzz canary: found out, as it must be");

    // As many at once as there are cores: each has one to itself, as it would alone.
    let at_once = std::thread::available_parallelism().map_or(1, usize::from);
    for names in TARGETS.chunks(at_once) {
        let outputs: Vec<Result<Output>> = std::thread::scope(|scope| {
            let mut running = Vec::new();
            for name in names {
                running.push(scope.spawn(|| once(&programs, name, seconds)));
            }
            let join =
                |one: std::thread::ScopedJoinHandle<_>| one.join().expect("it does not panic");
            running.into_iter().map(join).collect()
        });
        for (name, output) in names.iter().zip(outputs) {
            tell(name, &output?)?;
        }
    }
    Ok(())
}

/// Says how far a target came; an error when it found something.
fn tell(name: &str, output: &Output) -> Result<()> {
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("fuzz target {name} failed; inputs are in target/fuzz/work/{name}\n{log}");
    }
    // libFuzzer prints its progress line by line; the last one has the final coverage.
    let last = log
        .lines()
        .rev()
        .find(|line| line.contains(" cov: "))
        .unwrap_or_default();
    let coverage = last
        .split(" cov: ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .unwrap_or("?");

    let done = log
        .lines()
        .find(|line| line.starts_with("Done "))
        .unwrap_or_default();

    eprintln!("xtask: fuzz {name}: {done}, {coverage} edges");
    Ok(())
}

/// Runs one target on its corpus (kept between runs) and on the golden bytes.
fn once(programs: &Path, name: &str, seconds: u32) -> Result<Output> {
    let work: PathBuf = root().join("target/fuzz/work").join(name);
    let corpus = work.join("corpus");
    std::fs::create_dir_all(&corpus)?;

    if name == "canary" {
        // It must be found from nothing each time.
        std::fs::remove_dir_all(&corpus)?;
        std::fs::create_dir_all(&corpus)?;
    }

    Command::new(programs.join(format!("fuzz-{name}")))
        .current_dir(&work)
        .arg(format!("-max_total_time={seconds}"))
        // An input that takes seconds or a gigabyte is a finding too: every limit of the decoders
        // is below.
        .args([
            "-timeout=5",
            "-rss_limit_mb=1024",
            "-max_len=8192",
            "-len_control=20",
        ])
        .arg(&corpus)
        // The golden bytes are read, and new inputs go to the first folder only.
        .args((name != "canary").then(|| root().join("proto/tests/golden")))
        .output()
        .with_context(|| format!("cannot start fuzz-{name}"))
}
