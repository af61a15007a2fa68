//! Actions that follow from a pause or a hold: gates to close or open, answers to send.

use invivo_proto::control::tree::Acks;
use invivo_proto::ids::{CommandId, Rank};

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseAction {
    /// Close the gate of these ranks until then, and have their supervisors stop them.
    Close {
        ranks: Vec<Rank>,
        /// The pause.
        generation: u32,
        /// `CLOCK_MONOTONIC`.
        until_ns: u64,
    },
    /// Close the gate of these ranks until then, stop none, and say by `Pauses::stood` where each
    /// of them is.
    Hold {
        ranks: Vec<Rank>,
        /// What the gate is closed with.
        generation: u32,
        /// `CLOCK_MONOTONIC`.
        until_ns: u64,
    },
    /// Let the closed gates of these ranks stay closed until then.
    Push {
        ranks: Vec<Rank>,
        /// `CLOCK_MONOTONIC`.
        until_ns: u64,
    },
    /// The pause ends: open all gates but those that a hold keeps closed, and have the supervisors
    /// let the ranks go on.
    Open {
        /// The pause that ends.
        generation: u32,
        /// Whose gates stay closed.
        keep: Vec<Rank>,
    },
    /// Open the gates of these ranks, which nobody has stopped.
    Free { ranks: Vec<Rank> },
    /// Answer a command.
    Ack { command: CommandId, acks: Acks },
}
