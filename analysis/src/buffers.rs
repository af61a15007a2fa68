//! Sums up what the buffers of all locations hold and what they gave up, with extremes and the few
//! locations that an answer names.
//!
//! Every list has a fixed length or that of the strategies' levels, so that an answer does not grow
//! with the job.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use invivo_proto::control::buffers::{
    BufferCounters, Buffers, Capped, Halvings, LOCATIONS_NAMED_MAX, LevelSum, Loss, OneBuffer,
    STRATEGIES_NAMED_MAX, Spans, Thinned,
};

/// Adds the report of other locations.
pub fn merge(into: &mut Buffers, from: Buffers) {
    for (strategy, ranks) in from.strategies {
        let sum = into.strategies.entry(strategy).or_default();
        *sum = sum.saturating_add(ranks);
    }

    // Of a union, the first so many are among the firsts of its parts.
    // Cutting after every merge keeps the message bounded.
    while into.strategies.len() > STRATEGIES_NAMED_MAX {
        into.strategies.pop_last();
    }

    for (sum, more) in [
        (&mut into.locations, from.locations),
        (&mut into.without, from.without),
        (&mut into.recycled, from.recycled),
    ] {
        *sum = sum.saturating_add(more);
    }

    for (sum, more) in [
        (&mut into.bytes, from.bytes),
        (&mut into.bytes_used, from.bytes_used),
        (&mut into.bins, from.bins),
        (&mut into.bins_used, from.bins_used),
        (&mut into.stored, from.stored),
        (&mut into.kept, from.kept),
        (&mut into.parts_reduced, from.parts_reduced),
        (&mut into.reductions, from.reductions),
    ] {
        *sum = sum.saturating_add(more);
    }

    add_counters(&mut into.regions, from.regions);
    merge_capped(&mut into.capped, from.capped);
    merge_thinned(&mut into.thinned, from.thinned);
    merge_spans(&mut into.span, &from.span);
    merge_spans(&mut into.complete, &from.complete);
    for (level, from) in from.levels {
        merge_level(into.levels.entry(level).or_default(), &from);
    }

    merge_losses(&mut into.losses, from.losses);
    into.named.extend(from.named);
    keep_worst(&mut into.named);
    // All nodes of a job have about the same tick; the largest is taken so that the order of the
    // merge does not matter.
    into.tick_ps = into.tick_ps.max(from.tick_ps);
}

/// Adds the records of other buffers.
pub fn add_counters(into: &mut BufferCounters, from: BufferCounters) {
    for (sum, more) in [
        (&mut into.stored, from.stored),
        (&mut into.kept, from.kept),
        (&mut into.reduced, from.reduced),
        (&mut into.dropped, from.dropped),
        (&mut into.reset, from.reset),
        (&mut into.parts_reduced, from.parts_reduced),
    ] {
        *sum = sum.saturating_add(more);
    }
}

/// Adds one location's buffer to lengths of time.
pub fn add_span(into: &mut Spans, of: &OneBuffer, ns: u64) {
    merge_spans(
        into,
        &Spans {
            count: 1,
            sum_ns: ns,
            min_ns: ns,
            max_ns: ns,
            shortest: Some(of.location),
        },
    );
}

/// Adds buffers that have reached their cap.
pub fn merge_capped(into: &mut Option<Capped>, from: Option<Capped>) {
    let Some(from) = from else { return };
    let into = into.get_or_insert(Capped { buffers: 0, ..from });
    into.buffers = into.buffers.saturating_add(from.buffers);
    into.first_ns = into.first_ns.min(from.first_ns);
    into.last_ns = into.last_ns.max(from.last_ns);
}

/// Adds one location's halvings of the frequency of samples.
pub fn add_halvings(into: &mut Option<Thinned>, of: Option<Halvings>) {
    let one = of.map(|of| Thinned {
        locations: 1,
        untold: u32::from(of.known != of.buffer),
        least: of.buffer,
        most: of.buffer,
    });
    merge_thinned(into, one);
}

fn merge_thinned(into: &mut Option<Thinned>, from: Option<Thinned>) {
    let Some(from) = from else { return };
    let into = into.get_or_insert(Thinned {
        locations: 0,
        untold: 0,
        ..from
    });
    into.locations = into.locations.saturating_add(from.locations);
    into.untold = into.untold.saturating_add(from.untold);
    into.least = into.least.min(from.least);
    into.most = into.most.max(from.most);
}

