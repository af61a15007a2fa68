//! Real MPI programs under Invivo: the usual tests of each file, one after the other, and in the
//! long run each long test by itself.

use super::ended::Ended;
use super::in_development::{self, END_TO_END};
use super::parts::{Part, Parts};
use super::programs::{self, How, Program};
use crate::release;
use crate::run::{dist, dist_hooks, output, python, root};
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Seconds of the usual tests of a file.
const USUAL_MAX: &str = "900";
/// What is measured of all jobs of a part, beside their calls.
const EVERYTHING_ON: [(&str, &str); 2] =
    [("INVIVO_SAMPLING", "10kHz"), ("INVIVO_METRICS", "usual")];
/// The files whose programs run once more with that: what an MPI program can do, and how it ends.
const MEASURED: [&str; 9] = [
    "coexistence",
    "faults",
    "job_ends",
    "left_calls",
    "mpi4py",
    "mpi_features",
    "one_sided",
    "remaining_functions",
    "transparency",
];
/// Seconds of one long test: some run one job for half an hour on each of two MPIs, or a thousand.
const LONG_MAX: &str = "10800";

fn programs() -> Result<Vec<Program>> {
    let mut all = in_development::tests()?;
    all.retain(|program| program.package() == END_TO_END);
    Ok(all)
}

/// The tests that are not long.
pub fn usual() -> Result<Ended> {
    let how = How {
        seconds: USUAL_MAX,
        one_by_one: true,
        ..How::default()
    };
    let prepare = |test: &mut Command| {
        environment(test);
    };
    programs::run(&programs()?, how, prepare).ended()
}

/// Each file's usual tests, then each long test.
pub fn parts() -> Result<Parts> {
    let (mut usual, mut long) = (Vec::new(), Vec::new());
    for program in programs()? {
        let file = &program.name;
        let ignored = tests(&program.path, &["--ignored"])?;
        if tests(&program.path, &[])?.len() > ignored.len() {
            usual.push(part(format!("e2e/{file}"), &program, None, &[]));
            if MEASURED.contains(&file.as_str()) {
                let name = format!("e2e/everything-on/{file}");
                long.push(part(name, &program, None, &EVERYTHING_ON));
            }
        }
        for test in ignored {
            let name = format!("e2e/{file}/{test}");
            long.push(part(name, &program, Some(test), &[]));
        }
    }
    for file in MEASURED {
        let name = format!("e2e/everything-on/{file}");
        ensure!(long.iter().any(|part| part.name == name), "no file {file}");
    }
    usual.extend(long);
    Ok(Parts {
        at_once: 1,
        parts: usual,
    })
}

