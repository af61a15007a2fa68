//! Reports a rank's ledger, coverage and state from its status pages and locations. Read-only.

use super::{RankRecords, slots};
use crate::memory::Memory;
use invivo_mpi_link::clock::NodeClock;
use invivo_proto::control::results::{Coverage, Ledger, RankState, RankStatus};
use invivo_proto::ids::RegionId;
use invivo_proto::mpi::{ABORT, is_initialisation};
use invivo_proto::shm::{Status, inside, phase};
use invivo_tbon::coverage;
use std::sync::atomic::Ordering;

impl RankRecords {
    /// Adds this rank's share to how much of the truth an answer is.
    pub fn add_coverage(
        &self,
        now_ticks: u64,
        duration_ns: impl Fn(u64) -> u64,
        coverage: &mut Coverage,
    ) {
        coverage.ranks += 1;
        coverage.packets_refused += self.packets_refused;
        for location in &self.locations {
            let counts = location.intake.counts();
            coverage.packets_mpi += counts.packets_mpi;
            coverage.packets_shm += counts.packets_shm;
            coverage.packets_refused += counts.packets_refused;
            coverage.payload_bytes += counts.payload_bytes;
            coverage.buffer_bytes += location.buffer_bytes();
        }

        let Some(memory) = &self.memory else { return };
        coverage.ranks_reporting +=
            u32::from(memory.page().phase.load(Ordering::Relaxed) != phase::SILENT);
        let (mut calls_ns, mut regions_ns) = (0, 0);
        for status in memory.locations() {
            let samples = status.overhead_samples.load(Ordering::Relaxed);
            let ticks = status.overhead_ticks.load(Ordering::Relaxed);
            let entered = status.entered.load(Ordering::Relaxed);
            let at_regions = status.region_ticks.load(Ordering::Relaxed);
            regions_ns += duration_ns(at_regions);
            // Our overhead is measured on some calls only and scaled to all of them.
            if samples != 0 {
                let scaled = u128::from(ticks) * u128::from(entered) / u128::from(samples);
                calls_ns += duration_ns(u64::try_from(scaled).unwrap_or(u64::MAX));
            }
        }
        // The rate of the clock gets better with time, and calls are scaled up.
        let (calls_before, regions_before) = self.cost_ns.get();
        let (calls_ns, regions_ns) = (calls_ns.max(calls_before), regions_ns.max(regions_before));
        self.cost_ns.set((calls_ns, regions_ns));
        coverage.overhead_regions_ns += regions_ns;
        coverage.overhead_ns += calls_ns + regions_ns;

        for slot in slots(memory) {
            let Some(location) = self.locations.get(usize::from(slot.location)) else {
                continue;
            };
            let (next, at) = location.intake.wants();
            if slot.sequence > next || (slot.sequence == next && slot.committed > at) {
                // Of the packet that is read now what was taken is not late.
                let taken_until = location
                    .intake
                    .taken_until()
                    .filter(|_| slot.sequence == next)
                    .unwrap_or(0);
                let age = now_ticks.saturating_sub(taken_until.max(slot.first_time));
                coverage.lag_ns = coverage.lag_ns.max(duration_ns(age));
            }
        }
    }