fn merge_spans(into: &mut Spans, from: &Spans) {
    // Of two that are as short, the lowest location; nobody's has the longest.
    let key = |spans: &Spans| (spans.min_ns, spans.shortest.is_none(), spans.shortest);
    if key(from) < key(into) {
        (into.min_ns, into.shortest) = (from.min_ns, from.shortest);
    }
    // Saturating: a damaged message must not stop the node.
    into.count = into.count.saturating_add(from.count);
    into.sum_ns = into.sum_ns.saturating_add(from.sum_ns);
    into.max_ns = into.max_ns.max(from.max_ns);
}

/// Adds one level's sums to another's.
pub fn merge_level(into: &mut LevelSum, from: &LevelSum) {
    into.closed = into.closed.saturating_add(from.closed);
    into.bins = into.bins.saturating_add(from.bins);
    into.kept = into.kept.saturating_add(from.kept);
    into.gone_until_ns = into.gone_until_ns.max(from.gone_until_ns);
}

/// Adds losses, each under its own key.
pub fn merge_losses<K: Ord>(
    into: &mut BTreeMap<K, Loss>,
    from: impl IntoIterator<Item = (K, Loss)>,
) {
    for (key, from) in from {
        into.entry(key)
            .and_modify(|into| {
                into.records = into.records.saturating_add(from.records);
                into.first_ns = into.first_ns.min(from.first_ns);
                into.last_ns = into.last_ns.max(from.last_ns);
            })
            .or_insert(from);
    }
}

