//! The twin: records as plain values in bins that are elements of a `VecDeque`. What a record takes
//! it learns from [`crate::size`]; what goes it decides by looking at everything.

mod level;
mod room;
mod told;
mod view;

use crate::size::Measure;
use invivo_otfx::{
    Attributes, Contents, EventClass, Geometry, Head, Label, Reason, Stored, Strategy,
};
use invivo_proto::record::Part;
use level::{Level, Losses};
use room::Which;
use std::collections::BTreeSet;
use view::View;

/// No record carries more parts; see [`invivo_proto::record::MAX_PARTS`].
const MAX_PARTS: usize = 256;
/// What a head and a part take at most.
const HEAD_MAX: usize = 128;
const PART_MAX: usize = 64;

pub fn class_of(contents: &Contents) -> EventClass {
    match contents.head {
        Head::Call(_) | Head::Rest { .. } => EventClass::Call,
        Head::Region(_) => EventClass::Region,
        Head::Sample { .. } => EventClass::Sample,
        Head::Metric { .. } => EventClass::Metric,
        Head::Opaque { class, .. } => class,
    }
}

fn is_record(contents: &Contents) -> bool {
    !matches!(contents.head, Head::Rest { .. })
}

#[derive(Debug)]
enum Last {
    Gone,
    Call { level: usize, bin: u64 },
    Over,
}

#[derive(Debug)]
pub struct Naive {
    pub strategy: Strategy,
    geometry: Geometry,
    levels: Vec<Level>,
    former: Vec<Level>,
    earlier: Losses,
    stored: u64,
    parts_reduced: u64,
    pub reductions: u64,
    last: Last,
    pub iteration: u64,
    pub occupant: u32,
    iterations: u64,
    pub halvings: u32,
    pub dropped_at: Option<u64>,
    bins_made: u64,
    pub frozen: Option<View>,
    /// Bins that only the view has.
    detached: BTreeSet<u64>,
}

impl Naive {
    pub fn new(strategy: Strategy, geometry: Geometry) -> Self {
        Naive {
            levels: strategy.labels().into_iter().map(Level::new).collect(),
            strategy,
            geometry,
            former: Vec::new(),
            earlier: Losses::new(),
            stored: 0,
            parts_reduced: 0,
            reductions: 0,
            last: Last::Gone,
            iteration: 0,
            occupant: 0,
            iterations: 0,
            halvings: 0,
            dropped_at: None,
            bins_made: 0,
            frozen: None,
            detached: BTreeSet::new(),
        }
    }

