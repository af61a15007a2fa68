//! Whether a node's process may rest for long: nothing is under way, and who has something for it
//! can wake it.

use super::Node;
use crate::merge::Merge;
use invivo_proto::ids::WorldRank;

impl<M: Merge> Node<M> {
    /// Whether somebody has looked or steered within the last seconds, and may go on.
    pub fn is_followed(&self, now_ns: u64) -> bool {
        self.alertness.is_alert(now_ns)
    }

    /// Whether something is under way, or came so lately that more may follow of those who cannot
    /// wake this process: the next message should not wait.
    pub fn is_alert(&self, now_ns: u64) -> bool {
        (self.is_followed(now_ns) && !self.is_woken_by_all())
            || !self.waves.is_empty()
            || !self.commands.under_way.is_empty()
            || !self.present.is_complete()
            || self.clock.is_measuring(now_ns)
    }

    /// Whether all who send to this node can wake it.
    pub fn is_woken_by_all(&self) -> bool {
        let mut children = self.members.children();
        self.here.pid != 0
            && (self.is_root || self.parent_pid().is_some())
            && children.all(|child| self.here.pid_of(&child.here).is_some())
    }

    /// The parent's process, where it can be woken from here.
    pub fn parent_pid(&self) -> Option<u32> {
        self.here.pid_of(&self.above)
    }

    /// A child's process, where it can be woken from here.
    pub fn child_pid(&self, child: WorldRank) -> Option<u32> {
        let member = self.members.child(child)?;
        self.here.pid_of(&self.members.get(member).here)
    }
}
