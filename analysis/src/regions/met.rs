//! The regions that a rank has met, for those who choose among them.

use super::row::Row;
use super::{Known, OfRank, Regions, row_of};
use crate::rank_rows::Sum;
use alloc::string::String;
use invivo_proto::control::local::Module;
use invivo_proto::control::sites::Place;
use invivo_proto::ids::{Rank, RegionId};

/// A region that a rank has met, and how it has done there so far.
#[derive(Clone, Debug)]
pub struct Met<'a> {
    pub region: RegionId,
    pub what: What<'a>,
    pub visits: u64,
    /// Time of the visits that have ended, and of open ones what rows had when they were taken;
    /// with what lies below, in ns.
    pub time_ns: u64,
}

/// What it is.
#[derive(Clone, Debug)]
pub enum What<'a> {
    /// The program marks it by this name.
    Marked(&'a str),
    /// A function: its file's name, the file, and the address in it.
    Function {
        file: String,
        module: &'a Module,
        offset: u64,
    },
    /// A function in no file.
    Nowhere,
}

impl Regions {
    /// How many regions a rank has met.
    pub fn met_count(&self, rank: Rank) -> usize {
        self.met_by(rank).map_or(0, |of| of.known.len())
    }

    /// The regions that a rank has met.
    pub fn met(&self, rank: Rank) -> impl Iterator<Item = Met<'_>> {
        let of_rank = self.met_by(rank);
        let known = of_rank.into_iter().flat_map(|of| &of.known);
        known.map(move |(region, known)| {
            let at = row_of(*region);
            let rows = of_rank.map(|of| [of.rows.get(at), of.taken.get(at)]);
            let rows = rows.into_iter().flatten().flatten();
            let mut so_far = Row::default();
            rows.for_each(|row| so_far.add(row));
            Met {
                region: *region,
                what: self.what(rank, known),
                visits: so_far.visits,
                time_ns: so_far.all.ns,
            }
        })
    }

    fn what<'a>(&'a self, rank: Rank, known: &'a Known) -> What<'a> {
        match known {
            Known::Marked(name) => What::Marked(name),
            Known::Function(number, at) => match self.files.place(rank, *number, *at) {
                (Place::Code { file, offset, .. }, Some(module)) => What::Function {
                    file,
                    module,
                    offset,
                },
                _ => What::Nowhere,
            },
        }
    }

    fn met_by(&self, rank: Rank) -> Option<&OfRank> {
        self.ranks.iter().find(|of| of.rank == rank)
    }
}
