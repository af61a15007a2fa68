//! The buffer of one location: arena, levels and strategy put together, and the ledger of what it did.

mod frozen;
mod report;
mod room;

pub use frozen::{AlreadyFrozen, Frozen};
pub use report::{Fill, LevelStatus};

use crate::arena::{Arena, BinId};
use crate::encoding::{Key, METRIC, REGION, SAMPLE};
use crate::event::{
    Attributes, EventClass, Metric, OPAQUE_BYTES_MAX, Opaque, Pass, Sample, Traits, VALUES_MAX,
};
use crate::geometry::{Geometry, Unfit};
use crate::iterations::Summaries;
use crate::ledger::{Losses, REASONS, Reason};
use crate::level::{Chain, Level};
use crate::strategy::{Dimension, Sorter, Strategy};
use crate::writer::{Body, Writer};
use alloc::boxed::Box;
use alloc::vec::Vec;
use invivo_proto::record::{Call, Part};

/// Keeps the records of one location in memory of fixed size. Records must come in order of their ends; one that
/// ends before its predecessor in the same level is stored as ending with it.
#[derive(Debug)]
pub struct Buffer {
    arena: Arena,
    /// In the order in which they go.
    levels: Vec<Level>,
    /// Levels of earlier strategies, which go before all others, in this order.
    former: Vec<Chain>,
    /// Losses of levels that are not told apart any more.
    earlier: Losses,
    strategy: Strategy,
    sorter: Sorter,
    stored: u64,
    gone: [u64; REASONS],
    parts_reduced: u64,
    last: Last,
    /// The iteration that is under way, or 0.
    iteration: u64,
    iterations: u64,
    summaries: Option<Box<Summaries>>,
    halvings: u32,
    halvings_told: u32,
    events_dropped_at: Option<u64>,
    /// Bins taken before this one belong to the frozen view that is out.
    frozen_before: Option<u64>,
    /// Frozen views so far.
    views: u32,
}

/// Where the record stored last begins: its further parts go there.
#[derive(Clone, Copy, Debug)]
enum Last {
    /// It was no call, or has been given up; its parts go with it.
    Gone,
    /// Its head is in this bin.
    Call { level: usize, bin: BinId },
    /// It is kept, but no more parts can follow on.
    Over,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// It is in the buffer, with all parts that were given.
    pub kept: bool,
    /// Other records that had to go for it.
    pub given_up: u64,
}

const KEPT: Stored = Stored {
    kept: true,
    given_up: 0,
};

/// A record on its way into a bin.
struct Item {
    level: usize,
    class: EventClass,
    end: u64,
    /// The number of the first request that it posts.
    request: Option<u64>,
}

impl Buffer {
    /// Allocates at most `bytes` for records, all of it now. Beside it stand 64 bytes for each bin, 6 KiB for each
    /// level, and 40 KiB for summaries where the strategy sorts by iterations. Nothing is allocated later, unless
    /// the strategy changes.
    ///
    /// # Errors
    /// When `bytes` is below [`Geometry::bytes_min`] of the strategy's levels, or there are too many of these.
    pub fn new(bytes: usize, strategy: impl Into<Strategy>) -> Result<Self, Unfit> {
        let strategy = strategy.into();
        let geometry = Geometry::of(bytes, strategy.levels())?;
        Buffer::with_geometry(geometry, strategy)
    }

    /// As [`Buffer::new`], with bins of one's own choice.
    ///
    /// # Errors
    /// When the strategy does not fit them.
    pub fn with_geometry(geometry: Geometry, strategy: Strategy) -> Result<Self, Unfit> {
        geometry.bears(strategy.levels())?;
        Ok(Buffer {
            arena: Arena::new(geometry),
            levels: strategy.labels().into_iter().map(Level::new).collect(),
            former: Vec::new(),
            earlier: Losses::default(),
            sorter: Sorter::new(&strategy),
            summaries: summaries(&strategy),
            strategy,
            stored: 0,
            gone: [0; REASONS],
            parts_reduced: 0,
            last: Last::Gone,
            iteration: 0,
            iterations: 0,
            halvings: 0,
            halvings_told: 0,
            events_dropped_at: None,
            frozen_before: None,
            views: 0,
        })
    }

