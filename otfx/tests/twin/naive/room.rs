//! What goes when a bin is wanted and none is free.

use super::level::{Bin, Level};
use super::{Last, Naive};
use crate::size::Measure;
use invivo_otfx::{AtCap, Label, Reason};

/// A level of the strategy in force, or of a former one.
#[derive(Clone, Copy)]
pub(super) enum Which {
    Former(usize),
    Level(usize),
}

impl Naive {
    pub(super) fn open_bin(
        &mut self,
        level: usize,
        end: u64,
        posted: Option<u64>,
    ) -> Result<(), Reason> {
        if self.levels[level].closed {
            let samples = self.levels[level].samples();
            return Err(if samples { Reason::Closed } else { Reason::Cap });
        }
        self.levels[level].open = false;
        if let Some(cap) = self.strategy.event_cap
            && self.levels[level].holds_events()
        {
            let limit = u64::from(self.geometry.bins) * u64::from(cap.bins_permille) / 1000;
            let events = |naive: &Naive| -> u64 {
                let levels = naive.levels.iter().filter(|level| level.holds_events());
                levels.map(|level| level.bins.len() as u64).sum()
            };
            while events(self) >= limit {
                if cap.then == AtCap::Oldest {
                    self.make_room(level, true)?;
                    continue;
                }
                for index in 0..self.levels.len() {
                    if self.levels[index].holds_events() {
                        self.remove_all(Which::Level(index), Reason::Cap);
                        self.levels[index].closed = true;
                    }
                }
                self.dropped_at = Some(end);
                return Err(Reason::Cap);
            }
        }
        while self.free() == 0 {
            self.make_room(level, false)?;
        }
        let level = &mut self.levels[level];
        level.next_request = posted.unwrap_or(level.next_request);
        level.last_end = level.last_end.max(end);
        level.bins.push_back(Bin {
            id: self.bins_made,
            items: Vec::new(),
            measure: Measure::new(level.last_end, level.next_request),
        });
        level.open = true;
        self.bins_made += 1;
        Ok(())
    }

    pub(super) fn make_room(&mut self, wanting: usize, events_only: bool) -> Result<(), Reason> {
        if !events_only
            && let Some(index) = self.former.iter().position(|level| !level.bins.is_empty())
        {
            return self.remove_oldest(Which::Former(index));
        }
        for index in 0..=wanting {
            let level = &self.levels[index];
            let empty = level.bins.is_empty();
            match (level.samples(), level.closed) {
                (_, true) => {}
                (false, false) if events_only && !level.holds_events() => {}
                (false, false) if !empty => return self.remove_oldest(Which::Level(index)),
                (false, false) => {}
                (true, false) if events_only => {}
                (true, false) => {
                    if level.bins.front().is_some_and(|bin| self.held(bin.id)) {
                        return Err(Reason::Held);
                    }
                    let Label::Ordinal(lambda) = level.label else {
                        unreachable!("a level of samples")
                    };
                    self.halvings = u32::from(lambda) + 1;
                    self.remove_all(Which::Level(index), Reason::Room);
                    self.levels[index].closed = true;
                    if index == wanting {
                        return Err(Reason::Closed);
                    }
                    if !empty {
                        return Ok(());
                    }
                }
            }
        }
        Err(Reason::Room)
    }

    fn level(&mut self, which: Which) -> &mut Level {
        match which {
            Which::Former(index) => &mut self.former[index],
            Which::Level(index) => &mut self.levels[index],
        }
    }

    fn remove_oldest(&mut self, which: Which) -> Result<(), Reason> {
        let oldest = self.level(which).bins.front().expect("it has a bin").id;
        if self.held(oldest) {
            return Err(Reason::Held);
        }
        let level = self.level(which);
        let bin = level.bins.pop_front().expect("it has a bin");
        self.reductions += 1;
        let level = self.level(which);
        level.open &= !level.bins.is_empty();
        level.lose_bin(&bin, Reason::Room);
        if matches!(self.last, Last::Call { bin, .. } if bin == oldest) {
            self.last = Last::Gone;
        }
        Ok(())
    }

    pub(super) fn remove_all(&mut self, which: Which, reason: Reason) {
        if let (Which::Level(index), Last::Call { level, .. }) = (which, &self.last)
            && index == *level
        {
            self.last = Last::Gone;
        }
        let level = self.level(which);
        level.open = false;
        let bins = std::mem::take(&mut level.bins);
        self.reductions += u64::from(!bins.is_empty() && reason != Reason::Reset);
        for bin in bins {
            self.level(which).lose_bin(&bin, reason);
            if self.held(bin.id) {
                self.detached.insert(bin.id);
            }
        }
    }
}
