//! The programs that cargo makes of tests: built by one command, run by themselves.
//!
//! One command for many packages, because cargo compiles a crate once for each set of features that
//! the packages which are built together ask for.

use super::ended::Ended;
use crate::bench::machine::Stolen;
use crate::failed_tests::{Ran, run_tests};
use crate::run::{allow_root, bounded, output, root};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The tests of a library, or of a file or folder of tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    package: String,
    /// The crate, or the file without its ending.
    pub name: String,
    pub path: PathBuf,
    /// The package's folder, in which its tests run.
    pub folder: PathBuf,
}

/// Builds the tests that a `cargo test` would run, which is given without what it says of programs.
pub fn build(test: &mut Command) -> Result<Vec<Program>> {
    test.args(["--no-run", "--tests"]);
    test.arg("--message-format=json-render-diagnostics");
    // What is compiled is shown as always.
    test.stderr(Stdio::inherit());
    let said = output(test)?;
    let mut programs = Vec::new();
    for line in said.lines() {
        let message = serde_json::from_str(line).with_context(|| line.to_owned())?;
        let program = of(&message).with_context(|| format!("not understood: {line}"))?;
        programs.extend(program);
    }
    programs.sort();
    Ok(programs)
}

/// The tests' program that cargo has made, if this message says so; nothing where that cannot be
/// understood.
fn of(message: &Value) -> Option<Option<Program>> {
    if message["profile"]["test"].as_bool() != Some(true) {
        return Some(None);
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    // `path+file:///folder#package@version`, or `...#version` where the folder has the same name.
    let (_, behind) = message["package_id"].as_str()?.rsplit_once('#')?;
    let name = folder.file_name()?.to_str()?;
    Some(Some(Program {
        package: behind
            .split_once('@')
            .map_or(name, |(name, _)| name)
            .to_owned(),
        name: message["target"]["name"].as_str()?.to_owned(),
        path: PathBuf::from(message["executable"].as_str()?),
        folder: folder.to_owned(),
    }))
}

/// How tests run.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// The most seconds of a program.
    pub seconds: &'static str,
    /// One test after the other; otherwise as many at a time as there are cores.
    pub one_by_one: bool,
    /// Random cases of a property, where not as many as it says itself.
    pub cases: Option<&'static str>,
}

/// How often tests that fail run again at most.
const AGAIN: usize = 2;
/// The packages whose tests do. They measure or wait for real processes, and what those do in some
/// time is also a matter of what others do to the machine; what other tests compute is not.
pub const OF_PROCESSES: [&str; 5] = [
    "invivo-inspect",
    "invivo-ui-gateway",
    "invivo-launcher",
    "invivo-cli",
    "invivo-e2e",
];

/// What came of programs.
#[derive(Debug, Default)]
pub struct Came {
    /// A text for each that failed.
    pub failed: Vec<String>,
    /// A text for each with tests that passed only when they ran again: each may be a mistake that
    /// shows itself seldom, in the test or in what it tests.
    pub passed_again: Vec<String>,
}

impl Came {
    /// With what came of others.
    pub fn and(&mut self, other: Came) {
        self.failed.extend(other.failed);
        self.passed_again.extend(other.passed_again);
    }

    /// The result of the check.
    pub fn ended(self) -> Result<Ended> {
        ensure!(self.failed.is_empty(), "{}", self.failed.join("\n"));
        Ok(match self.passed_again.is_empty() {
            true => Ended::Passed,
            false => Ended::PassedWith(self.passed_again.join("; ")),
        })
    }
}

impl Program {
    /// The package's name.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// How often its tests that fail run again at most.
    fn times_again(&self) -> usize {
        match OF_PROCESSES.contains(&self.package.as_str()) {
            true => AGAIN,
            false => 0,
        }
    }

    /// Runs it.
    pub fn command(&self, how: How) -> Command {
        let mut test = bounded(how.seconds, &self.path);
        test.current_dir(&self.folder);
        // As cargo says it: who looks for files of the package finds them.
        test.env("CARGO_MANIFEST_DIR", &self.folder);
        test.envs(how.cases.map(|cases| ("PROPTEST_CASES", cases)));
        if how.one_by_one {
            test.arg("--test-threads=1");
        }
        allow_root(&mut test);
        test
    }

    /// Which package and file, as cargo shows it.
    pub fn title(&self) -> String {
        let folder = self.folder.strip_prefix(root()).unwrap_or(&self.folder);
        format!("{}: {}", folder.display(), self.name)
    }
}

/// Runs them one after the other, all of them whatever fails. `prepare` adds what they find in
/// their environment.
pub fn run(programs: &[Program], how: How, prepare: fn(&mut Command)) -> Came {
    let mut came = Came::default();
    for program in programs {
        eprintln!("xtask: tests of {}", program.title());
        match run_one(program, how, prepare) {
            Ok(None) => {}
            Ok(Some(again)) => came.passed_again.push(again),
            Err(error) => came.failed.push(format!("{}: {error:#}", program.title())),
        }
    }
    came
}

