//! Inputs and actions of a node.

use invivo_proto::control::tree::{Down, Up};
use invivo_proto::ids::WorldRank;

/// What can happen to a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A message of the parent.
    Down(Down),
    /// A message of a child.
    Up { from: WorldRank, message: Up },
    /// A message of the driver for the ranks that the node serves itself. The first one is
    /// [`Up::Hello`], once it is ready for them.
    Local(Up),
    /// Time passes. Before a tick, hand in everything that has arrived: what waits unread is not
    /// late.
    Tick,
    /// Time passes, and the members' messages cannot all be handed in, because the parent does not
    /// take what they would lead to: nobody is late.
    Backlog,
    /// There is no more time: what is under way is answered with what has come.
    Enough,
    /// A child's message cannot be read.
    Garbage(WorldRank),
}

/// What the driver has to do for a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send to a child.
    Down { to: WorldRank, message: Down },
    /// Send to the parent. (The root has none: there it is for the root itself.)
    Up(Up),
    /// For the driver itself. Commands, queries and groups come only where the node serves ranks;
    /// commands and queries are answered by [`Input::Local`]. All else comes everywhere, but for
    /// the clock's messages.
    Local(Down),
    /// Nothing has been heard from the root for too long; said once per silence. Open the gates.
    RootLost,
}

/// What a node ignored, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Answers and acknowledgements that nobody waited for (any more).
    pub late: u64,
    /// Messages that could not be read, do not answer what was asked, or claim more ranks than
    /// there are.
    pub garbage: u64,
    /// Messages from processes that are no members.
    pub strangers: u64,
    /// Messages after the shutdown.
    pub after_shutdown: u64,
}
