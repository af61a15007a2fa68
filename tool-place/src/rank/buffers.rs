//! Answers about a rank's buffers: fill, levels and losses, and pages of the records kept.

use super::RankRecords;
use crate::location::Location;
use crate::store::Keeping;
use crate::time_point::TimePoint;
use invivo_analysis::buffers::{
    add_counters, add_halvings, add_span, keep_worst, merge_capped, merge_level, merge_losses,
};
use invivo_otfx::{Buffer, Contents, EventClass, Head, Unfit};
use invivo_proto::control::buffers::{
    BufferCounters, Buffers, Capped, Cursor, Halvings, Label, LevelSum, Loss, LossReason,
    OneBuffer, PAGE_MAX, RecordClass, Records, Row, RowFacts, RowPart, SampleRow,
};
use invivo_proto::control::contexts::Contexts;
use invivo_proto::ids::LocationId;
use invivo_proto::record::Part;
use std::ops::Range;

/// The place that a calling context takes in a page, as so many calls.
pub const CONTEXT_TAKES: usize = 2;
/// Parts of one call that a page gives at most: a page always has a call, and stays below its
/// limit.
const ROW_PARTS_MAX: usize = 1024;

impl RankRecords {
    /// Whether all of its buffers can keep something else.
    ///
    /// # Errors
    /// Why one of them cannot.
    pub fn bears(&self, keeping: &Keeping) -> Result<(), Unfit> {
        self.locations
            .iter()
            .try_for_each(|location| location.store.bears(keeping))
    }

    /// Keeps something else from now on, in all of its buffers.
    ///
    /// # Errors
    /// When one of them cannot: call [`RankRecords::bears`] before.
    pub fn keep(&mut self, keeping: &Keeping) -> Result<(), Unfit> {
        self.locations
            .iter_mut()
            .try_for_each(|location| location.store.keep(keeping))
    }

    /// Other samples begin, in all of its buffers.
    ///
    /// # Errors
    /// As [`RankRecords::keep`].
    pub fn begin_samples(&mut self, keeping: &Keeping) -> Result<(), Unfit> {
        let mut locations = self.locations.iter_mut();
        locations.try_for_each(|location| location.store.begin_samples(keeping))
    }

    /// Calls and regions keep to their part of all of its buffers, or to none.
    pub fn share(&mut self, keeping: &Keeping) {
        let locations = self.locations.iter_mut();
        locations.for_each(|location| location.store.share(keeping));
    }

    /// Adds its buffers to an answer.
    pub fn add_buffers(&self, moment: &TimePoint<'_>, sum: &mut Buffers) {
        for (thread, location) in self.locations.iter().enumerate() {
            let halvings = location.store.halvings().map(|buffer| Halvings {
                buffer,
                known: self.halvings_known(),
            });
            match location.store.buffer() {
                Some(buffer) => {
                    add_buffer(self.id(thread), buffer, halvings, moment, sum);
                    sum.stored += location.before.reduced;
                }
                None => sum.without += 1,
            }
        }
        // Of threads without a location, and such as their sampler had no room for.
        let dropped = self.samples.dropped();
        let dropped = BufferCounters {
            stored: dropped,
            dropped,
            ..BufferCounters::default()
        };
        add_counters(&mut sum.samples, dropped);
        // Answers have a bounded size: only the worst buffers are named.
        keep_worst(&mut sum.named);
    }

    /// A page of what one of its buffers keeps; nothing where it has no such location.
    pub fn page(
        &self,
        moment: &TimePoint<'_>,
        thread: u16,
        job_ns: Range<u64>,
        after: Option<Cursor>,
        max: u32,
    ) -> Option<Records> {
        let location: &Location = self.locations.get(usize::from(thread))?;
        let mut records = Records {
            location: Some(self.id(usize::from(thread))),
            tick_ps: moment.tick_ps(),
            not_kept: Some(location.store.not_kept()).filter(|calls| *calls != 0),
            ..Records::default()
        };

        let Some(buffer) = location.store.buffer() else {
            records.not_kept.get_or_insert(0);
            return Some(records);
        };
        let gone_until = buffer.events_gone_until().max(location.before.gone_until);
        records.gone_until_ns = gone_until.map(|ticks| moment.job_of_ticks(ticks));
        records.counters = counters(buffer, EventClass::Call);
        merge_losses(&mut records.losses, losses(buffer, moment));
        fill(
            &mut records,
            buffer,
            moment,
            job_ns,
            after,
            max.clamp(1, PAGE_MAX),
            |context, to| self.give_context(context, to),
        );
        Some(records)
    }