/// Sorts locations worst first, that is the shortest complete history first, names each once, and
/// keeps as many as an answer names. A place brings its own into this form too.
pub fn keep_worst(named: &mut Vec<OneBuffer>) {
    let order = |one: &OneBuffer| {
        let counters = &one.counters;
        let kept = (
            counters.stored,
            counters.kept,
            counters.reduced,
            counters.dropped,
            counters.reset,
        );
        let size = (
            one.bins,
            one.bins_used,
            one.bytes_used,
            counters.parts_reduced,
        );
        // What follows the location only decides between two statements about one.
        let gone = (one.reductions, one.capped_ns, one.halvings);
        (one.complete_ns, one.location, one.span_ns, kept, size, gone)
    };

    // `dedup_by_key` removes only neighbours, so equal locations have to stand side by side first.
    named.sort_unstable_by_key(|one| (one.location, order(one)));
    named.dedup_by_key(|one| one.location);
    named.sort_unstable_by_key(order);
    named.truncate(LOCATIONS_NAMED_MAX);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use invivo_proto::control::buffers::{BufferCounters, Label, LossReason, RecordClass};
    use invivo_proto::control::strategy::{Rule, Strategy as Kept};
    use invivo_proto::ids::{LocationId, Rank};
    use proptest::prelude::*;

    fn one() -> impl Strategy<Value = OneBuffer> {
        (0u32..60, 0u16..2, 0u64..9, 0u64..9).prop_map(|(rank, thread, complete_ns, kept)| {
            OneBuffer {
                location: LocationId {
                    rank: Rank(rank),
                    thread,
                },
                bins: 128,
                bins_used: 100,
                bytes_used: kept * 9,
                counters: BufferCounters {
                    stored: 2 * kept,
                    kept,
                    reduced: kept,
                    ..BufferCounters::default()
                },
                span_ns: complete_ns * 2,
                complete_ns,
                reductions: kept,
                capped_ns: (kept > 6).then_some(complete_ns),
                halvings: (kept > 3).then_some(Halvings {
                    buffer: complete_ns as u32,
                    known: kept as u32,
                }),
            }
        })
    }

    fn loss() -> impl Strategy<Value = ((Label, RecordClass, LossReason), Loss)> {
        let label = prop::sample::select(
            &[Label::Rest, Label::ShorterThanLog2(9), Label::Iteration(1)][..],
        );
        let reason = prop::sample::select(&[LossReason::Room, LossReason::Reset][..]);
        (label, reason, 1u64..9, 0u64..90, 0u64..90).prop_map(
            |(label, reason, records, first_ns, more)| {
                let last_ns = first_ns + more;
                let loss = Loss {
                    records,
                    first_ns,
                    last_ns,
                };
                ((label, RecordClass::Call, reason), loss)
            },
        )
    }

    fn add_cap(sum: &mut Buffers, one: &OneBuffer) {
        sum.reductions += one.reductions;
        let capped = one.capped_ns.map(|at| Capped {
            buffers: 1,
            first_ns: at,
            last_ns: at,
        });
        merge_capped(&mut sum.capped, capped);
        add_halvings(&mut sum.thinned, one.halvings);
    }

    /// The answer of a place.
    pub fn of_place() -> impl Strategy<Value = Buffers> {
        let strategies = prop::collection::btree_map(1u64..30, 1u32..5, 0..6);
        let level = (0u16..4, 0u8..3, 0u64..9).prop_map(|(at, bits, kept)| {
            let sum = LevelSum {
                closed: u32::from(bits == 0),
                bins: kept,
                kept,
                gone_until_ns: kept * 7,
            };
            ((at, Label::ShorterThanLog2(bits)), sum)
        });
        let levels = prop::collection::btree_map(0u16..4, level, 0..5);
        (
            strategies,
            levels,
            prop::collection::vec(loss(), 0..6),
            prop::collection::vec(one(), 0..40),
            0u64..500,
        )
            .prop_map(|(strategies, levels, losses, mut named, tick_ps)| {
                let mut buffers = Buffers {
                    locations: named.len() as u32,
                    tick_ps,
                    ..Buffers::default()
                };
                for (us, ranks) in strategies {
                    let rule = Rule::Duration { kept_ns: us * 1000 };
                    buffers
                        .strategies
                        .insert(Kept::new(&[rule], 0).expect("a strategy"), ranks);
                }
                while buffers.strategies.len() > STRATEGIES_NAMED_MAX {
                    buffers.strategies.pop_last();
                }
                buffers.levels = levels.into_values().collect();
                merge_losses(&mut buffers.losses, losses);
                for one in &named {
                    add_span(&mut buffers.span, one, one.span_ns);
                    add_span(&mut buffers.complete, one, one.complete_ns);
                    buffers.kept += one.counters.kept;
                    add_cap(&mut buffers, one);
                }
                keep_worst(&mut named);
                buffers.named = named;
                buffers
            })
    }

    proptest! {
        /// Sums, extremes and names are those of a flat look at all locations.
        #[test]
        fn the_sum_is_that_of_all_locations(
            places in prop::collection::vec(prop::collection::vec(one(), 0..40), 1..5),
        ) {
            let mut sum = Buffers::default();
            let mut all = Vec::new();
            for (number, named) in places.into_iter().enumerate() {
                let mut of_place = Buffers::default();
                let mut named = named;
                for one in &mut named {
                    one.location.rank.0 += number as u32 * 100;
                }
                named.sort_by_key(|one| one.location);
                named.dedup_by_key(|one| one.location);
                for one in &named {
                    add_span(&mut of_place.complete, one, one.complete_ns);
                    of_place.kept += one.counters.kept;
                    add_cap(&mut of_place, one);
                }
                all.extend(named.iter().copied());
                keep_worst(&mut named);
                of_place.named = named;
                merge(&mut sum, of_place);
            }

            prop_assert_eq!(sum.kept, all.iter().map(|one| one.counters.kept).sum::<u64>());
            prop_assert_eq!(sum.reductions, all.iter().map(|one| one.reductions).sum::<u64>());
            let capped = all.iter().filter_map(|one| one.capped_ns);
            prop_assert_eq!(
                sum.capped.map(|capped| (capped.buffers as usize, capped.first_ns, capped.last_ns)),
                capped
                    .clone()
                    .min()
                    .zip(capped.clone().max())
                    .map(|(first, last)| (capped.count(), first, last))
            );
            let thinned = all.iter().filter_map(|one| one.halvings);
            let untold = thinned.clone().filter(|of| of.buffer != of.known).count() as u32;
            let buffers = thinned.map(|of| of.buffer);
            prop_assert_eq!(
                sum.thinned,
                buffers.clone().min().zip(buffers.clone().max()).map(|(least, most)| Thinned {
                    locations: buffers.count() as u32,
                    untold,
                    least,
                    most,
                })
            );
            prop_assert_eq!(
                sum.complete.sum_ns,
                all.iter().map(|one| one.complete_ns).sum::<u64>()
            );
            let shortest = all.iter().min_by_key(|one| (one.complete_ns, one.location));
            prop_assert_eq!(sum.complete.shortest, shortest.map(|one| one.location));
            all.sort_by_key(|one| (one.complete_ns, one.location));
            all.truncate(LOCATIONS_NAMED_MAX);
            prop_assert_eq!(sum.named, all);
        }
    }
}