    /// Stores a record, given as it would be read back but for its end and its marks.
    pub fn store(
        &mut self,
        mut contents: Contents,
        duration: u64,
        ordinal: u64,
        refused: bool,
    ) -> Stored {
        self.stored += 1;
        let class = class_of(&contents);
        let is_call = matches!(contents.head, Head::Call(_));
        if !is_call && matches!(self.last, Last::Call { .. }) {
            self.last = Last::Over;
        }
        if !matches!(contents.head, Head::Opaque { .. }) {
            contents.iteration = self.iteration;
            contents.occupant = self.occupant;
        }
        let attributes = Attributes {
            depth: contents.depth,
            clipped: contents.clipped,
        };
        let level = crate::policy::level(
            &self.strategy,
            class,
            attributes,
            duration,
            ordinal,
            self.iteration,
        );
        let gone = self.gone();
        let end = contents.head.end();
        if refused {
            return self.refuse(level, class, Reason::Refused, end, gone, is_call);
        }
        let kept = normal(contents.clone(), self.levels[level].last_end);
        if self.levels[level].open && self.whole(level, &kept, kept.parts.len()) {
            self.stored_in(level, is_call);
            return Stored {
                kept: true,
                given_up: 0,
            };
        }
        if is_call {
            self.last = Last::Gone;
        }
        let posts = |part: &&Part| part.facts.kind.posts();
        let of_head = match kept.head {
            Head::Call(call) if call.facts.kind.posts() => Some(call.request),
            _ => None,
        };
        let posted = of_head.or_else(|| kept.parts.iter().find(posts).map(|part| part.request));
        if let Err(reason) = self.open_bin(level, end, posted) {
            let wanting = &mut self.levels[level];
            wanting.next_request = posted.unwrap_or(wanting.next_request);
            return self.refuse(level, class, reason, end, gone, is_call);
        }
        if self.whole(level, &kept, kept.parts.len()) {
            self.stored_in(level, is_call);
            return Stored {
                kept: true,
                given_up: self.gone() - gone,
            };
        }
        // The bin is still empty: from the beginning.
        let emptied = &mut self.levels[level];
        emptied.open = true;
        let measure = Measure::new(emptied.last_end, emptied.next_request);
        emptied.bins.back_mut().expect("just made").measure = measure;
        let room = self.geometry.bin_bytes - invivo_otfx::BIN_HEAD_BYTES;
        let fit = kept
            .parts
            .len()
            .min(MAX_PARTS)
            .min((room - HEAD_MAX) / PART_MAX);
        assert!(self.whole(level, &kept, fit));
        self.stored_in(level, true);
        let parts_reduced = self.parts_reduced;
        self.store_more(&contents.parts[fit..]);
        let kept = matches!(self.last, Last::Call { .. });
        Stored {
            kept: kept && parts_reduced == self.parts_reduced,
            given_up: self.gone() - gone - u64::from(!kept),
        }
    }

    fn refuse(
        &mut self,
        level: usize,
        class: EventClass,
        reason: Reason,
        end: u64,
        gone: u64,
        is_call: bool,
    ) -> Stored {
        if is_call {
            self.last = Last::Gone;
        }
        let given_up = self.gone() - gone;
        self.levels[level].lose(class, reason, end);
        Stored {
            kept: false,
            given_up,
        }
    }

    fn stored_in(&mut self, level: usize, is_call: bool) {
        if is_call {
            let bin = self.levels[level]
                .bins
                .back()
                .expect("it was stored there")
                .id;
            self.last = Last::Call { level, bin };
        }
    }

    /// Tries the open bin with so many parts of the record (the rest apart from it, if it is all of
    /// them).
    fn whole(&mut self, level: usize, contents: &Contents, parts: usize) -> bool {
        let room = self.geometry.bin_bytes;
        let level = &mut self.levels[level];
        let bin = level.bins.back_mut().expect("an open level has a bin");
        let measure = &mut bin.measure;
        let used = measure.used;
        let beside = parts.min(MAX_PARTS);
        measure.record(contents, beside);
        let mut fits = measure.used <= room;
        let mut rest = &contents.parts[beside..parts];
        while fits && !rest.is_empty() {
            let fit = surely(measure, room, rest);
            fits = fit > 0;
            if fits {
                measure.more(&rest[..fit]);
                rest = &rest[fit..];
            }
        }
        if !fits {
            // Nothing else of it is looked at in a bin that is closed.
            measure.used = used;
            level.open = false;
            return false;
        }
        let mut item = contents.clone();
        item.parts.truncate(parts);
        level.last_end = item.head.end();
        level.next_request = measure.next_request;
        bin.items.push(item);
        true
    }

    pub fn store_more(&mut self, mut parts: &[Part]) {
        let room = self.geometry.bin_bytes;
        while !parts.is_empty() {
            let level = match self.last {
                Last::Call { level, .. } => level,
                Last::Gone => return,
                Last::Over => {
                    self.parts_reduced += parts.len() as u64;
                    return;
                }
            };
            let end = self.levels[level].last_end;
            if self.levels[level].open {
                let level = &mut self.levels[level];
                let bin = level.bins.back_mut().expect("an open level has a bin");
                let fit = surely(&bin.measure, room, parts);
                if fit > 0 {
                    bin.measure.more(&parts[..fit]);
                    level.next_request = bin.measure.next_request;
                    bin.items.push(normal(
                        Contents {
                            head: Head::Rest { end },
                            parts: parts[..fit].to_vec(),
                            ..Contents::default()
                        },
                        end,
                    ));
                    parts = &parts[fit..];
                    continue;
                }
            }
            let posted = parts
                .iter()
                .find(|part| part.facts.kind.posts())
                .map(|part| part.request);
            if self.open_bin(level, end, posted).is_err() {
                self.parts_reduced += parts.len() as u64;
                return;
            }
        }
    }

