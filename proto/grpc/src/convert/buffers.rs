//! Converts the state of buffers and their records to messages for clients.

use super::contexts::{contexts, samples};
use super::function_name;
use crate::v1;
use invivo_proto::control::buffers::{
    BufferCounters, Buffers, Cursor, Label, Loss, LossReason, RecordClass, Records, Row, RowFacts,
    Spans,
};
use invivo_proto::control::regions::RegionName;
use invivo_proto::control::tree::Query;
use invivo_proto::ids::{CommLocal, LocationId, Rank, RegionId};
use std::collections::BTreeMap;

/// A level's content in words; `tick_ps` is the length of a tick in ps.
fn holds(label: Label, tick_ps: u64) -> String {
    match label {
        Label::Rest => "all else".to_owned(),
        Label::Class => "a class".to_owned(),
        Label::Samples => "samples".to_owned(),
        Label::Depth(depth) => format!("depth {depth}"),
        Label::ShorterThanLog2(log2) => {
            // Wide enough for any shift; a longer span than 64 bits has is cut.
            let ns = (1u128 << log2.min(100)) * u128::from(tick_ps) / 1000;
            format!(
                "shorter than {}",
                duration(u64::try_from(ns).unwrap_or(u64::MAX))
            )
        }
        Label::Iteration(log2) => format!("one iteration in {}", 2u128 << log2.min(100)),
        Label::Ordinal(log2) => format!("one sample in {}", 2u128 << log2.min(100)),
        Label::Earlier => "earlier strategies".to_owned(),
    }
}

/// A duration with three digits.
fn duration(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.3} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.3} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}

impl From<LocationId> for v1::Location {
    fn from(location: LocationId) -> v1::Location {
        v1::Location {
            rank: location.rank.0,
            thread: location.thread.into(),
        }
    }
}

impl From<&Spans> for v1::Spans {
    fn from(spans: &Spans) -> v1::Spans {
        v1::Spans {
            mean_ns: spans.sum_ns.checked_div(spans.count).unwrap_or(0),
            // Of no locations the minimum is the greatest number: 0 for clients.
            min_ns: if spans.count == 0 { 0 } else { spans.min_ns },
            max_ns: spans.max_ns,
            shortest: spans.shortest.map(Into::into),
        }
    }
}

impl From<&BufferCounters> for v1::BufferBooks {
    fn from(books: &BufferCounters) -> v1::BufferBooks {
        v1::BufferBooks {
            stored: books.stored,
            kept: books.kept,
            reduced: books.reduced,
            dropped: books.dropped,
            reset: books.reset,
            parts_reduced: books.parts_reduced,
        }
    }
}

/// The state of the buffers, without the coverage.
pub fn reply(buffers: &Buffers) -> v1::BuffersReply {
    let levels = buffers
        .levels
        .iter()
        .map(|(&(number, label), level)| v1::BufferLevel {
            holds: holds(label, buffers.tick_ps),
            // Levels of earlier strategies share number 0: they go before all others.
            former: number == 0,
            shorter_than_log2_ticks: match label {
                Label::ShorterThanLog2(log2) => Some(log2.into()),
                _ => None,
            },
            iteration_log2: match label {
                Label::Iteration(log2) => Some(log2.into()),
                _ => None,
            },
            closed: level.closed,
            bins: level.bins,
            kept: level.kept,
            given_up: given_up(buffers, label),
            gone_until_ns: (level.gone_until_ns != 0).then_some(level.gone_until_ns),
        });

    let strategies = buffers.strategies.iter();
    // Of any class: bytes are not counted by class.
    let records: u64 = buffers.levels.values().map(|level| level.kept).sum();

    v1::BuffersReply {
        coverage: None,
        strategies: strategies
            .map(|(strategy, &ranks)| v1::StrategyInForce {
                strategy: strategy.to_string(),
                ranks,
            })
            .collect(),
        locations: buffers.locations,
        without: buffers.without,
        recycled: buffers.recycled,
        bytes: buffers.bytes,
        bytes_used: buffers.bytes_used,
        bins: buffers.bins,
        bins_used: buffers.bins_used,
        stored: buffers.stored,
        kept: buffers.kept,
        parts_reduced: buffers.parts_reduced,
        bytes_per_call: if records == 0 {
            0.0
        } else {
            buffers.bytes_used as f64 / records as f64
        },
        reductions: buffers.reductions,
        capped: buffers.capped.map(|capped| v1::BufferCaps {
            buffers: capped.buffers,
            first_ns: capped.first_ns,
            last_ns: capped.last_ns,
        }),
        thinned: buffers.thinned.map(|thinned| v1::ThinnedSamples {
            locations: thinned.locations,
            untold: thinned.untold,
            least: thinned.least,
            most: thinned.most,
        }),
        regions: (buffers.regions.stored != 0).then(|| (&buffers.regions).into()),
        samples: (buffers.samples.stored != 0).then(|| (&buffers.samples).into()),
        span: Some((&buffers.span).into()),
        complete: Some((&buffers.complete).into()),
        levels: levels.collect(),
        losses: losses(&buffers.losses, buffers.tick_ps),
        named: buffers
            .named
            .iter()
            .map(|one| v1::LocationBuffer {
                location: Some(one.location.into()),
                bins: one.bins,
                bins_used: one.bins_used,
                bytes_used: one.bytes_used,
                books: Some((&one.counters).into()),
                span_ns: one.span_ns,
                complete_ns: one.complete_ns,
                reductions: one.reductions,
                capped_ns: one.capped_ns,
                halvings: one.halvings.map(|of| v1::Halvings {
                    buffer: of.buffer,
                    known: of.known,
                }),
            })
            .collect(),
    }
}

