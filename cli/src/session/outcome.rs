//! Results of a session and its steps, as text and as JSON.

use super::script::Action;
use invivo_report::units::{counted, duration};
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::Duration;

/// Bytes of answers that a result keeps; later ones are left out, and it says so.
pub const ANSWERS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How a step or a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// As it should.
    Passed,
    /// An assertion does not hold, or a command was refused or not acknowledged by every rank.
    Failed,
    /// It took too long.
    TimedOut,
    /// The job is not there (any more).
    Gone,
    /// The user wanted no more of it.
    Interrupted,
}

impl Ending {
    /// The exit status.
    pub fn status(self) -> u8 {
        match self {
            Ending::Passed => 0,
            Ending::Failed => 1,
            // 2 is the status of a file that is no session.
            Ending::TimedOut | Ending::Gone => 3,
            // As a shell says it of SIGINT.
            Ending::Interrupted => 130,
        }
    }

    /// In a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Ending::Passed => "passed",
            Ending::Failed => "failed",
            Ending::TimedOut => "timed out",
            Ending::Gone => "lost its job",
            Ending::Interrupted => "was interrupted",
        }
    }
}

/// How a step went.
#[derive(Debug, Serialize)]
pub struct StepResult {
    /// Its number: `2.1` is the first below the second.
    pub step: String,
    /// The rounds of the loops that it is in, the outermost first, counted from 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<u32>,
    /// Its name, or what it does.
    pub name: String,
    /// What it does, in a word.
    pub action: &'static str,
    /// Its line in the file.
    pub line: usize,
    /// When it began, in ns since the session's start.
    pub start_ns: u64,
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// How it ended.
    pub outcome: Ending,
    /// The same in a sentence.
    pub detail: String,
    /// What the job answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<RawValue>>,
    /// There was an answer, and no room for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub answer_left_out: bool,
}

/// How a session went.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// What it is called.
    pub session: String,
    /// The job.
    pub job: String,
    /// How it ended.
    pub outcome: Ending,
    /// The exit status that says so.
    pub status: u8,
    /// When it began, in ns since 1970.
    pub unix_ns: u64,
    /// How long it took, in ns.
    pub duration_ns: u64,
    /// Every step that was carried out.
    pub steps: Vec<StepResult>,
    /// What was done so that the application does not stand still behind a session that went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<String>,
}

/// Receives the beginning and the end of each step.
pub trait Listener {
    /// A step begins, at `2.1 (round 3)` for example.
    fn begins(&mut self, place: &str, title: &str, length: Option<Duration>);
    /// A step has ended.
    ///
    /// # Errors
    /// When the output is closed: the session is given up.
    fn ended(&mut self, result: &StepResult) -> std::io::Result<()>;
}

/// `2.1 (round 3)`.
pub fn place(number: &str, rounds: &[u32]) -> String {
    if rounds.is_empty() {
        return number.to_owned();
    }
    let rounds: Vec<String> = rounds.iter().map(u32::to_string).collect();
    format!("{number} (round {})", rounds.join("."))
}

impl StepResult {
    /// A line: "ok      2.1 (round 3)  record for 2s: recorded a window on 8 of 8 ranks ...".
    pub fn text(&self) -> String {
        let word = match self.outcome {
            Ending::Passed => "ok",
            Ending::Failed => "FAILED",
            Ending::TimedOut => "TIMEOUT",
            Ending::Gone => "GONE",
            Ending::Interrupted => "STOPPED",
        };
        let place = place(&self.step, &self.rounds);
        let mut text = format!("{word:<8}{place}  {}", self.name);
        if self.detail.is_empty() {
            text.push_str(&format!(": {}", duration(self.duration_ns)));
        } else {
            text.push_str(&format!(": {}", self.detail));
        }
        text
    }
}

impl Summary {
    /// A line: "session steady passed: 7 steps in 12.3 s".
    pub fn text(&self) -> String {
        format!(
            "session {} {}: {} in {}",
            self.session,
            self.outcome.word(),
            counted(self.steps.len() as u64, "step"),
            duration(self.duration_ns)
        )
    }
}

/// How long an action shows its progress, if that is known.
pub fn length(action: &Action) -> Option<Duration> {
    Some(action.length()).filter(|length| !length.is_zero())
}
