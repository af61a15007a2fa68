//! Whether a process is a tool, from what its node alone knows: the last one there is.
//!
//! The node's processes leave their world ranks with each other before MPI begins. From these and
//! the size of the job follows what the tool process has to know by then: whose ranks it serves,
//! and whether it holds the root.

use alloc::vec::Vec;

/// A process among those of its node, by the launcher's local numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalRank {
    /// Its number on the node, from 0.
    pub rank: u32,
    /// Processes of the job on the node.
    pub size: u32,
}

/// What a process of a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalRole {
    /// A rank of the application.
    Application,
    /// The node's tool process.
    Tool,
}

impl LocalRank {
    /// What the process is; nothing where its node has no room for a rank and the tool process.
    pub fn role(self) -> Option<LocalRole> {
        match self.size {
            0 | 1 => None,
            size if self.rank + 1 == size => Some(LocalRole::Tool),
            _ => Some(LocalRole::Application),
        }
    }

    /// Ranks of the application on the node.
    pub fn ranks(self) -> u32 {
        self.size.saturating_sub(1)
    }
}

/// Whether the tool process of a node with these world ranks, its own among them, holds the root:
/// that of the node with the job's last process does.
pub fn holds_root(processes: &[u32], total: u32) -> bool {
    processes
        .iter()
        .any(|&world| world.checked_add(1) == Some(total))
}

/// World ranks of a node's ranks, ascending: all of its processes but the tool process.
pub fn ranks(processes: &[u32], tool: u32) -> Vec<u32> {
    let others = processes.iter().copied().filter(|&world| world != tool);
    let mut ranks: Vec<u32> = others.collect();
    ranks.sort_unstable();
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_process_of_a_node_is_the_tool() {
        let role = |rank, size| LocalRank { rank, size }.role();
        assert_eq!(role(0, 3), Some(LocalRole::Application));
        assert_eq!(role(1, 3), Some(LocalRole::Application));
        assert_eq!(role(2, 3), Some(LocalRole::Tool));
        assert_eq!(role(1, 2), Some(LocalRole::Tool));
        // One process is no node of ours: a rank needs the tool beside it.
        assert_eq!((role(0, 1), role(0, 0)), (None, None));
        assert_eq!(LocalRank { rank: 0, size: 5 }.ranks(), 4);
    }

    #[test]
    fn the_node_of_the_last_process_holds_the_root() {
        assert!(holds_root(&[0, 6, 3], 7) && !holds_root(&[1, 2], 7));
        assert!(!holds_root(&[u32::MAX], 0));
        assert_eq!(ranks(&[9, 3, 6], 6), [3, 9]);
    }
}
