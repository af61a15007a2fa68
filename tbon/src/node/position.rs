//! The position of a node in the tree: its height, its children and their ranks.

use crate::layout::Layout;
use alloc::vec::Vec;
use invivo_proto::ids::WorldRank;

/// The place of a node in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The node itself.
    pub me: WorldRank,
    /// Layers from the ranks up to it: 1 a place.
    pub height: u32,
    /// Ranks that it serves itself; nothing where only nodes are below.
    pub local: Option<u32>,
    /// The nodes below, each with the number of its ranks.
    pub children: Vec<(WorldRank, u32)>,
}

impl Position {
    /// The position of a tool process; nothing for a rank of the application.
    pub fn of(layout: &Layout, me: WorldRank) -> Option<Position> {
        let ranks = |world| layout.ranks_of(world).len() as u32;
        let height = layout.height(me)?;
        match height {
            0 => None,
            1 => Some(Position {
                me,
                height,
                local: Some(ranks(me)),
                children: Vec::new(),
            }),
            _ => {
                let children = layout
                    .children(me)
                    .map(|child| (child, ranks(child)))
                    .collect();
                Some(Position {
                    me,
                    height,
                    local: None,
                    children,
                })
            }
        }
    }
}
