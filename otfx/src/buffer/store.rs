//! Stores a record in its level's open bin: the path that nearly every record takes.

use super::{Buffer, Item, KEPT, Last, Stored, first_posted};
use crate::encoding::{Key, METRIC, Marks, REGION, SAMPLE};
use crate::event::{
    Attributes, EventClass, Metric, OPAQUE_BYTES_MAX, Opaque, Pass, Sample, Traits, VALUES_MAX,
};
use crate::ledger::Reason;
use crate::level::Level;
use crate::writer::{Body, Writer};
use invivo_proto::record::{Call, Part};

impl Buffer {
    /// Stores a call at depth 0 with its parts. Completions are parts; as a call they mean nothing
    /// and are given up.
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

        let marks = self.marks();
        let record = move || call_record(call, attributes, marks);
        // The writer tries without measuring; where the record does not fit, the bin is closed and
        // the slow path writes it again.
        let Level { open, writer, .. } = &mut self.levels[level];
        if let Some(bin) = *open
            && !call.facts.kind.completes()
            && writer.timed(self.arena.bin_mut(bin), EventClass::Call, record, parts)
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
        let marks = self.marks();
        let record = move || region_record(pass, attributes, marks);
        let Level { open, writer, .. } = &mut self.levels[level];
        if let Some(bin) = *open
            && writer.timed(self.arena.bin_mut(bin), EventClass::Region, record, &[])
        {
            return KEPT;
        }

        self.store_region_in_new_bin(level, pass, attributes)
    }

    /// Stores a sample. One whose level has been closed is given up: its producer has not halved
    /// its frequency yet.
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
            // Records of a level are in order of their ends.
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

    /// Stores more parts of the call stored last, which came apart from it. Where that call is gone
    /// they go with it.
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
                // A large call may need several bins; the rest goes on in the next turn.
                if fit > 0 {
                    parts = &parts[fit..];
                    continue;
                }
            }
            // A new bin begins with the end of the record before, so the parts need no time of
            // their own.
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

    /// What marks say of a record that comes now.
    #[inline(always)]
    pub(super) fn marks(&self) -> Marks {
        Marks {
            iteration: self.iteration,
            occupant: self.occupant,
        }
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
            // It counts as a record of the iteration, but not as time in MPI.
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
            marks: self.marks(),
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
        // Records with more values are refused in the slow path.
        if values.len() <= VALUES_MAX
            && let Some(bin) = *open
            && writer.reading(self.arena.bin_mut(bin), class, key, body, values)
        {
            return KEPT;
        }

        self.store_reading_in_new_bin(level, class, key, body, values)
    }
}

#[inline(always)]
pub(super) fn call_record(call: &Call, attributes: Attributes, marks: Marks) -> (Key, Body) {
    let kind = call.facts.kind;
    let body = Body {
        end: call.end,
        second: call.duration,
        ordinal: kind.has_ordinal().then_some(call.ordinal),
        request: kind.posts().then_some(call.request),
        marks,
        clipped: attributes.clipped,
    };
    (Key::of(&call.facts, attributes.depth), body)
}

#[inline(always)]
pub(super) fn region_record(pass: &Pass, attributes: Attributes, marks: Marks) -> (Key, Body) {
    let body = Body {
        end: pass.end,
        second: pass.duration,
        ordinal: None,
        request: None,
        marks,
        clipped: attributes.clipped,
    };
    (Key::new(REGION, pass.region.0, 0, attributes.depth), body)
}