    /// Stores a call at depth 0 with its parts. Completions are parts; as a call they mean nothing and are given up.
    #[inline]
    pub fn store(&mut self, call: &Call, parts: &[Part]) -> Stored {
        self.store_call(call, parts, Attributes::default())
    }

    /// Stores a call with its parts.
    #[inline]
    pub fn store_call(&mut self, call: &Call, parts: &[Part], attributes: Attributes) -> Stored {
        let traits = Traits {
            class: EventClass::Call,
            depth: attributes.depth,
            duration: call.duration,
            ordinal: 0,
        };
        let level = self.begin_storing(&traits);
        if let Some(summaries) = &mut self.summaries
            && self.iteration != 0
        {
            summaries.record(call.duration, call.facts.bytes_out);
        }
        let (key, body) = call_record(call, attributes, self.iteration);
        let Level { open, writer, .. } = &mut self.levels[level];
        if let Some(bin) = *open
            && !call.facts.kind.completes()
            && writer.timed(self.arena.bin_mut(bin), EventClass::Call, key, body, parts)
        {
            self.last = Last::Call { level, bin };
            return KEPT;
        }
        self.store_call_in_new_bin(level, call, parts, attributes)
    }

    /// Stores a region that was entered and left.
    #[inline]
    pub fn store_region(&mut self, pass: &Pass, attributes: Attributes) -> Stored {
        let traits = Traits {
            class: EventClass::Region,
            depth: attributes.depth,
            duration: pass.duration,
            ordinal: 0,
        };
        let level = self.begin_storing_no_call(&traits);
        let (key, body) = region_record(pass, attributes, self.iteration);
        let Level { open, writer, .. } = &mut self.levels[level];
        if let Some(bin) = *open
            && writer.timed(self.arena.bin_mut(bin), EventClass::Region, key, body, &[])
        {
            return KEPT;
        }
        self.store_region_in_new_bin(level, pass, attributes)
    }

    /// Stores a sample. One whose level has been closed is given up: its producer has not halved its frequency yet.
    pub fn store_sample(&mut self, sample: &Sample<'_>) -> Stored {
        let values = sample.values;
        let key = Key::new(SAMPLE, values.len() as u16, sample.context, 0);
        self.store_reading(EventClass::Sample, key, sample.time, sample.ordinal, values)
    }

    /// Stores counters.
    pub fn store_metric(&mut self, metric: &Metric<'_>) -> Stored {
        let values = metric.values;
        let key = Key::new(METRIC, values.len() as u16, metric.metric, 0);
        self.store_reading(EventClass::Metric, key, metric.time, 0, values)
    }

    /// Stores a record that only its maker understands.
    pub fn store_opaque(&mut self, record: &Opaque<'_>) -> Stored {
        let traits = Traits {
            class: record.class,
            depth: 0,
            duration: 0,
            ordinal: record.ordinal,
        };
        let item = Item {
            level: self.begin_storing_no_call(&traits),
            class: record.class,
            end: record.time,
            request: None,
        };
        if record.bytes.len() > OPAQUE_BYTES_MAX {
            let gone = self.given_up();
            return self.give_up(&item, Reason::Refused, gone);
        }
        let write = |writer: &mut Writer, bin: &mut [u8]| {
            let end = record.time.max(writer.last_end());
            writer.opaque(bin, record, end)
        };
        let Level { open, writer, .. } = &mut self.levels[item.level];
        if let Some(bin) = *open
            && write(writer, self.arena.bin_mut(bin))
        {
            return KEPT;
        }
        self.store_in_new_bin(&item, &write)
    }

    /// Stores more parts of the call stored last, which came apart from it. Where that call is gone they go
    /// with it.
    pub fn store_more(&mut self, mut parts: &[Part]) {
        while !parts.is_empty() {
            let level = match self.last {
                Last::Call { level, .. } => level,
                Last::Gone => return,
                Last::Over => {
                    self.parts_reduced += parts.len() as u64;
                    return;
                }
            };
            let Level { open, writer, .. } = &mut self.levels[level];
            if let Some(bin) = *open {
                let fit = writer.continuation(self.arena.bin_mut(bin), parts);
                if fit > 0 {
                    parts = &parts[fit..];
                    continue;
                }
            }
            let item = Item {
                level,
                class: EventClass::Call,
                end: writer.last_end(),
                request: first_posted(parts),
            };
            if self.open_bin(&item).is_err() {
                self.parts_reduced += parts.len() as u64;
                return;
            }
        }
    }

