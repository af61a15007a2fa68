//! Says which unsent messages a newer one replaces, which may be lost, and which must arrive.

use invivo_proto::control::tree::{Down, Up};

/// The kind of such a message to a child; nothing where every message counts.
pub fn kind_of_down(message: &Down) -> Option<u8> {
    match message {
        Down::Heartbeat => Some(0),
        Down::Time { .. } => Some(1),
        Down::Job(_)
        | Down::Analyses(_)
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
        | Up::RankFaulted(_)
        | Up::RankEnded(_)
        | Up::Drained => None,
    }
}

/// Whether a message to a child must not be lost: all else is asked for again, or answered for by
/// the child's name among the missing. There are four of them in a job at most.
pub fn must_arrive(message: &Down) -> bool {
    match message {
        Down::Job(_) | Down::Analyses(_) | Down::Release | Down::Shutdown => true,
        Down::Command(_)
        | Down::Query { .. }
        | Down::Heartbeat
        | Down::Time { .. }
        | Down::Groups(_) => false,
    }
}
