//! The position of a node in the tree: its height, its children and their ranks.

use crate::layout::Layout;
use alloc::vec::Vec;
use invivo_proto::ids::WorldRank;

/// The place of a node in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The node itself.
    pub me: WorldRank,
    /// The process that it sits in, by which users know it.
    pub process: WorldRank,
    /// Layers from the ranks up to it: 1 a place.
    pub height: u32,
    /// Ranks that it serves itself; nothing where only nodes are below.
    pub local: Option<u32>,
    /// The nodes below, each with the number of its ranks.
    pub children: Vec<(WorldRank, u32)>,
    /// It is in the root's process, and reads the same clock.
    pub is_beside_root: bool,
}

impl Position {
    /// The position of a tool process; nothing for a rank of the application.
    pub fn of(layout: &Layout, me: WorldRank) -> Option<Position> {
        let ranks = |world| layout.ranks_below(world);
        let height = layout.height(me)?;
        let (root, process) = (layout.root(), layout.process_of(me)?);
        let is_beside_root = me != root && layout.process_of(root) == Some(process);
        match height {
            0 => None,
            1 => Some(Position {
                me,
                process,
                height,
                local: Some(ranks(me)),
                children: Vec::new(),
                is_beside_root,
            }),
            _ => {
                let children = layout
                    .children(me)
                    .map(|child| (child, ranks(child)))
                    .collect();
                Some(Position {
                    me,
                    process,
                    height,
                    local: None,
                    children,
                    is_beside_root,
                })
            }
        }
    }
}