    /// The next iteration begins, and the one under way ends. What ends from now on belongs to it.
    pub fn begin_iteration(&mut self, now: u64) {
        self.end_iteration(now);
        self.iterations += 1;
        self.iteration = self.iterations;
        if let Some(summaries) = &mut self.summaries {
            summaries.begin(now);
        }
    }

    /// The iteration under way ends; what ends from now on belongs to none.
    pub fn end_iteration(&mut self, now: u64) {
        if let Some(summaries) = &mut self.summaries
            && self.iteration != 0
        {
            summaries.end(self.iteration, now);
        }
        self.iteration = 0;
    }

    /// How often the frequency of samples has been halved, if that has changed since it was asked last: to be told to
    /// the producer. A new strategy and a reset begin at 0 again.
    pub fn take_halvings(&mut self) -> Option<u32> {
        (self.halvings != self.halvings_told).then(|| {
            self.halvings_told = self.halvings;
            self.halvings
        })
    }

    /// Forgets everything, in time that does not depend on how much there is (unless a frozen view is out). Levels that
    /// were closed open again; ordinals and numbers of iterations go on.
    pub fn reset(&mut self) {
        self.last = Last::Gone;
        for index in 0..self.former.len() {
            self.remove_former(index, Reason::Reset);
        }
        for index in 0..self.levels.len() {
            self.remove_level(index, Reason::Reset);
            self.levels[index].closed = false;
            self.levels[index].writer.restart();
        }
        self.halvings = 0;
        self.events_dropped_at = None;
        // The numbers of iterations go on, their summaries do not.
        self.summaries = summaries(&self.strategy);
    }

    /// Counts a record and finds its level.
    #[inline(always)]
    fn begin_storing(&mut self, traits: &Traits) -> usize {
        self.stored += 1;
        self.sorter.level(traits, self.iteration)
    }

    /// As [`Buffer::begin_storing`], of anything behind which no parts can follow.
    #[inline(always)]
    fn begin_storing_no_call(&mut self, traits: &Traits) -> usize {
        if let Some(summaries) = &mut self.summaries
            && self.iteration != 0
        {
            summaries.record(0, 0);
        }
        if let Last::Call { .. } = self.last {
            self.last = Last::Over;
        }
        self.begin_storing(traits)
    }

    #[inline(always)]
    fn store_reading(
        &mut self,
        class: EventClass,
        key: Key,
        time: u64,
        ordinal: u64,
        values: &[u64],
    ) -> Stored {
        let body = Body {
            end: time,
            second: ordinal,
            ordinal: None,
            request: None,
            iteration: self.iteration,
            clipped: false,
        };
        let traits = Traits {
            class,
            depth: 0,
            duration: 0,
            ordinal,
        };
        let level = self.begin_storing_no_call(&traits);
        let Level { open, writer, .. } = &mut self.levels[level];
        if values.len() <= VALUES_MAX
            && let Some(bin) = *open
            && writer.reading(self.arena.bin_mut(bin), class, key, body, values)
        {
            return KEPT;
        }
        self.store_reading_in_new_bin(level, class, key, body, values)
    }

    #[cold]
    #[inline(never)]
    fn store_reading_in_new_bin(
        &mut self,
        level: usize,
        class: EventClass,
        key: Key,
        body: Body,
        values: &[u64],
    ) -> Stored {
        let item = Item {
            level,
            class,
            end: body.end,
            request: None,
        };
        if values.len() > VALUES_MAX {
            let gone = self.given_up();
            return self.give_up(&item, Reason::Refused, gone);
        }
        self.store_in_new_bin(&item, &|writer, bin| {
            writer.reading(bin, class, key, body, values)
        })
    }

    #[cold]
    #[inline(never)]
    fn store_region_in_new_bin(&mut self, level: usize, pass: &Pass, attributes: Attributes) -> Stored {
        let (key, body) = region_record(pass, attributes, self.iteration);
        let item = Item {
            level,
            class: EventClass::Region,
            end: pass.end,
            request: None,
        };
        self.store_in_new_bin(&item, &|writer, bin| {
            writer.timed(bin, EventClass::Region, key, body, &[])
        })
    }

