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
    /// A guest's token was taken back.
    Revoked {
        guest: u64,
        /// With those of whom that guest had invited; empty where there was no such guest.
        #[serde(skip_serializing_if = "str::is_empty")]
        guests: String,
    },
    /// Somebody without a valid token was refused.
    Refused {
        why: &'static str,
        /// Refusals since the line before that have no line.
        #[serde(skip_serializing_if = "is_zero")]
        left_out: u64,
    },
    /// The caller's scope does not include commands.
    Denied {
        /// Denials since the line before that have no line.
        #[serde(skip_serializing_if = "is_zero")]
        left_out: u64,
    },
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
            Event::Revoked { guest, guests } if guests.is_empty() => {
                format!("failed: there is no guest {guest}")
            }
            Event::Revoked { guests, .. } => format!("revoked: {guests}"),
            Event::Refused { why, left_out } => with_others(format!("refused: {why}"), *left_out),
            Event::Denied { left_out } => {
                let denied = "denied: the token opens only the scope view";
                with_others(denied.to_owned(), *left_out)
            }
        }
    }
}

fn with_others(text: String, left_out: u64) -> String {
    match left_out {
        0 => text,
        _ => format!("{text} (and {left_out} more before)"),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