    pub fn begin_iteration(&mut self) {
        self.iterations += 1;
        self.iteration = self.iterations;
    }

    pub fn reset(&mut self) {
        self.last = Last::Gone;
        for which in (0..self.former.len())
            .map(Which::Former)
            .chain((0..self.levels.len()).map(Which::Level))
        {
            self.remove_all(which, Reason::Reset);
        }
        for level in &mut self.levels {
            level.closed = false;
            (level.last_end, level.next_request) = (0, 0);
        }
        self.halvings = 0;
        self.dropped_at = None;
    }

    pub fn set_strategy(&mut self, strategy: Strategy) {
        if matches!(self.last, Last::Call { .. }) {
            self.last = Last::Over;
        }
        let levels = strategy.labels().into_iter().map(Level::new).collect();
        self.former
            .extend(std::mem::replace(&mut self.levels, levels));
        for level in self.former.extract_if(.., |level| level.bins.is_empty()) {
            for (key, ends) in level.losses {
                self.earlier.entry(key).or_default().extend(ends);
            }
        }
        self.strategy = strategy;
        self.halvings = 0;
        self.dropped_at = None;
    }

    fn all(&self) -> impl Iterator<Item = &Level> + Clone {
        self.former.iter().chain(&self.levels)
    }

    fn free(&self) -> usize {
        let used: usize = self.all().map(|level| level.bins.len()).sum();
        self.geometry.bins as usize - used - self.detached.len()
    }

    fn held(&self, bin: u64) -> bool {
        let view = self.frozen.iter().flat_map(|view| &view.chains);
        view.flat_map(|chain| &chain.bins).any(|(id, _)| *id == bin)
    }

    fn losses(&self) -> impl Iterator<Item = (Label, &Losses)> {
        let earlier = std::iter::once((Label::Earlier, &self.earlier));
        earlier.chain(self.all().map(|level| (level.label, &level.losses)))
    }

    fn gone(&self) -> u64 {
        self.losses()
            .flat_map(|(_, losses)| losses.values())
            .map(|ends| ends.len() as u64)
            .sum()
    }
}

/// How many parts surely fit as a continuation.
fn surely(measure: &Measure, room: usize, parts: &[Part]) -> usize {
    parts
        .len()
        .min(MAX_PARTS)
        .min((room - measure.used).saturating_sub(4) / PART_MAX)
}

/// The record as it is read back: what its kind does not carry is zero, its end is not before the
/// last.
fn normal(mut contents: Contents, last_end: u64) -> Contents {
    match &mut contents.head {
        Head::Call(call) => {
            call.end = call.end.max(last_end);
            if !call.facts.kind.posts() {
                call.request = 0;
            }
            if !call.facts.kind.has_ordinal() {
                call.ordinal = 0;
            }
        }
        Head::Region(pass) => pass.end = pass.end.max(last_end),
        Head::Rest { end } => *end = (*end).max(last_end),
        Head::Sample { time, .. } | Head::Metric { time, .. } | Head::Opaque { time, .. } => {
            *time = (*time).max(last_end);
        }
    }
    let end = contents.head.end();
    for part in &mut contents.parts {
        let kind = part.facts.kind;
        if !kind.completes() && !kind.posts() {
            part.request = 0;
        }
        part.posted = if kind.completes() {
            part.posted.min(end)
        } else {
            0
        };
    }
    contents
}
