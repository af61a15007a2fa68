//! Says what the regions are that stand in a timeline, a page of records or a save.
//!
//! A rank numbers its regions in the order in which it meets them. Marked ones have their names in
//! the definition; functions are looked up, as those of tables are.

use crate::analyses::Analyses;
use invivo_analysis::regions::What;
use invivo_proto::control::buffers::Row;
use invivo_proto::control::local::{Module, Named};
use invivo_proto::control::regions::RegionName;
use invivo_proto::control::timeline::OpenCall;
use invivo_proto::control::tree::Partial;
use invivo_proto::ids::{Rank, RegionId};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a name that are told: names of templates may be endless.
const NAME_BYTES_MAX: usize = 512;

/// Regions of ranks, by their numbers.
pub type Names = BTreeMap<RegionId, RegionName>;

/// An answer whose functions have no names yet.
pub struct Unnamed {
    pub partial: Partial,
    pub functions: Functions,
}

/// Regions of ranks that are functions in a file.
pub type Functions = BTreeMap<(Rank, RegionId), Function>;

/// A function in a file.
pub struct Function {
    module: Module,
    offset: u64,
}

/// Says what the regions in an answer are; functions, which are to be named, are given.
pub fn define(partial: &mut Partial, analyses: &Analyses) -> Functions {
    let mut functions = Functions::new();
    for (rank, wanted, names) in places(partial) {
        for met in analyses.regions_met(rank) {
            if wanted.as_ref().is_some_and(|of| !of.contains(&met.region)) {
                continue;
            }
            let is_function = !matches!(met.what, What::Marked(_));
            let name = match met.what {
                What::Marked(name) => cut(name).to_owned(),
                What::Nowhere => "(code in no file)".to_owned(),
                What::Function {
                    file,
                    module,
                    offset,
                } => {
                    let module = module.clone();
                    functions.insert((rank, met.region), Function { module, offset });
                    format!("{file}+{offset:#x}")
                }
            };
            let name = RegionName {
                name,
                is_function,
                ..RegionName::default()
            };
            names.insert(met.region, name);
        }
    }
    functions
}

impl Unnamed {
    /// The addresses that are to be named: the file, a rank that has it, and the address.
    pub fn code(&self) -> Vec<(&Module, Rank, u64)> {
        let functions = self.functions.iter();
        functions
            .map(|((rank, _), of)| (&of.module, *rank, of.offset))
            .collect()
    }

    /// The answer, with what is known at addresses.
    pub fn named(mut self, at: impl Fn(&Module, u64) -> Option<Vec<Named>>) -> Partial {
        for (rank, _, names) in places(&mut self.partial) {
            for (region, name) in names {
                let Some(of) = self.functions.get(&(rank, *region)) else {
                    continue;
                };
                // A function begins at no call of another: the last is the function itself.
                let known = at(&of.module, of.offset);
                let Some(known) = known.as_ref().and_then(|all| all.last()) else {
                    continue;
                };
                if !known.function.is_empty() {
                    name.name = cut(&known.function).to_owned();
                }
                name.line = cut(&known.line).to_owned();
            }
        }
        self.partial
    }
}

/// Where names belong: whose, which (all that the rank has met, without a choice), and where to.
fn places(partial: &mut Partial) -> Vec<(Rank, Option<BTreeSet<RegionId>>, &mut Names)> {
    let chosen = |rows: &[Row], open: &[OpenCall]| {
        let rows = rows.iter().filter(|row| row.is_region);
        let open = open.iter().map(|open| open.region);
        Some(rows.map(|row| row.facts.region).chain(open).collect())
    };
    match partial {
        Partial::Timeline(timeline) => {
            let pieces = timeline.pieces.iter_mut();
            pieces
                .map(|one| {
                    let chosen = chosen(&one.rows, &one.open_regions);
                    (one.location.rank, chosen, &mut one.regions)
                })
                .collect()
        }
        Partial::Records(records) => {
            let of = records.location.map(|location| location.rank);
            let of = of.map(|rank| (rank, chosen(&records.rows, &[]), &mut records.regions));
            of.into_iter().collect()
        }
        Partial::Saved(saved) => {
            let pieces = saved.page.iter_mut().flat_map(|page| &mut page.pieces);
            let firsts = pieces.filter(|one| one.location.thread == 0);
            let abouts = firsts.filter_map(|one| one.about.as_deref_mut());
            abouts
                .map(|about| (about.piece.location.rank, None, &mut about.piece.regions))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}
