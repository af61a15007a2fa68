//! Calling contexts as OTF2 knows them: one number in the whole archive for equal paths of ranks,
//! which number their own.

use super::functions::{RegionOf, Regions};
use super::library::number;
use crate::saved::SavedObservation;
use crate::saved::format::{Context, FrameKind};
use std::collections::HashMap;

/// Numbers of the calling contexts of samples and of their callers, in the order in which they were
/// met, from 0 on without gaps: a caller's number is lower.
#[derive(Debug, Default)]
pub struct Contexts {
    /// By region, and the number of the caller.
    numbers: HashMap<(u32, u32), u32>,
    met: Vec<(u32, u32)>,
    /// What a rank calls them: locations of a rank follow each other.
    of_rank: HashMap<u32, u32>,
    rank: u32,
}

impl Contexts {
    /// The number of what a rank calls so.
    pub fn number(
        &mut self,
        of: &SavedObservation,
        rank: u32,
        own: u32,
        regions: &mut Regions,
    ) -> u32 {
        if rank != self.rank {
            self.of_rank.clear();
            self.rank = rank;
        }
        if let Some(known) = self.of_rank.get(&own) {
            return *known;
        }
        let mut parent = number::UNDEFINED;
        let chain = of.context_chain(rank, own);
        for context in &chain {
            let region = regions.number(region(of, context));
            parent = self.one(region, parent);
        }
        if chain.is_empty() {
            parent = self.one(regions.number(RegionOf::Unknown), parent);
        }
        self.of_rank.insert(own, parent);
        parent
    }

    fn one(&mut self, region: u32, parent: u32) -> u32 {
        let next = self.met.len() as u32;
        let this = *self.numbers.entry((region, parent)).or_insert(next);
        if this == next {
            self.met.push((region, parent));
        }
        this
    }

    /// Regions and callers, in the order of the numbers.
    pub fn met(&self) -> &[(u32, u32)] {
        &self.met
    }
}

/// What a sample met: of a function of MPI the region of its calls.
fn region(of: &SavedObservation, context: &Context) -> RegionOf {
    let name = &context.name;
    // Symbol tables have MPI_Send and PMPI_Send at one address.
    let by_the_other = name.strip_prefix('P').unwrap_or(name);
    let is_mpi = context.kind == FrameKind::Function && by_the_other.starts_with("MPI_");
    let functions = of.about().functions.iter();
    let known = is_mpi.then(|| functions.zip(0..).find(|(known, _)| *known == by_the_other));
    match known.flatten() {
        Some((_, number)) => RegionOf::Mpi(number),
        None => RegionOf::Sampled {
            name: context.called().to_owned(),
            module: context.module.clone(),
            kind: context.kind,
        },
    }
}
