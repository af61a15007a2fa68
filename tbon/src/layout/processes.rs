//! Which process holds which members of the tree.
//!
//! Members are known by *addresses*. In a layout with a process for every member, an address is the
//! world rank of that process. With one tool process per node, the addresses of ranks and places
//! are world ranks as well, and those of the members above the places are the numbers behind the
//! last process; each of them sits in the tool process of a node below it:
//!
//! ```text
//! 4 ranks on each of 3 nodes, at most 2 members per analysis node
//!
//! member                  root 17                 process 14: T2 14, A1 16, root 17
//!                        /       \
//! member           A0 15          A1 16           process  9: T1 9
//!                 /     \           \
//! member       T0 4     T1 9       T2 14          process  4: T0 4, A0 15
//! ```
//!
//! A process holds at most one member of each layer, so a process and a layer make an address, too.
//! The root is the last process', and the layers below it move away from that one where they have a
//! choice, so that no process has all the merging to do.

use super::shape::LayerIndex;
use super::{Layout, Role};
use invivo_proto::ids::WorldRank;

impl Layout {
    /// Whether there is one tool process per node, with all roles.
    pub fn is_one_per_node(&self) -> bool {
        self.fan_in().is_one_per_node()
    }

    /// The process that holds the member with this address; nothing where there is none.
    pub fn process_of(&self, address: WorldRank) -> Option<WorldRank> {
        let at = self.at(address)?;
        if !self.is_one_per_node() || at.layer < 2 {
            return Some(address);
        }
        // Places are the heads of their nodes: one for each.
        let heads = self.shape.heads_of(at);
        let below_top = self.shape.top() - at.layer;
        let last = heads.end.saturating_sub(1);
        Some(self.place(last.saturating_sub(below_top).max(heads.start)))
    }

    /// The address of the member of this layer that a process holds.
    pub fn address(&self, process: WorldRank, layer: u32) -> Option<WorldRank> {
        let at = self.at(process).filter(|_| process.0 < self.total())?;
        if at.layer == layer {
            return Some(process);
        }
        if !self.is_one_per_node() || at.layer != 1 || layer < 2 || layer > self.shape.top() {
            return None;
        }
        let index = self.shape.above_head(at.index, layer);
        let address = self.world(LayerIndex { layer, index });
        (self.process_of(address) == Some(process)).then_some(address)
    }

    /// What a process is, with the address of each member that it holds, from the lowest layer up;
    /// nothing beyond the last process.
    pub fn roles(&self, process: WorldRank) -> impl Iterator<Item = (WorldRank, Role)> {
        let layout = *self;
        let address = move |layer| layout.address(process, layer);
        let addresses = (0..=self.shape.top()).filter_map(address);
        addresses.filter_map(move |address| Some((address, layout.role(address)?)))
    }
}
