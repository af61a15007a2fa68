//! Real MPI programs under Invivo: all of them in one go, or in the long run each file of tests and
//! each long test by itself.

use super::ended::Ended;
use super::parts::{Part, Parts};
use crate::failed_tests::check_tests;
use crate::release;
use crate::run::{
    allow_root, bounded, bounded_cargo, cargo, dist, dist_hooks, output, python, root,
};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Seconds of all usual tests.
const ALL_MAX: &str = "3300";
/// Seconds of one long test: some run one job for half an hour on each of two MPIs, or a thousand.
const LONG_MAX: &str = "10800";
/// The package with the tests, and its folder, in which they run.
const PACKAGE: &str = "invivo-e2e";
const FOLDER: &str = "tests/e2e";

/// The tests that are not long.
pub fn usual() -> Result<Ended> {
    let mut test = bounded_cargo(ALL_MAX);
    test.args(["test", "--tests", "--no-fail-fast", "-p", PACKAGE])
        // One after the other: each job has more processes than there are cores.
        .args(["--", "--test-threads=1"]);
    check_tests(environment(&mut test)).map(|()| Ended::Passed)
}

/// Each file's usual tests, then each long test.
pub fn parts() -> Result<Parts> {
    let (mut usual, mut long) = (Vec::new(), Vec::new());
    for (file, program) in programs()? {
        let ignored = tests(&program, &["--ignored"])?;
        if tests(&program, &[])?.len() > ignored.len() {
            usual.push(part(format!("e2e/{file}"), &program, None));
        }
        for test in ignored {
            long.push(part(format!("e2e/{file}/{test}"), &program, Some(test)));
        }
    }
    usual.extend(long);
    Ok(Parts {
        at_once: 1,
        parts: usual,
    })
}

/// Builds the tests; gives their files' names with the programs that were made of them.
fn programs() -> Result<Vec<(String, PathBuf)>> {
    let mut build = cargo();
    build.args(["test", "--no-run", "--tests", "-p", PACKAGE]);
    build.arg("--message-format=json-render-diagnostics");
    // What is compiled is shown as always.
    build.stderr(Stdio::inherit());
    let mut programs: Vec<(String, PathBuf)> = output(&mut build)?
        .lines()
        .filter_map(|line| program(&serde_json::from_str(line).ok()?))
        .collect();
    programs.sort();
    Ok(programs)
}

/// The tests' program that cargo has made, if this message says so.
fn program(message: &Value) -> Option<(String, PathBuf)> {
    let is_test = message["profile"]["test"].as_bool() == Some(true);
    let name = message["target"]["name"].as_str()?;
    let program = message["executable"].as_str().filter(|_| is_test)?;
    Some((name.to_owned(), PathBuf::from(program)))
}

/// The names of a program's tests.
fn tests(program: &Path, which: &[&str]) -> Result<Vec<String>> {
    let mut list = Command::new(program);
    list.args(["--list", "--format", "terse"]).args(which);
    let names = output(&mut list)?;
    let names = names.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

/// One long test of a program, or all that are not long.
fn part(name: String, program: &Path, long: Option<String>) -> Part {
    let (program, log) = (program.to_owned(), log(&name));
    let run = move || {
        let limit = if long.is_some() { LONG_MAX } else { ALL_MAX };
        let mut test = bounded(limit, &program);
        test.current_dir(root().join(FOLDER));
        test.arg("--test-threads=1");
        if let Some(name) = &long {
            test.args(["--exact", name, "--ignored"]);
        }
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
    allow_root(test)
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

    #[test]
    fn only_programs_of_tests_are_listed() {
        let message = |is_test: bool| {
            serde_json::json!({ "reason": "compiler-artifact", "target": { "name": "soak" },
                "profile": { "test": is_test }, "executable": "/a/soak-1" })
        };
        let found = Some(("soak".to_owned(), PathBuf::from("/a/soak-1")));
        assert_eq!(program(&message(true)), found);
        assert_eq!(program(&message(false)), None);
        assert_eq!(
            program(&serde_json::json!({ "reason": "build-finished" })),
            None
        );
    }
}
