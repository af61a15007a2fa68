//! What an analysis node tells of itself, beside what it tells of the tree.

use invivo_proto::ids::WorldRank;

/// What a process knows of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Its processor time so far, in ns.
    pub cpu_ns: u64,
    /// Messages that it could not send because the other side took none.
    pub refused_sends: u64,
}

impl Own {
    /// The sentence for a status, if something is wrong.
    pub fn note(&self, me: WorldRank) -> Option<String> {
        (self.refused_sends > 0).then(|| {
            format!(
                "tool process {me} could not send {} messages: the other side takes none",
                self.refused_sends
            )
        })
    }
}
