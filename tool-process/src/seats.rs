//! The layout says which member of the tree sits in which process.

use invivo_mpi_link::seats::Seating;
use invivo_proto::ids::WorldRank;
use invivo_tbon::layout::Layout;

/// By this layout.
pub struct Seats(pub Layout);

impl Seating for Seats {
    fn process_of(&self, address: WorldRank) -> Option<WorldRank> {
        self.0.process_of(address)
    }

    fn address(&self, process: WorldRank, layer: u32) -> Option<WorldRank> {
        self.0.address(process, layer)
    }
}
