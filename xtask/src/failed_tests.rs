//! Runs tests, and says at the end once more why some failed: before that lie thousands of lines.

use crate::run::show;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Lines that are repeated of a panic: where, and what did not hold.
const LINES_MAX: usize = 6;
/// Characters of a line that are repeated.
const CHARS_MAX: usize = 400;

/// The status that `timeout` ends with when the time was up.
const TIME_WAS_UP: i32 = 124;

/// What came of a program of tests.
pub enum Ran {
    /// All of so many have passed.
    Passed(usize),
    /// Some have not.
    Failed(Failure),
}

/// Why a program of tests did not pass.
pub struct Failure {
    /// The tests that failed; none where the program did not come to its end.
    pub names: Vec<String>,
    /// Status, command, and each test that failed or that ran when the time was up.
    pub text: String,
    /// What did not hold in the first that failed.
    pub reason: String,
}

/// Runs tests of cargo to the end.
pub fn run_tests(command: &mut Command) -> Result<Ran> {
    let piped = command.stdout(Stdio::piped()).spawn();
    let mut tests = piped.with_context(|| format!("cannot start {}", show(command)))?;
    let mut failed = Failed::default();
    if let Some(stdout) = tests.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.context("reading what tests say")?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            failed.read(&line);
        }
    }
    let status = tests.wait().with_context(|| show(command))?;
    if status.success() {
        return Ok(Ran::Passed(failed.passed));
    }
    let mut text = format!("{status}: {}{}", show(command), failed.text);
    if let Some(name) = failed
        .running
        .filter(|_| status.code() == Some(TIME_WAS_UP))
    {
        text.push_str(&format!("\n  {name} had not ended when the time was up"));
    }
    Ok(Ran::Failed(Failure {
        names: failed.names,
        text,
        reason: failed.reason,
    }))
}

/// What was said of tests that failed.
#[derive(Default)]
struct Failed {
    /// As they are listed at the end.
    names: Vec<String>,
    text: String,
    /// The lines of the first panic.
    reason: String,
    /// The test whose line has begun. Of several at a time none is known.
    running: Option<String>,
    /// How many have passed, by the last line.
    passed: usize,
    /// Whether lines are of the list at the end.
    is_list: bool,
    /// Whether lines are of the first panic.
    is_first: bool,
    /// Lines of the present one that are still wanted.
    left: usize,
}

impl Failed {
    fn read(&mut self, line: &str) {
        let begun = line.strip_prefix("test ");
        let begun = begun.and_then(|begun| begun.split_once(" ... "));
        if let Some((name, result)) = begun {
            self.running = result.is_empty().then(|| name.to_owned());
        } else if ["ok", "FAILED"].contains(&line) {
            // Of a test that has said something.
            self.running = None;
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            let mut words = result.split(' ').map(str::parse);
            self.passed = words.find_map(std::result::Result::ok).unwrap_or(0);
            (self.running, self.is_list) = (None, false);
        } else if line == "failures:" {
            // There are two: with what the tests have said, and the list.
            self.names.clear();
            self.is_list = true;
        } else if let Some(name) = line.strip_prefix("    ").filter(|_| self.is_list) {
            self.names.push(name.to_owned());
        }
        let head = line.strip_prefix("---- ");
        if let Some(name) = head.and_then(|head| head.strip_suffix(" stdout ----")) {
            self.text.push_str(&format!("\n  {name}"));
            self.left = 0;
        } else if line.contains("' panicked at ") || line.contains(") panicked at ") {
            self.left = LINES_MAX;
            self.is_first = self.reason.is_empty();
        } else if line.starts_with("stack backtrace:") || line == "failures:" {
            self.left = 0;
        }
        if self.left > 0 && !line.is_empty() {
            self.left -= 1;
            let line: String = line.chars().take(CHARS_MAX).collect();
            self.text.push_str(&format!("\n    {line}"));
            if self.is_first {
                self.reason.push_str(&format!(" {line}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failed_test_is_told_with_its_reason() {
        let mut failed = Failed::default();
        let said = [
            "test a ... ok",
            "---- b stdout ----",
            "much",
            "thread 'b' (7) panicked at b.rs:3:5:",
            "2 instead of 3",
            "stack backtrace:",
            "   0: start",
            "---- c stdout ----",
            "thread 'c' panicked at c.rs:1:1:",
            "no answer",
            "",
            "failures:",
            "    b",
            "    c",
            "",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored",
        ];
        said.iter().for_each(|line| failed.read(line));
        assert_eq!(
            failed.text,
            "\n  b\n    thread 'b' (7) panicked at b.rs:3:5:\n    2 instead of 3\n  c\n    \
             thread 'c' panicked at c.rs:1:1:\n    no answer"
        );
        assert_eq!(failed.names, ["b", "c"]);
        assert_eq!(failed.passed, 1);
        let reason = " thread 'b' (7) panicked at b.rs:3:5: 2 instead of 3";
        assert_eq!(failed.reason, reason);
    }

    /// One that has an end, others that say something first, and one that hangs.
    #[test]
    fn the_test_that_was_running_is_known() {
        let mut failed = Failed::default();
        let said = ["test a ... ok", "test b ... ", "*** remark: 3 calls ***"];
        said.iter().for_each(|line| failed.read(line));
        assert_eq!(failed.running.as_deref(), Some("b"));
        failed.read("ok");
        assert_eq!(failed.running, None);
        failed.read("test c ... ");
        assert_eq!(failed.running.as_deref(), Some("c"));
        failed.read("test result: ok. 3 passed; 0 failed");
        assert_eq!((failed.running, failed.passed), (None, 3));
    }

    #[test]
    fn the_end_of_a_program_says_what_failed() {
        let of = |script: &str| {
            let mut program = Command::new("timeout");
            run_tests(program.args(["0.5", "sh", "-c", script])).expect("started")
        };
        let passed = of("echo 'test result: ok. 2 passed; 0 failed'");
        assert!(matches!(passed, Ran::Passed(2)));
        let Ran::Failed(failed) = of("echo failures:; echo '    b'; exit 101") else {
            panic!("it has failed");
        };
        assert_eq!(failed.names, ["b"]);
        let Ran::Failed(hung) = of("printf 'test c ... '; sleep 9") else {
            panic!("it has hung");
        };
        assert!(hung.names.is_empty());
        let why = "c had not ended when the time was up";
        assert!(hung.text.ends_with(why), "{}", hung.text);
    }
}
