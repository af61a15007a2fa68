//! Runs tests, and says at the end once more why some failed: before that lie thousands of lines.

use crate::run::show;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Lines that are repeated of a panic: where, and what did not hold.
const LINES_MAX: usize = 6;
/// Characters of a line that are repeated.
const CHARS_MAX: usize = 400;

/// Runs tests of cargo to the end; an error shows the command, and each test that failed.
pub fn check_tests(command: &mut Command) -> Result<()> {
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
    if !status.success() {
        bail!("{status}: {}{}", show(command), failed.text);
    }
    Ok(())
}

/// What was said of tests that failed.
#[derive(Default)]
struct Failed {
    text: String,
    /// Lines of the present one that are still wanted.
    left: usize,
}

impl Failed {
    fn read(&mut self, line: &str) {
        let head = line.strip_prefix("---- ");
        if let Some(name) = head.and_then(|head| head.strip_suffix(" stdout ----")) {
            self.text.push_str(&format!("\n  {name}"));
            self.left = 0;
        } else if line.contains("' panicked at ") || line.contains(") panicked at ") {
            self.left = LINES_MAX;
        } else if line.starts_with("stack backtrace:") || line == "failures:" {
            self.left = 0;
        }
        if self.left > 0 && !line.is_empty() {
            self.left -= 1;
            let line: String = line.chars().take(CHARS_MAX).collect();
            self.text.push_str(&format!("\n    {line}"));
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
        ];
        said.iter().for_each(|line| failed.read(line));
        assert_eq!(
            failed.text,
            "\n  b\n    thread 'b' (7) panicked at b.rs:3:5:\n    2 instead of 3\n  c\n    \
             thread 'c' panicked at c.rs:1:1:\n    no answer"
        );
    }
}
