//! Regions of the program: time between two records of a thread goes to the region that it is in.

use super::{Analyses, OneSink};
use crate::cuts::Cuts;
use invivo_analysis::regions::{Met, Spent, Visit};
use invivo_proto::control::analyses::Analysis;
use invivo_proto::ids::{LocationId, Rank, RegionId};
use invivo_proto::record::OpenRegion;

impl Analyses {
    /// The regions that a rank has met.
    pub fn regions_met(&self, rank: Rank) -> impl Iterator<Item = Met<'_>> {
        self.regions.met(rank)
    }

    /// How many these are.
    pub fn regions_met_count(&self, rank: Rank) -> usize {
        self.regions.met_count(rank)
    }

    /// The regions of a thread that are open, and when each was entered (ticks).
    pub fn regions_open(&self, of: LocationId) -> impl Iterator<Item = (RegionId, u64)> {
        self.regions.open(of)
    }
}

impl OneSink<'_> {
    /// Whether some rank of the place has regions at all.
    #[inline(always)]
    pub fn has_regions(&self) -> bool {
        self.analyses.has_regions
    }

    /// Records are missing before what follows, or that is another thread's: which regions are
    /// open is not known, and how long an iteration is.
    pub fn interrupt(&mut self) {
        self.interrupt_iterations();
        let location = self.location();
        if self.has_regions() {
            self.analyses.regions.lose(location);
        }
    }

    /// Records of the thread are missing, or may be: how long an iteration is is not known.
    pub fn interrupt_iterations(&mut self) {
        let location = self.location();
        self.analyses.sites.interrupt(location);
    }

    /// The thread goes on until then (ticks), in MPI or not. What was planned up to then has taken
    /// effect.
    pub fn spend(&mut self, cuts: &Cuts, until: u64, in_mpi: bool) {
        let location = self.location();
        let analyses = &mut *self.analyses;
        let Some(since) = analyses.regions.inside_since(location) else {
            return;
        };
        if until <= since {
            return;
        }
        let share = analyses.switches.judge(since, until);
        let mut ticks = 0;
        if share.on.contains(Analysis::Regions) {
            let from = since.max(share.from[Analysis::Regions as usize]);
            let pauses = &analyses.ranks[self.index].pauses;
            for (begin, end) in cuts.parts(from, until) {
                ticks += pauses.net(begin, end).ticks;
            }
        } else {
            // Ranks do not say what they enter and leave while nobody wants to know.
            return analyses.regions.lose(location);
        }
        let ns = analyses.clock.duration_ns(ticks);
        let mpi_ns = if in_mpi { ns } else { 0 };
        let spent = Spent { ns, mpi_ns };
        analyses.regions.spend(location, until, spent);
    }

    /// The thread enters a region.
    pub fn enter(&mut self, cuts: &Cuts, time: u64, region: RegionId) {
        self.spend(cuts, time, false);
        let share = self.analyses.switches.judge(time, time);
        let is_recorded = cuts.parts(time, time + 1).next().is_some();
        let counts = is_recorded && share.on.contains(Analysis::Regions);
        let location = self.location();
        self.analyses.has_regions = true;
        self.analyses.regions.enter(location, region, time, counts);
    }

    /// The thread leaves the region that it entered last; the visit that has ended.
    pub fn leave(&mut self, cuts: &Cuts, time: u64) -> Option<Visit> {
        self.spend(cuts, time, false);
        let location = self.location();
        self.analyses.regions.leave(location, time)
    }

    /// How many regions of the thread are open.
    #[inline]
    pub fn depth(&mut self) -> u8 {
        let location = self.location();
        match self.has_regions() {
            true => self.analyses.regions.depth(location),
            false => 0,
        }
    }

    /// The thread says which regions are open.
    pub fn open(&mut self, cuts: &Cuts, time: u64, open: &[OpenRegion]) {
        let location = self.location();
        self.analyses.has_regions = true;
        // Where something is missing, nobody knows what it has done meanwhile.
        if self.analyses.regions.is_open(location, open) {
            self.spend(cuts, time, false);
        }
        self.analyses.regions.follow(location, time, open);
    }

    #[inline(always)]
    pub(super) fn location(&self) -> LocationId {
        LocationId {
            rank: self.rank,
            thread: self.thread,
        }
    }
}
