//! What one rank records: a bit for each function and region that it does not.

use crate::gates;
use crate::memory::Memory;
use crate::place::code_queries::CodeQueries;
use crate::place::local_ranks::LocalRanks;
use invivo_analysis::regions::{Met, What};
use invivo_proto::control::local::Named;
use invivo_proto::control::selection::{Fits, Known, Rule, SelectionStatus, judge, off_at_first};
use invivo_proto::ids::{Rank, RegionId};
use invivo_proto::shm::OFF_WORDS;
use std::collections::BTreeMap;

/// Decisions about the regions of a rank.
pub struct OfRank {
    /// Whether each is recorded, and by which rule.
    decided: BTreeMap<RegionId, (bool, Option<usize>)>,
    /// Regions met, and names learned, when it was last tried.
    tried: (usize, u64),
    /// As in the rank's memory.
    off: [u64; OFF_WORDS],
}

impl Default for OfRank {
    fn default() -> OfRank {
        OfRank {
            decided: BTreeMap::new(),
            tried: (0, 0),
            off: [0; OFF_WORDS],
        }
    }
}

impl OfRank {
    /// These rules are in force from here on. Until regions are decided about, those keep to what
    /// held for them, and new ones do what holds for one of which nothing is known.
    pub fn begin(&mut self, rules: &[Rule]) {
        let met: Vec<RegionId> = self.decided.keys().copied().collect();
        self.decided.clear();
        let kept: Vec<(RegionId, bool)> = met.into_iter().map(|at| (at, self.is_off(at))).collect();
        self.off = off_at_first(rules);
        for (region, is_off) in kept {
            self.set(region, !is_off);
        }
    }

    /// Decides about the regions whose names are known, and has the others looked up, where there
    /// are new ones or new names. Now and then, as `again` says, whatever is there; and of regions
    /// that are recorded how long they take is looked at again then.
    pub fn decide(
        &mut self,
        rank: Rank,
        rules: &[Rule],
        again: bool,
        names: &mut CodeQueries,
        local: &LocalRanks,
    ) {
        let analyses = &local.feed.analyses;
        let is_short = |rule: &Rule| matches!(rule.fits, Fits::Short { .. });
        let times = again && rules.iter().any(is_short);
        let tried = (analyses.regions_met_count(rank), names.learned());
        let is_idle = tried.0 == self.decided.len() || !again && tried == self.tried;
        if is_idle && !times {
            return;
        }
        self.tried = tried;
        let needs_names = rules.iter().any(|rule| rule.fits.needs_names());
        for met in analyses.regions_met(rank) {
            let before = self.decided.get(&met.region).copied();
            if before.is_some_and(|(is_on, _)| !(times && is_on)) {
                continue;
            }
            if let Some(decided) = judged(rank, rules, &met, needs_names, names) {
                self.decided.insert(met.region, decided);
                self.set(met.region, decided.0);
            }
        }
    }

    /// Adds how many of the regions that were met are recorded.
    pub fn count(&self, met: u64, status: &mut SelectionStatus) {
        for (is_on, by) in self.decided.values() {
            match is_on {
                true => status.regions_on += 1,
                false => status.regions_off += 1,
            }
            if let Some((_, regions)) = by.and_then(|by| status.rules.get_mut(by)) {
                *regions += 1;
            }
        }
        status.undecided += met.saturating_sub(self.decided.len() as u64);
    }

    /// Tells the rank.
    pub fn write(&self, memory: &Memory) {
        gates::select(memory, &self.off);
    }

    fn is_off(&self, region: RegionId) -> bool {
        let word = self.off.get(usize::from(region.0 / 64));
        word.is_some_and(|word| word >> (region.0 % 64) & 1 != 0)
    }

    fn set(&mut self, region: RegionId, is_on: bool) {
        if let Some(word) = self.off.get_mut(usize::from(region.0 / 64)) {
            let bit = 1 << (region.0 % 64);
            *word = if is_on { *word & !bit } else { *word | bit };
        }
    }
}

/// Has the names of a rank's regions looked up; whether all are known.
pub fn look_up(rank: Rank, names: &mut CodeQueries, local: &LocalRanks) -> bool {
    let mut are_known = true;
    for met in local.feed.analyses.regions_met(rank) {
        if let What::Function { module, offset, .. } = met.what {
            are_known &= names.look_up(module, rank, offset).is_some();
        }
    }
    are_known
}

/// Whether a region is recorded, and by which rule; nothing while its name is looked up.
fn judged(
    rank: Rank,
    rules: &[Rule],
    met: &Met<'_>,
    needs_names: bool,
    names: &mut CodeQueries,
) -> Option<(bool, Option<usize>)> {
    let mut known = Known {
        visits: met.visits,
        mean_ns: met.time_ns.checked_div(met.visits).unwrap_or(0),
        ..Known::default()
    };
    match &met.what {
        What::Marked(name) => known.name = name,
        What::Nowhere => {}
        What::Function {
            file,
            module,
            offset,
        } => {
            known.module = file;
            if needs_names {
                // The outermost of those that were inlined there is the function itself.
                let named = names.look_up(module, rank, *offset)?.last();
                known.name = named.map_or("", |named| &named.function);
                known.source = named.map_or("", source);
            }
            return Some(judge(rules, &known));
        }
    }
    Some(judge(rules, &known))
}

/// The file of a source line, as in `solve.c:12`.
fn source(named: &Named) -> &str {
    named.line.rsplit_once(':').map_or("", |(file, _)| file)
}
