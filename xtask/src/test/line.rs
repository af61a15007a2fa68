//! How a check or a part of one ended, for the summary and for the page.

use crate::suite::Check;
use crate::suite::ended::Ended;
use anyhow::Result;
use std::time::Instant;

/// The result in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// It ran, but for a part that could not.
    Partly,
    Skipped,
    Failed,
}

impl Outcome {
    pub const ALL: [Outcome; 4] = [
        Outcome::Passed,
        Outcome::Partly,
        Outcome::Skipped,
        Outcome::Failed,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Partly => "partly",
            Outcome::Skipped => "skipped",
            Outcome::Failed => "failed",
        }
    }
}

/// How a check or a part of one ended.
#[derive(Clone, Debug)]
pub struct Line {
    pub name: String,
    pub outcome: Outcome,
    pub seconds: f64,
    /// What it found, what could not run, or why it failed.
    pub note: String,
}

impl Line {
    /// Runs it, and says so.
    pub fn of(name: &str, about: &str, run: impl FnOnce() -> Result<Ended>) -> Line {
        eprintln!("xtask: ---- {name}: {about}");
        let begun = Instant::now();
        let ended = run();
        let seconds = begun.elapsed().as_secs_f64();
        let (outcome, note) = match ended {
            Ok(Ended::Passed) => (Outcome::Passed, String::new()),
            Ok(Ended::PassedWith(remark)) => (Outcome::Passed, remark),
            Ok(Ended::PassedBut(part)) => (Outcome::Partly, part),
            Ok(Ended::Skipped(why)) => (Outcome::Skipped, why),
            Err(error) => (Outcome::Failed, format!("{error:#}")),
        };
        let word = outcome.word();
        eprintln!("xtask: ---- {name} {word} after {seconds:.1} s {note}");
        Line {
            name: name.to_owned(),
            outcome,
            seconds,
            note,
        }
    }

    /// The line of a check that cannot run, because what it needs has failed before.
    pub fn without_need(check: &Check, before: &[Line]) -> Option<Line> {
        let has_failed = |need: &&str| {
            let mut lines = before.iter();
            lines.any(|line| line.name == *need && line.has_failed())
        };
        check.needs.filter(has_failed).map(|need| Line {
            name: check.name.to_owned(),
            outcome: Outcome::Failed,
            seconds: 0.0,
            note: format!("not run without {need}"),
        })
    }

    pub fn has_failed(&self) -> bool {
        self.outcome == Outcome::Failed
    }
}
