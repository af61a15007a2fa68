//! The programs that cargo makes of tests: built by one command, run by themselves.
//!
//! One command for many packages, because cargo compiles a crate once for each set of features that
//! the packages which are built together ask for.

use super::ended::Ended;
use crate::bench::machine::Stolen;
use crate::failed_tests::failure_of;
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
    /// How often tests that fail run again at most. What real processes do in some time is also a
    /// matter of what others do to the machine; what a test computes is not.
    pub again: u32,
}

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
    let (mut first, mut only) = (Vec::new(), Vec::new());
    let mut left = how.again;
    let stolen = Stolen::begin();
    loop {
        let mut test = program.command(how);
        prepare(&mut test);
        if !only.is_empty() {
            test.arg("--exact").args(&only);
        }
        let failed = failure_of(&mut test)?;
        let share = 100.0 * stolen.share();
        match failed {
            None if only.is_empty() => return Ok(None),
            None => {
                let (title, names) = (program.title(), first.join(", "));
                return Ok(Some(format!(
                    "{title}: {names} passed when run again ({share:.1} % of the processors stolen)"
                )));
            }
            Some(failed) if left == 0 || failed.names.is_empty() => {
                bail!("{} ({share:.1} % of the processors stolen)", failed.text)
            }
            Some(failed) => {
                left -= 1;
                eprintln!("xtask: {}", failed.text);
                eprintln!("xtask: once more: {}", failed.names.join(", "));
                if first.is_empty() {
                    first = failed.names.clone();
                }
                only = failed.names;
            }
        }
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

    #[test]
    fn a_package_may_be_named_by_its_folder() {
        let found = of(&message(true, "path+file:///a/e2e#0.1.0"));
        let found = found.flatten().expect("a program");
        assert_eq!(found.package, "e2e");
    }
}
