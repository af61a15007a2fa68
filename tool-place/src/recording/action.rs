//! Actions that follow from commands about recording: switch the ranks, answer a command.

use invivo_proto::control::tree::Acks;
use invivo_proto::ids::CommandId;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingAction {
    /// Switch the ranks' recording. `Recording::switched` is to be called after a switch to on.
    Switch {
        /// On or off.
        on: bool,
        /// The epoch that recording is in, or was in.
        epoch: u32,
    },
    /// Answer a command.
    Ack { command: CommandId, acks: Acks },
}