    /// Where the rank's records are, each term counted by itself.
    pub fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::default();
        let Some(memory) = &self.memory else {
            // Without shared memory (no supervisor attached) only the packets' headers are known.
            for location in &self.locations {
                let of_packets = Ledger {
                    entered: location.losses.entered,
                    dropped: location.losses.dropped,
                    ..location.taken()
                };
                coverage::add(&mut ledger, &location.balanced(of_packets, false));
            }
            return ledger;
        };
        // All pages, used or not: the last one counts the calls of threads without a location.
        for (thread, status) in memory.page().status.iter().enumerate() {
            coverage::add(&mut ledger, &self.ledger_of(memory, thread, status));
        }
        ledger
    }

    /// The ledger of one location. Its parts are looked at while its thread writes on: a look
    /// during which a call was entered is repeated, so that most are of one moment, and the others
    /// are taken for it.
    pub(super) fn ledger_of(&self, memory: &Memory, thread: usize, status: &Status) -> Ledger {
        const LOOKS_MAX: usize = 4;
        if self.is_lost {
            return lost(status);
        }
        let location = self.locations.get(thread);
        // The last record of a drained rank is that of the call that it is still in, and may have
        // been dropped.
        let is_drained = memory.page().phase.load(Ordering::Acquire) == phase::DRAINED;
        let is_open = |last_begin| !is_drained && is_open(status, last_begin);
        if location.is_none() && self.is_salvaged() {
            return lost(status);
        }
        let Some(location) = location else {
            let opened = status.packets.load(Ordering::Acquire);
            let open = u64::from(is_open(None));
            let dropped = status
                .dropped
                .each_ref()
                .map(|dropped| dropped.load(Ordering::Relaxed));
            let entered = status.entered.load(Ordering::Acquire);
            let known = open + dropped.iter().sum::<u64>();
            return Ledger {
                entered,
                open,
                dropped,
                // Nothing of it has been taken: what its packets hold is on the way, and where
                // there are none it is a page in no use, or one that only counts what it drops.
                in_flight: if opened == 0 {
                    0
                } else {
                    entered.saturating_sub(known)
                },
                ..Ledger::default()
            };
        };

        let mut looks = 0;
        loop {
            let entered = status.entered.load(Ordering::Acquire);
            let there: Vec<(u64, u32)> = slots(memory)
                .filter(|slot| usize::from(slot.location) == thread)
                .map(|slot| (slot.sequence, slot.records))
                .collect();
            let opened = status.packets.load(Ordering::Acquire);
            let ledger = Ledger {
                entered,
                open: u64::from(is_open(location.intake.last_begin())),
                in_flight: location.intake.in_flight(there.iter().copied()),
                dropped: status
                    .dropped
                    .each_ref()
                    .map(|dropped| dropped.load(Ordering::Relaxed)),
                ..location.taken()
            };

            looks += 1;
            let entered_since = status.entered.load(Ordering::Acquire);
            if looks == LOOKS_MAX || entered_since == entered {
                let between = location
                    .intake
                    .is_between(opened, there.iter().map(|(sequence, _)| *sequence));
                return location.balanced(of_one_moment(ledger, entered_since), between);
            }
        }
    }

    /// Calls entered so far.
    fn entered(&self) -> u64 {
        match &self.memory {
            Some(memory) => memory
                .page()
                .status
                .iter()
                .map(|status| status.entered.load(Ordering::Relaxed))
                .sum(),
            None => self
                .locations
                .iter()
                .map(|location| location.losses.entered)
                .sum(),
        }
    }

    /// Calls that were forgotten on request.
    fn forgotten(&self) -> u64 {
        let taken = self.locations.iter().map(|location| location.taken().reset);
        taken.sum()
    }

    /// What the rank's first thread is doing. Its time in MPI is left out: records and pauses tell
    /// it.
    pub fn status(&self, now_ticks: u64, clock: &NodeClock) -> RankStatus {
        let mut line = RankStatus {
            rank: self.rank,
            state: RankState::Starting,
            region: RegionId(0),
            since_ns: 0,
            // As the time in MPI: since the last reset.
            entered: self.entered().saturating_sub(self.forgotten()),
            mpi_ns: 0,
        };
        let Some(page) = self.memory.as_ref().map(Memory::page) else {
            return line;
        };
        if page.phase.load(Ordering::Acquire) == phase::STARTING {
            return line;
        }

        let status = &page.status[0];
        line.region = region(status);
        let last_end = self
            .locations
            .first()
            .and_then(|location| location.intake.last_end());
        line.state = match status.inside.load(Ordering::Acquire) {
            inside::MPI => RankState::InMpi,
            inside::HELD_AT_LEAVE if is_initialisation(line.region) => RankState::Held,
            inside::HELD_AT_ENTER | inside::HELD_AT_LEAVE => RankState::Paused,
            _ => RankState::Computing,
        };
        if line.region == RegionId(0) {
            // The call is not recorded, so its begin is not noted.
            return line;
        }

        let entered_at = status.entered_at.load(Ordering::Relaxed);
        // Outside MPI: since the end of the last call that was read, or its begin if that is not
        // read.
        let since = if line.state == RankState::InMpi {
            entered_at
        } else {
            entered_at.max(last_end.unwrap_or(0))
        };
        line.since_ns = clock.duration_ns(now_ticks.saturating_sub(since));
        line
    }

    /// The call that the rank's first thread is in; `MPI_Abort` where the rank called it, on
    /// whatever thread.
    pub fn inside(&self) -> Option<RegionId> {
        let page = self.memory.as_ref()?.page();
        if page.phase.load(Ordering::Acquire) == phase::ABORTING {
            return Some(ABORT);
        }
        let status = page.status.first()?;
        let is_inside = status.inside.load(Ordering::Acquire) == inside::MPI;
        is_inside.then(|| region(status))
    }
}

/// The ledger of a location whose place has lost what it had of it: what is neither under way nor
/// was dropped before.
fn lost(status: &Status) -> Ledger {
    let entered = status.entered.load(Ordering::Acquire);
    let open = u64::from(is_open(status, None)).min(entered);
    let dropped = status
        .dropped
        .each_ref()
        .map(|dropped| dropped.load(Ordering::Relaxed));
    let known = open + dropped.iter().sum::<u64>();
    Ledger {
        entered,
        open,
        dropped,
        dropped_by_place: entered.saturating_sub(known),
        ..Ledger::default()
    }
}

/// Whether a call was entered and not left. The page says so, unless it names none, or the one that
/// it names has been recorded already: then the thread is in a call that is not recorded, or
/// between its record and its way out.
fn is_open(status: &Status, last_begin: Option<u64>) -> bool {
    // The time before the region: of an unrecorded call the field holds another value than a time,
    // and then the region is read as 0.
    let entered_at = status.entered_at.load(Ordering::Acquire);
    status.inside.load(Ordering::Acquire) == inside::MPI
        && status.entered.load(Ordering::Relaxed) != 0
        && status.region.load(Ordering::Relaxed) != 0
        && last_begin != Some(entered_at)
}

/// The region on a status page; a number that is none is no function.
pub(super) fn region(status: &Status) -> RegionId {
    RegionId(u16::try_from(status.region.load(Ordering::Relaxed)).unwrap_or(0))
}

/// Corrects a ledger of which some terms were read later than `entered` (this process may have been
/// descheduled in between): it is of the moment at which as many calls had been entered as are
/// accounted for, where that is not after the second reading of `entered`.
fn of_one_moment(mut ledger: Ledger, entered_since: u64) -> Ledger {
    if let Err(imbalance) = coverage::balance(&ledger) {
        let latest = entered_since.max(ledger.entered);
        ledger.entered = imbalance.accounted.clamp(ledger.entered, latest);
    }
    ledger
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowly_read_counters_are_of_one_moment() {
        let ledger = |entered, kept| Ledger {
            entered,
            kept,
            ..Ledger::default()
        };
        for (kept, entered) in [(10, 10), (9, 10), (15, 15), (20, 20), (21, 20)] {
            assert_eq!(
                of_one_moment(ledger(10, kept), 20).entered,
                entered,
                "{kept}"
            );
            let quiet = of_one_moment(ledger(10, kept), 10);
            assert_eq!(quiet, ledger(10, kept), "nothing was entered meanwhile");
        }
    }
}
