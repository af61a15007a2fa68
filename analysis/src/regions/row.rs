//! What is counted of one region of one rank.

use crate::rank_rows::Sum;
use alloc::vec::Vec;
use invivo_proto::control::regions::RegionStats;
use invivo_proto::ids::Rank;

/// Time that a thread has spent, in ns: all of it, and in MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub ns: u64,
    pub mpi_ns: u64,
}

impl Spent {
    pub(super) fn add(&mut self, more: Spent) {
        self.ns = self.ns.saturating_add(more.ns);
        self.mpi_ns = self.mpi_ns.saturating_add(more.mpi_ns);
    }

    pub(super) fn since(self, before: Spent) -> Spent {
        Spent {
            ns: self.ns.saturating_sub(before.ns),
            mpi_ns: self.mpi_ns.saturating_sub(before.mpi_ns),
        }
    }
}

/// One region of one rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    pub(super) visits: u64,
    pub(super) all: Spent,
    pub(super) own: Spent,
}

impl Sum for Row {
    fn add(&mut self, more: &Row) {
        self.visits = self.visits.saturating_add(more.visits);
        self.all.add(more.all);
        self.own.add(more.own);
    }
}

impl Row {
    pub(super) fn is_empty(&self) -> bool {
        self.visits == 0 && self.all == Spent::default()
    }

    pub(super) fn stats(&self, rank: Rank) -> RegionStats {
        let Spent { ns, mpi_ns } = self.all;
        RegionStats {
            visits: self.visits,
            time_ns: ns,
            own_ns: self.own.ns,
            mpi_ns,
            own_mpi_ns: self.own.mpi_ns,
            ranks: 1,
            most: (rank, ns),
            least: (rank, ns),
            off: 0,
            named: Vec::new(),
        }
    }
}