fn given_up(buffers: &Buffers, label: Label) -> u64 {
    let of_label = buffers
        .losses
        .iter()
        .filter(|((lost, ..), _)| *lost == label);
    of_label
        .map(|(_, loss)| loss.records)
        .fold(0, u64::saturating_add)
}

pub(super) fn losses(
    losses: &BTreeMap<(Label, RecordClass, LossReason), Loss>,
    tick_ps: u64,
) -> Vec<v1::BufferLoss> {
    let row = |(&(label, class, reason), loss): (&(Label, RecordClass, LossReason), &Loss)| {
        v1::BufferLoss {
            level: holds(label, tick_ps),
            class: class.name().to_owned(),
            reason: reason.name().to_owned(),
            records: loss.records,
            first_ns: loss.first_ns,
            last_ns: loss.last_ns,
        }
    };
    losses.iter().map(row).collect()
}

/// The query for a page of at most `max` calls and parts.
///
/// # Errors
/// If there can be no such thread.
pub fn records_query(asked: &v1::RecordsRequest, max: u32) -> Result<Query, &'static str> {
    let thread = u16::try_from(asked.thread);
    let thread = thread.map_err(|_| "threads have numbers below 65536")?;
    Ok(Query::Records {
        location: LocationId {
            rank: Rank(asked.rank),
            thread,
        },
        from_ns: asked.from_ns,
        // 0 is the default of protobuf: without an end.
        to_ns: if asked.to_ns == 0 {
            u64::MAX
        } else {
            asked.to_ns
        },
        after: asked.after.map(|cursor| Cursor {
            end_ticks: cursor.end_ticks,
            given: cursor.given,
        }),
        max,
    })
}

/// A page, without the coverage; `None` if no tool place has the location.
pub fn records_reply(records: &Records) -> Option<v1::RecordsReply> {
    let tick_ps = records.tick_ps;
    Some(v1::RecordsReply {
        coverage: None,
        location: Some(records.location?.into()),
        records: records
            .rows
            .iter()
            .map(|row| call(row, &records.regions))
            .collect(),
        samples: samples(&records.samples, &records.contexts),
        contexts: contexts(&records.contexts),
        next: records.next.map(|cursor| v1::RecordsCursor {
            end_ticks: cursor.end_ticks,
            given: cursor.given,
        }),
        books: Some((&records.counters).into()),
        losses: losses(&records.losses, tick_ps),
        gone_until_ns: records.gone_until_ns,
        not_kept: records.not_kept,
        broken: records.is_broken,
    })
}

/// The name of a region.
pub(super) fn region_name(region: RegionId, regions: &BTreeMap<RegionId, RegionName>) -> String {
    let known = regions.get(&region);
    known.map_or_else(|| format!("region {}", region.0), |of| of.name.clone())
}

pub(super) fn call(row: &Row, regions: &BTreeMap<RegionId, RegionName>) -> v1::CallRecord {
    v1::CallRecord {
        // The call itself was given up and only parts of it are kept: its function is unknown.
        function: match (row.is_rest, row.is_region) {
            (true, _) => String::new(),
            (_, true) => region_name(row.facts.region, regions),
            (_, false) => function_name(row.facts.region),
        },
        end_ns: row.end_ns,
        duration_ns: row.duration_ns,
        end_ticks: row.end_ticks,
        duration_ticks: row.duration_ticks,
        // Without its record nothing is known of the call but its end.
        facts: match (row.is_rest, row.is_region) {
            (true, _) => None,
            (_, true) => Some(v1::CallFacts {
                kind: "region".to_owned(),
                ..v1::CallFacts::default()
            }),
            (_, false) => Some(facts(&row.facts)),
        },
        ordinal: row.ordinal,
        request: row.request,
        clipped: row.clipped,
        parts: row
            .parts
            .iter()
            .map(|part| v1::CallPart {
                function: function_name(part.facts.region),
                facts: Some(facts(&part.facts)),
                request: part.request,
                posted_ticks: part.posted_ticks,
            })
            .collect(),
        parts_left_out: row.parts_left_out,
        occupant: row.occupant,
        depth: row.depth.into(),
    }
}

fn facts(of: &RowFacts) -> v1::CallFacts {
    // In the order of `invivo_proto::record::RecordKind`.
    const KINDS: [&str; 11] = [
        "call",
        "send",
        "receive",
        "post send",
        "post receive",
        "collective",
        "post collective",
        "sent",
        "received",
        "collective done",
        "ended",
    ];
    v1::CallFacts {
        kind: KINDS
            .get(usize::from(of.kind))
            .copied()
            .unwrap_or("unknown")
            .to_owned(),
        // Absent and not a number: a client must not take "none" for a communicator.
        comm: (of.comm != CommLocal::NONE).then_some(of.comm.0),
        peer: of.peer,
        tag: of.tag,
        bytes_out: of.bytes_out,
        bytes_in: of.bytes_in,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_plain_words() {
        for (label, words) in [
            (Label::Iteration(0), "one iteration in 2"),
            (Label::Iteration(3), "one iteration in 16"),
            (Label::Ordinal(0), "one sample in 2"),
            (Label::Ordinal(1), "one sample in 4"),
            (Label::ShorterThanLog2(10), "shorter than 1.024 us"),
            (Label::Depth(3), "depth 3"),
        ] {
            assert_eq!(holds(label, 1000), words);
        }
        assert!(!holds(Label::Ordinal(u8::MAX), 1000).is_empty());
    }
}
