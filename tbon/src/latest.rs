//! Messages of which only the newest is worth its room: where they cannot be sent yet, a newer one takes the place
//! of an older one of the same kind.

use invivo_proto::control::tree::{Down, Up};

/// The kind of such a message to a child; nothing where every message counts.
pub fn kind_of_down(message: &Down) -> Option<u8> {
    match message {
        Down::Heartbeat => Some(0),
        Down::Time { .. } => Some(1),
        Down::Job(_)
        | Down::Command(_)
        | Down::Query { .. }
        | Down::Groups(_)
        | Down::Release
        | Down::Shutdown => None,
    }
}

/// The kind of such a message to a parent; nothing where every message counts.
pub fn kind_of_up(message: &Up) -> Option<u8> {
    match message {
        Up::WhatTime { .. } => Some(0),
        Up::Hello { .. }
        | Up::Ack { .. }
        | Up::Partial { .. }
        | Up::Groups(_)
        | Up::WantGroups(_)
        | Up::RankEnded(_)
        | Up::Drained => None,
    }
}