    fn id(&self, thread: usize) -> LocationId {
        LocationId {
            rank: self.rank,
            thread: thread as u16,
        }
    }
}

fn add_buffer(
    location: LocationId,
    buffer: &Buffer,
    halvings: Option<Halvings>,
    moment: &TimePoint<'_>,
    sum: &mut Buffers,
) {
    let (counters, fill) = (counters(buffer, EventClass::Call), buffer.fill());
    let gone_until = buffer.events_gone_until();
    let length = |from: u64, to: u64| moment.node().duration_ns(to.saturating_sub(from));
    let (oldest, newest) = fill.span.unwrap_or_default();
    let one = OneBuffer {
        location,
        bins: fill.geometry.bins,
        bins_used: fill.bins_used,
        bytes_used: fill.bytes_used,
        counters,
        span_ns: length(oldest, newest),
        complete_ns: length(oldest.max(gone_until.unwrap_or(0)), newest),
        reductions: buffer.reductions(),
        capped_ns: buffer
            .events_dropped_at()
            .map(|ticks| moment.job_of_ticks(ticks)),
        halvings,
    };

    sum.locations += 1;
    sum.bytes += buffer.arena_bytes() as u64;
    sum.bytes_used += fill.bytes_used;
    sum.bins += u64::from(fill.geometry.bins);
    sum.bins_used += u64::from(fill.bins_used);
    sum.stored += counters.stored;
    sum.kept += counters.kept;
    add_counters(&mut sum.regions, self::counters(buffer, EventClass::Region));
    add_counters(&mut sum.samples, self::counters(buffer, EventClass::Sample));
    sum.parts_reduced += counters.parts_reduced;
    sum.reductions += one.reductions;

    let capped = one.capped_ns.map(|at| Capped {
        buffers: 1,
        first_ns: at,
        last_ns: at,
    });
    merge_capped(&mut sum.capped, capped);
    add_halvings(&mut sum.thinned, halvings);
    add_span(&mut sum.span, &one, one.span_ns);
    add_span(&mut sum.complete, &one, one.complete_ns);

    // Levels of a former strategy do not count, so that those of the present one have the same
    // numbers in all buffers.
    let mut number = 0;
    for level in buffer.levels() {
        if !level.former {
            number += 1;
        }
        let key = (number, label(level.label));
        let of_level = LevelSum {
            closed: u32::from(level.closed),
            bins: level.bins.into(),
            kept: level.kept.iter().sum(),
            gone_until_ns: level
                .gone_until
                .map_or(0, |ticks| moment.job_of_ticks(ticks)),
        };
        merge_level(sum.levels.entry(key).or_default(), &of_level);
    }

    merge_losses(&mut sum.losses, losses(buffer, moment));
    sum.named.push(one);
}

fn fill(
    records: &mut Records,
    buffer: &Buffer,
    moment: &TimePoint<'_>,
    job_ns: Range<u64>,
    after: Option<Cursor>,
    max: u32,
    give_context: impl Fn(u32, &mut Contexts) -> usize,
) {
    let (from, to) = (moment.ticks_of(job_ns.start), moment.ticks_of(job_ns.end));
    let after = after.unwrap_or_default();
    let mut at = Cursor::default();
    let mut room = max as usize;

    let mut reader = buffer.read_since(from.max(after.end_ticks));
    loop {
        let contents = match reader.next() {
            Ok(Some(contents)) => contents,
            Ok(None) => return,
            Err(_) => {
                records.is_broken = true;
                return;
            }
        };
        // A cursor is the end of a record and how many with that end were given: several may share
        // it.
        let end = contents.head.end();
        if end > at.end_ticks {
            at = Cursor {
                end_ticks: end,
                given: 0,
            };
        }
        at.given += 1;
        if end < from || end >= to || at <= after {
            continue;
        }

        let (row, sample) = (row(contents, moment), sample(contents, moment));
        let takes = match (&row, &sample) {
            (Some(row), _) => 1 + row.parts.len(),
            (None, Some(sample)) => 1 + sample.values.len(),
            (None, None) => continue,
        };
        if takes > room && !(records.rows.is_empty() && records.samples.is_empty()) {
            // Behind the record before this one.
            at.given -= 1;
            records.next = Some(at);
            return;
        }

        room = room.saturating_sub(takes);
        records.rows.extend(row);
        if let Some(sample) = sample {
            let new = give_context(sample.context, &mut records.contexts);
            room = room.saturating_sub(new * CONTEXT_TAKES);
            records.samples.push(sample);
        }
    }
}

