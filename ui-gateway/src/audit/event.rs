//! The events of a control command in the audit log, and their outcome in words.

use serde::Serialize;

/// What happened to a command. The names are part of the format of `audit.jsonl`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// It was sent to the root.
    Sent {
        command_id: u64,
        /// In words; empty for a command without arguments.
        #[serde(skip_serializing_if = "str::is_empty")]
        arguments: String,
    },
    /// The root answered.
    Answered {
        command_id: u64,
        /// Ranks that the command addresses.
        targets: u32,
        /// Ranks on which it is done.
        done: u32,
        /// From sending to the answer.
        took_ns: u64,
    },
    /// There was no answer, or a refusal.
    Failed {
        command_id: u64,
        /// The sentence that the caller got.
        why: String,
    },
    /// The caller's scope does not include commands.
    Denied,
}

impl Event {
    /// The outcome in words; empty while there is none.
    pub fn outcome(&self) -> String {
        match self {
            Event::Sent { .. } => String::new(),
            Event::Answered {
                targets,
                done,
                took_ns,
                ..
            } => format!(
                "done on {done} of {targets} ranks in {:.1} ms",
                *took_ns as f64 / 1e6
            ),
            Event::Failed { why, .. } => format!("failed: {why}"),
            Event::Denied => "denied: the token opens only the scope view".to_owned(),
        }
    }
}