    #[cold]
    fn store_in_new_bin(&mut self, item: &Item, write: &dyn Fn(&mut Writer, &mut [u8]) -> bool) -> Stored {
        let gone = self.given_up();
        let bin = match self.open_bin(item) {
            Ok(bin) => bin,
            Err(reason) => return self.give_up(item, reason, gone),
        };
        let written = write(&mut self.levels[item.level].writer, self.arena.bin_mut(bin));
        assert!(written, "the smallest bin holds any record that has no parts");
        Stored {
            kept: true,
            given_up: self.given_up() - gone,
        }
    }

    /// The open bin has no room, or there is none.
    #[cold]
    #[inline(never)]
    fn store_call_in_new_bin(
        &mut self,
        level: usize,
        call: &Call,
        parts: &[Part],
        attributes: Attributes,
    ) -> Stored {
        let (key, body) = call_record(call, attributes, self.iteration);
        self.last = Last::Gone;
        let item = Item {
            level,
            class: EventClass::Call,
            end: call.end,
            request: body.request.or_else(|| first_posted(parts)),
        };
        let gone = self.given_up();
        if call.facts.kind.completes() {
            return self.give_up(&item, Reason::Refused, gone);
        }
        let bin = match self.open_bin(&item) {
            Ok(bin) => bin,
            Err(reason) => return self.give_up(&item, reason, gone),
        };
        let writer = &mut self.levels[level].writer;
        let (base_time, next_request) = (writer.last_end(), writer.next_request());
        let memory = self.arena.bin_mut(bin);
        if writer.timed(memory, EventClass::Call, key, body, parts) {
            self.last = Last::Call { level, bin };
            return Stored {
                kept: true,
                given_up: self.given_up() - gone,
            };
        }
        // More than a bin holds: the head takes what surely fits, continuations the rest.
        writer.begin(memory, base_time, next_request);
        let (beside, rest) = parts.split_at(writer.certain(memory, parts.len()));
        let written = writer.timed(memory, EventClass::Call, key, body, beside);
        assert!(written, "the smallest bin holds any call and ten of its parts");
        self.last = Last::Call { level, bin };
        let parts_reduced = self.parts_reduced;
        self.store_more(rest);
        let kept = matches!(self.last, Last::Call { .. });
        Stored {
            kept: kept && self.parts_reduced == parts_reduced,
            given_up: self.given_up() - gone - u64::from(!kept),
        }
    }

    /// The record itself goes.
    #[cold]
    fn give_up(&mut self, item: &Item, reason: Reason, gone_before: u64) -> Stored {
        if let Last::Call { .. } = self.last {
            self.last = Last::Over;
        }
        let given_up = self.given_up().saturating_sub(gone_before);
        self.levels[item.level].chain.refuse(item.class, reason, item.end);
        self.gone[reason as usize] += 1;
        Stored {
            kept: false,
            given_up,
        }
    }

    /// Records that were kept and are gone, or never were.
    fn given_up(&self) -> u64 {
        self.gone.iter().sum()
    }
}

#[inline(always)]
fn call_record(call: &Call, attributes: Attributes, iteration: u64) -> (Key, Body) {
    let kind = call.facts.kind;
    let body = Body {
        end: call.end,
        second: call.duration,
        ordinal: kind.has_ordinal().then_some(call.ordinal),
        request: kind.posts().then_some(call.request),
        iteration,
        clipped: attributes.clipped,
    };
    (Key::of(&call.facts, attributes.depth), body)
}

#[inline(always)]
fn region_record(pass: &Pass, attributes: Attributes, iteration: u64) -> (Key, Body) {
    let body = Body {
        end: pass.end,
        second: pass.duration,
        ordinal: None,
        request: None,
        iteration,
        clipped: attributes.clipped,
    };
    (Key::new(REGION, pass.region.0, 0, attributes.depth), body)
}

fn summaries(strategy: &Strategy) -> Option<Box<Summaries>> {
    let by_iteration = |rule: &crate::strategy::Rule| matches!(rule.by, Dimension::Iteration { .. });
    strategy
        .rules
        .iter()
        .any(by_iteration)
        .then(|| Box::new(Summaries::new()))
}

/// The number of the first request that these post.
fn first_posted(parts: &[Part]) -> Option<u64> {
    parts
        .iter()
        .find(|part| part.facts.kind.posts())
        .map(|part| part.request)
}
