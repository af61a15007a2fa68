//! The loss ledger of a buffer: records kept, and records given up by level, class, reason and
//! time.

use crate::event::{EVENT_CLASSES, EventClass};
use crate::strategy::Label;

/// Why records are not in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reason {
    /// They made room, or there was none for them.
    Room = 0,
    /// Their level of samples was closed before they came.
    Closed = 1,
    /// Events reached their cap.
    Cap = 2,
    /// Strategies changed so often that their levels could no longer be told apart.
    Strategy = 3,
    /// They make no sense: a completion without its call, more values or bytes than a record may
    /// have.
    Refused = 4,
    /// A frozen view held what should have made room for them.
    Held = 5,
    /// They were forgotten on request.
    Reset = 6,
}

/// Number of [`Reason`]s.
pub const REASONS: usize = 7;

impl Reason {
    /// All of them, in order of their numbers.
    pub const ALL: [Reason; REASONS] = [
        Reason::Room,
        Reason::Closed,
        Reason::Cap,
        Reason::Strategy,
        Reason::Refused,
        Reason::Held,
        Reason::Reset,
    ];
}

/// Where the records are that were stored, each in exactly one place:
/// **stored = kept + reduced + dropped + reset**.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Records given to the buffer.
    pub stored: u64,
    /// Records in the buffer.
    pub kept: u64,
    /// Records given up by the strategy.
    pub reduced: u64,
    /// Records for which there was no room while a frozen view was held.
    pub dropped: u64,
    /// Records forgotten by a reset.
    pub reset: u64,
    /// Parts of kept calls for which there was no room. (Parts of calls that went are not counted.)
    pub parts_reduced: u64,
}

/// Records of one class that one level lost for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    pub level: Label,
    pub class: EventClass,
    pub reason: Reason,
    pub records: u64,
    /// The first of them ended no earlier than this, in ticks.
    pub first_end: u64,
    /// The last of them ended no later than this, in ticks.
    pub last_end: u64,
}

/// How many, and when.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    records: u64,
    first_end: u64,
    last_end: u64,
}

impl Row {
    fn add(&mut self, other: Row) {
        if other.records == 0 {
            return;
        }
        if self.records == 0 {
            *self = other;
            return;
        }
        self.records += other.records;
        self.first_end = self.first_end.min(other.first_end);
        self.last_end = self.last_end.max(other.last_end);
    }
}

/// One level's losses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses([[Row; REASONS]; EVENT_CLASSES]);

impl Losses {
    pub fn add(
        &mut self,
        class: EventClass,
        reason: Reason,
        records: u64,
        first_end: u64,
        last_end: u64,
    ) {
        self.0[class as usize][reason as usize].add(Row {
            records,
            first_end,
            last_end,
        });
    }

    pub fn merge(&mut self, other: &Losses) {
        for (mine, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            mine.add(*theirs);
        }
    }

    /// What there is, by class, then by reason.
    pub fn rows(&self, level: Label) -> impl Iterator<Item = Loss> + '_ {
        EventClass::ALL.into_iter().flat_map(move |class| {
            Reason::ALL.into_iter().filter_map(move |reason| {
                let row = self.0[class as usize][reason as usize];
                (row.records > 0).then_some(Loss {
                    level,
                    class,
                    reason,
                    records: row.records,
                    first_end: row.first_end,
                    last_end: row.last_end,
                })
            })
        })
    }
}
