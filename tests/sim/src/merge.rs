//! Merges as the analyses do, with room for a planted bug.

use crate::plant::Plant;
use invivo_proto::control::tree::Partial;
use invivo_tbon::merge::{Merge, Mismatch};

/// The law that simulated nodes merge by.
#[derive(Clone, Copy, Debug)]
pub struct SimMerge {
    plant: Option<Plant>,
}

impl SimMerge {
    /// The analyses' law, spoilt by `plant` if that is a bug of merging.
    pub fn new(plant: Option<Plant>) -> SimMerge {
        SimMerge { plant }
    }
}

impl Merge for SimMerge {
    fn merge(&self, into: &mut Partial, mut from: Partial) -> Result<(), Mismatch> {
        match (self.plant, &mut from) {
            (Some(Plant::LoseCall), Partial::Functions(table)) => {
                if let Some(row) = table.rows.values_mut().next() {
                    // Of one call nothing is left that a node further up could lose.
                    row.time.count = row.time.count.saturating_sub(1);
                }
            }
            (Some(Plant::CountTwice), _) => {
                invivo_analysis::merge::merge.merge(into, from.clone())?
            }
            _ => {}
        }
        invivo_analysis::merge::merge.merge(into, from)
    }
}
