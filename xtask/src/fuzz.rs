//! Coverage-guided fuzzing with libFuzzer on stable Rust: LLVM's own coverage pass is reached by
//! stable options.

pub mod corpus;
pub mod targets;

use crate::run::{cargo, check, root};
use crate::suite::ended::Ended;
use crate::suite::parts::{Part, Parts};
use anyhow::{Context, Result, bail, ensure};
use std::process::Output;
use targets::{TARGETS, TRIPLE, found, libfuzzer};

/// Of each target in the usual tests: what is in its corpus, and a little more.
const SECONDS: u64 = 1;
/// Of each target in the long ones.
const SECONDS_LONG: u64 = 3600;

/// What libFuzzer wants to know: which edges were taken, and what was compared with what.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// As many run at once as there are cores: each has one to itself, as it would alone.
fn at_once() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs each target for a moment.
pub fn usual() -> Result<()> {
    run(&TARGETS, SECONDS)
}

/// Each target, for long, as a part of its own.
pub fn parts() -> Result<Parts> {
    build()?;
    let part = |name: &'static str| Part {
        name: format!("fuzz/{name}"),
        run: Box::new(move || tell(name, &once(name, SECONDS_LONG)?).map(Ended::PassedWith)),
    };
    Ok(Parts {
        at_once: at_once(),
        parts: TARGETS.into_iter().map(part).collect(),
    })
}

/// Runs these targets for so many seconds each.
pub fn run(targets: &[&str], seconds: u64) -> Result<()> {
    build()?;
    for names in targets.chunks(at_once()) {
        let outputs: Vec<Result<Output>> = std::thread::scope(|scope| {
            let mut running = Vec::new();
            for name in names {
                running.push(scope.spawn(|| once(name, seconds)));
            }
            let join =
                |one: std::thread::ScopedJoinHandle<_>| one.join().expect("it does not panic");
            running.into_iter().map(join).collect()
        });
        for (name, output) in names.iter().zip(outputs) {
            eprintln!("xtask: fuzz {name}: {}", tell(name, &output?)?);
        }
    }
    Ok(())
}

/// Builds all targets, and lets the canary die.
fn build() -> Result<()> {
    let mut build = cargo();
    build
        .env("CARGO_TARGET_DIR", root().join("target/fuzz"))
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

    let canary = once("canary", 20)?;
    ensure!(
        !canary.status.success()
            && String::from_utf8_lossy(&canary.stderr).contains("the canary is dead"),
        "the fuzzer did not find the canary's fault in 20 s: its runs prove nothing"
    );
    eprintln!("xtask: fuzz canary: found out, as it must be");
    Ok(())
}

/// How far a target came; an error when it found something.
fn tell(name: &str, output: &Output) -> Result<String> {
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
    Ok(format!("{done}, {coverage} edges"))
}

/// Runs one target on its corpus (kept between runs), on the one that is checked in, and on the
/// golden bytes.
fn once(name: &str, seconds: u64) -> Result<Output> {
    let own = found(name);
    let is_canary = name == "canary";
    if is_canary {
        // It must be found from nothing each time.
        let _ = std::fs::remove_dir_all(&own);
    }
    std::fs::create_dir_all(&own)?;

    let mut fuzz = libfuzzer(name);
    fuzz.arg(format!("-max_total_time={seconds}"))
        // An input that takes seconds or a gigabyte is a finding too.
        .args(["-timeout=5", "-rss_limit_mb=1024", "-len_control=20"])
        .arg(&own);
    if !is_canary {
        // These are read, and new inputs go to the first folder only.
        // A target that is new has none to begin with.
        fuzz.args(Some(corpus::folder(name)).filter(|folder| folder.exists()));
        fuzz.arg(root().join("proto/tests/golden"));
    }
    fuzz.output()
        .with_context(|| format!("cannot start fuzz-{name}"))
}