pub(super) fn sample(contents: &Contents, moment: &TimePoint<'_>) -> Option<SampleRow> {
    let Head::Sample {
        time,
        ordinal,
        context,
    } = contents.head
    else {
        return None;
    };
    Some(SampleRow {
        at_ns: moment.job_of_ticks(time),
        at_ticks: time,
        ordinal,
        context,
        values: contents.values.clone(),
        occupant: contents.occupant,
    })
}

/// A call, what is left of one, or a visit of a region.
pub(super) fn row(contents: &Contents, moment: &TimePoint<'_>) -> Option<Row> {
    let mut row = match &contents.head {
        Head::Call(call) => Row {
            facts: (&call.facts).into(),
            end_ticks: call.end,
            duration_ticks: call.duration,
            ordinal: call.ordinal,
            request: call.request,
            ..Row::default()
        },
        Head::Rest { end } => Row {
            is_rest: true,
            end_ticks: *end,
            ..Row::default()
        },
        Head::Region(pass) => Row {
            is_region: true,
            facts: RowFacts {
                region: pass.region,
                ..RowFacts::default()
            },
            end_ticks: pass.end,
            duration_ticks: pass.duration,
            ..Row::default()
        },
        Head::Sample { .. } | Head::Metric { .. } | Head::Opaque { .. } => {
            return None;
        }
    };

    row.end_ns = moment.job_of_ticks(row.end_ticks);
    // Between two points of job time: what ends where something else begins does so here, too.
    let begin_ns = moment.job_of_ticks(row.end_ticks.saturating_sub(row.duration_ticks));
    row.duration_ns = row.end_ns.saturating_sub(begin_ns);
    row.depth = contents.depth;
    row.clipped = contents.clipped;
    row.occupant = contents.occupant;
    row.parts = contents
        .parts
        .iter()
        .take(ROW_PARTS_MAX)
        .map(part)
        .collect();
    row.parts_left_out = (contents.parts.len() - row.parts.len()) as u32;
    Some(row)
}

fn part(part: &Part) -> RowPart {
    RowPart {
        facts: (&part.facts).into(),
        request: part.request,
        posted_ticks: part.posted,
    }
}

pub(super) fn counters(buffer: &Buffer, class: EventClass) -> BufferCounters {
    let ledger = buffer.ledger_of(class);
    BufferCounters {
        stored: ledger.stored,
        kept: ledger.kept,
        reduced: ledger.reduced,
        dropped: ledger.dropped,
        reset: ledger.reset,
        parts_reduced: ledger.parts_reduced,
    }
}

pub(super) fn losses(
    buffer: &Buffer,
    moment: &TimePoint<'_>,
) -> impl Iterator<Item = ((Label, RecordClass, LossReason), Loss)> {
    buffer.losses().map(|loss| {
        let key = (label(loss.level), class(loss.class), reason(loss.reason));
        let loss = Loss {
            records: loss.records,
            first_ns: moment.job_of_ticks(loss.first_end),
            last_ns: moment.job_of_ticks(loss.last_end),
        };
        (key, loss)
    })
}

fn label(label: invivo_otfx::Label) -> Label {
    match label {
        invivo_otfx::Label::Rest => Label::Rest,
        invivo_otfx::Label::Class => Label::Class,
        invivo_otfx::Label::Samples => Label::Samples,
        invivo_otfx::Label::Depth(depth) => Label::Depth(depth),
        invivo_otfx::Label::ShorterThanLog2(bits) => Label::ShorterThanLog2(bits),
        invivo_otfx::Label::Iteration(lambda) => Label::Iteration(lambda),
        invivo_otfx::Label::Ordinal(lambda) => Label::Ordinal(lambda),
        invivo_otfx::Label::Earlier => Label::Earlier,
    }
}

fn class(class: EventClass) -> RecordClass {
    match class {
        EventClass::Call => RecordClass::Call,
        EventClass::Region => RecordClass::Region,
        EventClass::Sample => RecordClass::Sample,
        EventClass::Metric => RecordClass::Metric,
    }
}

fn reason(reason: invivo_otfx::Reason) -> LossReason {
    match reason {
        invivo_otfx::Reason::Room => LossReason::Room,
        invivo_otfx::Reason::Closed => LossReason::Closed,
        invivo_otfx::Reason::Cap => LossReason::Cap,
        invivo_otfx::Reason::Strategy => LossReason::Strategy,
        invivo_otfx::Reason::Refused => LossReason::Refused,
        invivo_otfx::Reason::Held => LossReason::Held,
        invivo_otfx::Reason::Reset => LossReason::Reset,
    }
}
