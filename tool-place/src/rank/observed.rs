//! A rank of a saved observation: its page and its locations are made of what was saved.

use super::{Feed, RankRecords};
use crate::location::{Before, Both};
use crate::memory::{Memory, MemoryError};
use invivo_otfx::{Attributes, Pass, Sample};
use invivo_proto::control::results::{Ledger, RankState};
use invivo_proto::ids::{LocationId, RegionId};
use invivo_proto::mpi::INIT;
use invivo_proto::record::{Call, Part};
use invivo_proto::shm::{LOCATIONS_MAX, inside, phase};
use invivo_tbon::coverage;
use std::sync::atomic::Ordering;

/// What an observation says of a location beside its calls. Times are job time in ns, which are the
/// ticks here.
#[derive(Clone, Copy, Debug)]
pub struct ObservedLocation {
    pub id: LocationId,
    /// What its rank was doing.
    pub state: RankState,
    /// The call that it was in: the function, when it was entered, and which of the location's
    /// threads was in it.
    pub open: Option<(RegionId, u64, u32)>,
    /// Where its calls were.
    pub ledger: Ledger,
    /// Of what ended later nothing is missing; nothing if none was given up.
    pub gone_until_ns: Option<u64>,
    /// When the last sample was taken that was given up, where the newest are kept.
    pub samples_gone_until_ns: Option<u64>,
}

/// What a buffer kept.
#[derive(Clone, Copy, Debug)]
pub enum Kept<'a> {
    /// A call with its parts.
    Call(&'a Call, &'a [Part]),
    /// Of a call that was given up: when it ended, and more of what it completed.
    Rest(u64, &'a [Part]),
    /// A visit of a region.
    Region(&'a Pass),
    /// A sample.
    Sample(&'a Sample<'a>),
}

impl RankRecords {
    /// Makes one of its locations, with the memory that feeds give to the next one.
    ///
    /// # Errors
    /// When there is no memory for the rank's page.
    pub fn remember(
        &mut self,
        of: &ObservedLocation,
        ranks: u32,
        feed: &mut Feed,
    ) -> Result<(), MemoryError> {
        let thread = usize::from(of.id.thread).min(LOCATIONS_MAX - 1);
        if self.memory.is_none() {
            self.attach(Memory::blank(self.rank.0, ranks)?);
        }
        self.location(thread, feed);
        let location = &mut self.locations[thread];
        location.before = Before {
            gone_until: of.gone_until_ns,
            samples_gone_until: of.samples_gone_until_ns,
            reduced: of.ledger.reduced,
        };
        // What the buffer here gives up, if anything, comes on top.
        location.store.recall(&Ledger {
            reduced: of.ledger.reduced,
            reset: of.ledger.reset,
            dropped_by_place: of.ledger.dropped_by_place,
            ..Ledger::default()
        });
        let Some(page) = self.memory.as_ref().map(Memory::page) else {
            return Ok(());
        };
        let in_phase = match of.state {
            RankState::Starting => phase::STARTING,
            _ => phase::RUNNING,
        };
        page.phase.store(in_phase, Ordering::Relaxed);
        let locations = thread as u32 + 1;
        page.locations.fetch_max(locations, Ordering::Relaxed);
        let status = &page.status[thread];
        status.entered.store(of.ledger.entered, Ordering::Relaxed);
        for (to, calls) in status.dropped.iter().zip(of.ledger.dropped) {
            to.store(calls, Ordering::Relaxed);
        }
        let (region, begin) = match of.open {
            Some((region, begin, occupant)) => {
                page.occupants[thread].store(occupant, Ordering::Relaxed);
                (region, begin)
            }
            None if of.state == RankState::Held => (INIT, 0),
            None => (RegionId(0), 0),
        };
        status.region.store(region.0.into(), Ordering::Relaxed);
        status.entered_at.store(begin, Ordering::Relaxed);
        let is_inside = match (of.open, of.state) {
            (Some(_), _) | (None, RankState::InMpi) => inside::MPI,
            (None, RankState::Paused) => inside::HELD_AT_ENTER,
            (None, RankState::Held) => inside::HELD_AT_LEAVE,
            (None, _) => inside::APPLICATION,
        };
        status.inside.store(is_inside, Ordering::Relaxed);
        Ok(())
    }

    /// A call of one of its locations, with times in job time, of which what lies behind `since`
    /// counts; only more of what a call completed,
    /// up to the end of that, where the call itself was given up.
    pub fn observe(
        &mut self,
        (thread, occupant): (usize, u32),
        kept: Kept<'_>,
        attributes: Attributes,
        since: u64,
        feed: &mut Feed,
    ) {
        let Some(location) = self.locations.get_mut(thread) else {
            return;
        };
        if location.store.occupant() != occupant {
            location.store.begin_occupant(occupant);
        }
        let mut both = Both {
            cuts: &mut feed.cuts,
            cut_off: &mut location.cut_off,
            store: &mut location.store,
            analyses: feed.analyses.sink(super::id(self.rank, thread)),
        };
        match kept {
            Kept::Call(call, parts) => both.saved(call, parts, attributes, since),
            Kept::Rest(end, parts) => both.saved_rest(end, parts, since),
            Kept::Region(pass) => both.saved_region(pass, attributes),
            Kept::Sample(sample) => {
                self.samples.newest = self.samples.newest.max(sample.time);
                both.saved_sample(sample);
            }
        }
    }

    /// All calls have come. Those of the ledger that have not are what the interval left out, but
    /// for those that were in flight.
    pub fn settle(&mut self, of: &ObservedLocation) {
        let thread = usize::from(of.id.thread);
        let Some(memory) = &self.memory else { return };
        let Some(status) = memory.page().status.get(thread) else {
            return;
        };
        let ledger = self.ledger_of(memory, thread, status);
        let accounted = match coverage::balance(&ledger) {
            Ok(()) => ledger.entered,
            Err(imbalance) => imbalance.accounted,
        };
        let left_out = ledger
            .entered
            .saturating_sub(accounted)
            .saturating_sub(of.ledger.in_flight);
        // A packet that was opened and has not come: what is missing then is on its way.
        let opened = u64::from(of.ledger.in_flight != 0);
        status.packets.store(opened, Ordering::Relaxed);
        if let Some(location) = self.locations.get_mut(thread) {
            location.store.recall(&Ledger {
                reset: left_out,
                ..Ledger::default()
            });
        }
    }
}
