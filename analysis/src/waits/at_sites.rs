//! Waiting of one rank by where in the program it waits.

use super::causers;
use hashbrown::HashMap;
use invivo_proto::control::sites::{Causer, SiteWaits};
use invivo_proto::control::wait_states::{WaitState, Waited};
use invivo_proto::ids::{Rank, RegionId, SiteId};
use rustc_hash::FxBuildHasher;

/// Rows of a rank: programs call MPI from some hundred places. What it waits at further ones counts
/// as at other sites. 1 MB at most; two states of some fifty sites are 20 kB.
pub const ROWS_MAX: usize = 1 << 12;

/// The call in which somebody waits: the function, and where it is called.
pub type At = (RegionId, SiteId);
/// In which way, and for whom, if for somebody.
pub type Why = (WaitState, Option<Rank>);

/// One rank's.
#[derive(Clone, Debug, Default)]
pub struct AtSites(HashMap<(At, WaitState), SiteWaits, FxBuildHasher>);

impl AtSites {
    /// The rank waited, once or more often, for one rank or for nobody.
    #[inline]
    pub fn charge(&mut self, (region, mut site): At, (state, causer): Why, waited: &Waited) {
        if self.0.len() >= ROWS_MAX && !self.0.contains_key(&((region, site), state)) {
            // The functions are few: these rows come to an end.
            site = SiteId::OTHERS;
        }
        let row = self.0.entry(((region, site), state)).or_default();
        row.waited.add(waited);
        if let Some(rank) = causer {
            let ns = waited.ns;
            causers::add(&mut row.causers, Causer { rank, ns });
        }
    }

    /// Adds what the rank waited at other times.
    pub fn add(&mut self, from: &AtSites) {
        for (&((region, mut site), state), waits) in &from.0 {
            if self.0.len() >= ROWS_MAX && !self.0.contains_key(&((region, site), state)) {
                site = SiteId::OTHERS;
            }
            merge(self.0.entry(((region, site), state)).or_default(), waits);
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All rows, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (At, WaitState, &SiteWaits)> {
        self.0
            .iter()
            .map(|((at, state), waits)| (*at, *state, waits))
    }
}

/// Adds waiting of other ranks in the same way at the same site.
pub fn merge(into: &mut SiteWaits, from: &SiteWaits) {
    into.waited.add(&from.waited);
    causers::merge(&mut into.causers, &from.causers);
}
