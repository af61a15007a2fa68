//! What the twin says of itself, by looking at everything.

use super::level::{Bin, Level};
use super::{Naive, class_of, is_record};
use invivo_otfx::{Contents, EventClass, Label, Ledger, LevelStatus, Reason};
use std::collections::BTreeMap;

impl Naive {
    /// How many records each level lost, by class and reason, and the first and the last of their
    /// ends.
    pub fn lost(&self) -> BTreeMap<(Label, EventClass, Reason), (u64, u64, u64)> {
        let mut all: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for (label, losses) in self.losses() {
            for ((class, reason), ends) in losses {
                all.entry((label, *class, *reason))
                    .or_default()
                    .extend(ends);
            }
        }
        let row = |ends: &Vec<u64>| {
            let (first, last) = (ends.iter().min(), ends.iter().max());
            (
                ends.len() as u64,
                *first.expect("not empty"),
                *last.expect("not empty"),
            )
        };
        all.iter().map(|(key, ends)| (*key, row(ends))).collect()
    }

    /// What each level tells: its label, whether it is of an earlier strategy and whether it is
    /// closed, its bins, its records by class, and the end of the last that it gave up.
    pub fn levels(&self) -> Vec<LevelStatus> {
        let status = |(index, level): (usize, &Level)| {
            let records = |class| {
                level
                    .bins
                    .iter()
                    .flat_map(Bin::records)
                    .filter(move |r| class_of(r) == class)
            };
            LevelStatus {
                label: level.label,
                former: index < self.former.len(),
                closed: level.closed && index >= self.former.len(),
                bins: level.bins.len() as u32,
                kept: EventClass::ALL.map(|class| records(class).count() as u64),
                gone_until: level.losses.values().flatten().max().copied(),
            }
        };
        self.all().enumerate().map(status).collect()
    }

    pub fn ledger(&self) -> Ledger {
        let mut ledger = Ledger {
            stored: self.stored,
            kept: self
                .all()
                .flat_map(|level| &level.bins)
                .map(|bin| bin.records().count() as u64)
                .sum(),
            parts_reduced: self.parts_reduced,
            ..Ledger::default()
        };
        for ((_, reason), ends) in self.losses().flat_map(|(_, losses)| losses) {
            let records = ends.len() as u64;
            match reason {
                Reason::Held => ledger.dropped += records,
                Reason::Reset => ledger.reset += records,
                _ => ledger.reduced += records,
            }
        }
        ledger
    }

    /// Bins in use, and their bytes.
    pub fn used(&self) -> (usize, usize) {
        let bins = self.all().flat_map(|level| &level.bins);
        (bins.clone().count(), bins.map(|bin| bin.measure.used).sum())
    }

    /// The ends of the oldest and the newest kept record.
    pub fn span(&self) -> Option<(u64, u64)> {
        let bins = self.all().flat_map(|level| &level.bins);
        let ends = bins.flat_map(Bin::records).map(|record| record.head.end());
        ends.clone().min().zip(ends.max())
    }

    /// All that is kept: each level's records with their continuations joined, then sorted by their
    /// end.
    pub fn kept(&self) -> Vec<Contents> {
        let mut all = Vec::new();
        for level in self.all() {
            let mut joined: Vec<Contents> = Vec::new();
            for item in level.bins.iter().flat_map(|bin| &bin.items) {
                match joined.last_mut() {
                    Some(before) if !is_record(item) => before.parts.extend(&item.parts),
                    _ => joined.push(item.clone()),
                }
            }
            all.extend(joined);
        }
        all.sort_by_key(|item| item.head.end());
        all
    }
}
