//! A level of the twin: bins as they come, and all that it ever lost.

use super::{class_of, is_record};
use crate::size::Measure;
use invivo_otfx::{Contents, EventClass, Label, Reason};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Debug)]
pub(super) struct Bin {
    pub(super) id: u64,
    pub(super) items: Vec<Contents>,
    pub(super) measure: Measure,
}

impl Bin {
    pub(super) fn records(&self) -> impl Iterator<Item = &Contents> + Clone {
        self.items.iter().filter(|item| is_record(item))
    }
}

#[derive(Debug)]
pub(super) struct Level {
    pub(super) label: Label,
    pub(super) bins: VecDeque<Bin>,
    /// Whether the newest bin takes more.
    pub(super) open: bool,
    pub(super) closed: bool,
    pub(super) last_end: u64,
    pub(super) next_request: u64,
    pub(super) losses: Losses,
}

/// Records by class and reason, with their ends.
pub(super) type Losses = BTreeMap<(EventClass, Reason), Vec<u64>>;

impl Level {
    pub(super) fn new(label: Label) -> Level {
        Level {
            label,
            bins: VecDeque::new(),
            open: false,
            closed: false,
            last_end: 0,
            next_request: 0,
            losses: Losses::new(),
        }
    }

    pub(super) fn samples(&self) -> bool {
        matches!(self.label, Label::Ordinal(_))
    }

    pub(super) fn holds_events(&self) -> bool {
        !matches!(self.label, Label::Ordinal(_) | Label::Samples)
    }

    pub(super) fn lose(&mut self, class: EventClass, reason: Reason, end: u64) {
        self.losses.entry((class, reason)).or_default().push(end);
    }

    pub(super) fn lose_bin(&mut self, bin: &Bin, reason: Reason) {
        for record in bin.records() {
            self.lose(class_of(record), reason, record.head.end());
        }
    }
}