/// The text of tests that passed when they ran again, if there are any.
fn run_one(program: &Program, how: How, prepare: fn(&mut Command)) -> Result<Option<String>> {
    let mut failures: Vec<String> = Vec::new();
    let mut only: Vec<String> = Vec::new();
    loop {
        let mut test = program.command(how);
        prepare(&mut test);
        if !only.is_empty() {
            test.arg("--exact").args(&only);
        }
        let stolen = Stolen::begin();
        let ran = run_tests(&mut test)?;
        let stolen = format!("{:.1} % of the processors stolen", 100.0 * stolen.share());
        let failed = match ran {
            Ran::Passed(_) if only.is_empty() => return Ok(None),
            Ran::Passed(number) if number == only.len() => {
                let title = program.title();
                let why = failures.join("; ");
                return Ok(Some(format!("{title}: passed when run again: {why}")));
            }
            Ran::Passed(number) => {
                let (all, why) = (only.len(), failures.join("; "));
                bail!("{number} of {all} ran again, though there had failed {why}")
            }
            Ran::Failed(failed) => failed,
        };
        if failures.len() >= program.times_again() || failed.names.is_empty() {
            let before = match failures.is_empty() {
                true => String::new(),
                false => format!("; before: {}", failures.join("; ")),
            };
            bail!("{} ({stolen}{before})", failed.text);
        }
        eprintln!("xtask: {}", failed.text);
        let names = failed.names.join(", ");
        eprintln!("xtask: once more: {names}");
        failures.push(format!("{names} ({stolen}):{}", failed.reason));
        only = failed.names;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(is_test: bool, id: &str) -> Value {
        serde_json::json!({ "reason": "compiler-artifact", "target": { "name": "soak" },
            "profile": { "test": is_test }, "executable": "/a/soak-1",
            "manifest_path": "/a/e2e/Cargo.toml", "package_id": id })
    }

    #[test]
    fn only_programs_of_tests_are_listed() {
        let found = of(&message(true, "path+file:///a/e2e#invivo-e2e@0.1.0"));
        let found = found.flatten().expect("a program");
        assert_eq!(
            (found.package.as_str(), found.name.as_str()),
            ("invivo-e2e", "soak")
        );
        assert_eq!(
            (found.path, found.folder),
            ("/a/soak-1".into(), "/a/e2e".into())
        );
        assert_eq!(of(&message(false, "path+file:///a/e2e#0.1.0")), Some(None));
        let finished = serde_json::json!({ "reason": "build-finished" });
        assert_eq!(of(&finished), Some(None));
        assert_eq!(of(&message(true, "something else")), None);
    }

    /// A program of two tests, of which this script says how the second ends; it finds in `$RUN`
    /// for which time it runs, and in `$*` which tests it is to run.
    fn ran(package: &str, script: &str) -> Result<Option<String>> {
        let folder = std::env::temp_dir().join(format!("xtask-{}-{package}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("tests");
        let count = "echo run >> runs; RUN=$(wc -l < runs)";
        let text = format!("#!/bin/sh\n{count}\n{script}\n");
        std::fs::write(&path, text).expect("written");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("executable");
        let program = Program {
            package: package.to_owned(),
            name: "tests".to_owned(),
            path,
            folder: folder.clone(),
        };
        let how = How {
            seconds: "20",
            ..How::default()
        };
        let ended = run_one(&program, how, |_| {});
        std::fs::remove_dir_all(&folder).expect("removed");
        ended
    }

    const FAILS: &str = "failed() { echo failures:; echo \"    $1\"; exit 101; }\n\
        passed() { echo \"test result: ok. $1 passed; 0 failed\"; }\n";

    #[test]
    fn what_passes_when_run_again_is_told() {
        let script =
            format!("{FAILS}[ $RUN = 1 ] && failed b; [ \"$*\" = '--exact b' ] && passed 1");
        let told = ran("invivo-inspect", &script).expect("passed");
        let told = told.expect("a text");
        assert!(told.contains("passed when run again: b ("), "{told}");
        let none = ran("invivo-grpc", "true").expect("passed");
        assert_eq!(none, None);
    }

    #[test]
    fn what_fails_again_or_does_not_run_has_failed() {
        let of = |package: &str, script: &str| {
            let failed = ran(package, &format!("{FAILS}{script}"));
            format!("{:#}", failed.expect_err("failed"))
        };
        let thrice = "[ $RUN = 1 ] && failed b; [ $RUN = 3 ] && failed d; failed c";
        let told = of("invivo-cli", thrice);
        assert!(
            told.contains("; before: b (") && told.contains("; c ("),
            "{told}"
        );
        // Another name than the one that was asked for, and a program that computes.
        let told = of("invivo-launcher", "[ $RUN = 1 ] && failed b; passed 0");
        let words = "0 of 1 ran again, though there had failed b (";
        assert!(told.starts_with(words), "{told}");
        of("invivo-otfx", "[ $RUN = 1 ] && failed b; passed 1");
        of("invivo-ui-gateway", "[ $RUN = 1 ] && exit 1; passed 2");
    }

    #[test]
    fn a_package_may_be_named_by_its_folder() {
        let found = of(&message(true, "path+file:///a/e2e#0.1.0"));
        let found = found.flatten().expect("a program");
        assert_eq!(found.package, "e2e");
    }
}
