//! What an analysis node tells of itself, beside what it tells of the tree.

use invivo_proto::ids::WorldRank;

/// What a process knows of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Its processor time so far, in ns.
    pub cpu_ns: u64,
    /// Messages that it could not send because the other side took none.
    pub refused_sends: u64,
    /// Panics that it lived through.
    pub stumbles: u64,
}

impl Own {
    /// The sentences for a status, where something is wrong.
    pub fn notes(&self, me: WorldRank) -> impl Iterator<Item = String> {
        let refused = (self.refused_sends > 0).then(|| {
            format!(
                "tool process {me} could not send {} messages: the other side takes none",
                self.refused_sends
            )
        });
        let stumbled = (self.stumbles > 0).then(|| {
            format!(
                "tool process {me} failed in itself, {} times, and went on: an answer may be missing",
                self.stumbles
            )
        });
        refused.into_iter().chain(stumbled)
    }
}