/// The names of a program's tests.
fn tests(program: &Path, which: &[&str]) -> Result<Vec<String>> {
    let mut list = Command::new(program);
    list.args(["--list", "--format", "terse"]).args(which);
    let names = output(&mut list)?;
    let names = names.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

/// One long test of a program, or all that are not long, with these variables.
fn part(
    name: String,
    program: &Program,
    long: Option<String>,
    variables: &'static [(&str, &str)],
) -> Part {
    let (program, log) = (program.clone(), log(&name));
    let run = move || {
        let limit = if long.is_some() { LONG_MAX } else { USUAL_MAX };
        let mut test = program.command(How {
            seconds: limit,
            one_by_one: true,
            ..How::default()
        });
        if let Some(name) = &long {
            test.args(["--exact", name, "--ignored"]);
        }
        test.envs(variables.iter().copied());
        let status = to_file(environment(&mut test), &log)?;
        let said = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
        ended(status, &said, long.is_some()).with_context(|| log.display().to_string())
    };
    Part {
        name,
        run: Box::new(run),
    }
}

/// Where the output of a part goes.
fn log(part: &str) -> PathBuf {
    let name = format!("{}.log", part.replace('/', "."));
    root().join("target/long-tests").join(name)
}

/// Runs a command with both of its outputs in a file.
fn to_file(command: &mut Command, file: &Path) -> Result<ExitStatus> {
    std::fs::create_dir_all(file.parent().context("a file in a folder")?)?;
    let log = File::create(file)?;
    command.stdin(Stdio::null()).stderr(log.try_clone()?);
    Ok(command.stdout(log).status()?)
}

/// What the end and the output of a test program mean.
fn ended(status: ExitStatus, said: &str, is_long: bool) -> Result<Ended> {
    if !status.success() {
        bail!("{status}: {}", failure(said));
    }
    let marked = |mark: &str| -> Vec<&str> {
        let texts = said.lines().filter_map(|line| {
            let line = line.strip_prefix("*** ")?.strip_suffix(" ***")?;
            line.strip_prefix(mark)
        });
        // Each reason once, as often as it may be given.
        let mut all: Vec<&str> = Vec::new();
        texts.for_each(|text| {
            if !all.contains(&text) {
                all.push(text);
            }
        });
        all
    };
    let not_tested = marked("not tested: ").join("; ");
    Ok(match (not_tested.is_empty(), is_long) {
        (true, true) => Ended::PassedWith(marked("remark: ").join("; ")),
        (true, false) => Ended::PassedWith(number_of_tests(said)),
        (false, true) => Ended::Skipped(not_tested),
        (false, false) => Ended::PassedBut(format!("not tested: {not_tested}")),
    })
}

/// "12 tests", by the test runner's last line.
fn number_of_tests(said: &str) -> String {
    let mut lines = said.lines().rev();
    let line = lines.find_map(|line| line.strip_prefix("test result: ok. "));
    let number = line.and_then(|line| line.split(' ').next());
    format!("{} tests", number.unwrap_or("?"))
}

/// The first panic with what it says, or the last line.
fn failure(said: &str) -> String {
    let mut lines = said.lines();
    match lines.find(|line| line.contains("panicked at ")) {
        Some(place) => format!("{place} {}", lines.next().unwrap_or_default()),
        None => said.lines().last().unwrap_or_default().to_owned(),
    }
}

/// Where tests find what they test.
fn environment(test: &mut Command) -> &mut Command {
    test.env("INVIVO_DIST", dist())
        .env("INVIVO_DIST_HOOKS", dist_hooks())
        .env("INVIVO_PYTHON", python().join("bin/python"));
    // The release that this run has made.
    if release::tarball().exists() {
        test.env("INVIVO_TARBALL", release::tarball());
    }
    test
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    const GOOD: &str = "running 2 tests\ntest a ... \n*** remark: 3 calls ***\nok\n\
        test result: ok. 2 passed; 0 failed; 1 ignored; finished in 1.00s\n";

    fn of(said: &str, is_long: bool) -> Ended {
        ended(ExitStatus::from_raw(0), said, is_long).unwrap()
    }

    #[test]
    fn what_tests_remark_stands_beside_the_result() {
        assert!(matches!(of(GOOD, true), Ended::PassedWith(text) if text == "3 calls"));
        assert!(matches!(of(GOOD, false), Ended::PassedWith(text) if text == "2 tests"));
    }

    /// A test that returns because the machine forbids something has not passed.
    #[test]
    fn what_was_not_tested_has_not_passed() {
        let why = "\n*** not tested: two hosts: no namespaces ***\n";
        let said = format!("{why}{GOOD}{why}");
        let reason = "two hosts: no namespaces";
        assert!(matches!(of(&said, true), Ended::Skipped(text) if text == reason));
        assert!(matches!(of(&said, false), Ended::PassedBut(text) if text.ends_with(reason)));
    }

    #[test]
    fn a_failure_says_what_panicked() {
        let said = "test a ... thread 'a' panicked at b.rs:1:2:\nleft is not right\nmore\n";
        let failed = ended(ExitStatus::from_raw(101 << 8), said, true).unwrap_err();
        let text = failed.to_string();
        assert!(
            text.contains("panicked at b.rs:1:2: left is not right"),
            "{text}"
        );
    }
}
