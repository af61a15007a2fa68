//! Bins of calls in any order and of any length, beside a computation tick by tick.

use super::*;
use invivo_mpi_link::clock::Reading;
use invivo_proto::control::grid::GridQuery;
use proptest::prelude::*;

/// A clock whose ticks are ns.
fn clock() -> NodeClock {
    let reading = Reading {
        ticks: 0,
        ns: 0,
        width_ticks: 0,
    };
    NodeClock::from_readings(reading, reading)
}

/// How far job time is ahead of ticks.
const AHEAD_NS: u64 = 7 * UNIT_NS + 12_345;

fn time(clock: &NodeClock) -> JobTime<'_> {
    JobTime {
        anchor: (1_000, 1_000 + AHEAD_NS),
        clock,
    }
}

#[derive(Clone, Copy, Debug)]
struct Call {
    begin: u64,
    length: u64,
    bytes: u64,
}

/// Mostly short ones, one behind the other; some span many bins; some threads come late.
fn calls() -> impl Strategy<Value = Vec<Call>> {
    let gap = prop_oneof![6 => 0u64..1000, 2 => 0u64..3 * UNIT_NS, 1 => 0u64..200 * UNIT_NS];
    let length = prop_oneof![6 => 0u64..1000, 2 => 0u64..4 * UNIT_NS, 1 => 0u64..50 * UNIT_NS];
    let late = prop_oneof![9 => Just(0u64), 1 => 0u64..10 * UNIT_NS];
    prop::collection::vec((gap, length, late, 0u64..100), 1..60).prop_map(|all| {
        let mut now = 0;
        let call = |(gap, length, late, bytes): (u64, u64, u64, u64)| {
            now += gap;
            let begin = now - now.min(late);
            now = now.max(begin + length);
            Call {
                begin,
                length,
                bytes,
            }
        };
        all.into_iter().map(call).collect()
    })
}

fn feed(calls: &[Call], pauses: &Pauses, clock: &NodeClock) -> OverTime {
    let mut over_time = OverTime::default();
    for call in calls {
        let (begin, end) = (call.begin, call.begin + call.length);
        let net = pauses.net(begin, end).ticks;
        let span = Span { begin, end, net };
        if !over_time.add(span, call.bytes) {
            over_time.turn(span, call.bytes, pauses, &time(clock));
        }
    }
    over_time
}

/// What of a call lies in a column, without pauses.
fn overlap(call: &Call, from: u64, to: u64, pauses: &Pauses) -> u64 {
    let begin = (call.begin + AHEAD_NS).max(from);
    let end = (call.begin + call.length + AHEAD_NS).min(to);
    match begin < end {
        true => pauses.net(begin - AHEAD_NS, end - AHEAD_NS).ticks,
        false => 0,
    }
}

proptest! {
    #[test]
    fn columns_equal_a_direct_computation(
        calls in calls(),
        columns_max in 1u32..40,
        pause in prop::option::of((0u64..100 * UNIT_NS, 0u64..20 * UNIT_NS)),
    ) {
        let clock = clock();
        let mut pauses = Pauses::default();
        if let Some((begin, length)) = pause {
            pauses.begin(begin);
            pauses.end(begin + length);
        }
        let over_time = feed(&calls, &pauses, &clock);
        let end_ns = calls.iter().map(|call| call.begin + call.length).max().unwrap() + AHEAD_NS;
        let asked = GridQuery {
            to_ns: end_ns + 1,
            observed_ns: end_ns,
            columns_max,
            rows_max: 1,
            ..GridQuery::default()
        };
        let axes = Axes::of(&asked, 1);
        let of = |metric| over_time.columns(metric, &axes, &clock).expect("narrow bins");
        for column in 0..axes.columns {
            let (from, to) = (axes.begin_ns(column), axes.begin_ns(column + 1));
            let ended = calls.iter().filter(|call| {
                (from..to).contains(&(call.begin + call.length + AHEAD_NS))
            });
            let at = column as usize;
            prop_assert_eq!(of(CallMetric::Calls)[at], ended.clone().count() as u64);
            let bytes: u64 = ended.map(|call| call.bytes).sum();
            prop_assert_eq!(of(CallMetric::BytesSent)[at], bytes);
            let ns: u64 = calls.iter().map(|call| overlap(call, from, to, &pauses)).sum();
            prop_assert_eq!(of(CallMetric::MpiTime)[at], ns);
        }
    }

    /// Waits in any order, of any length.
    #[test]
    fn waiting_lies_where_it_was(calls in calls(), columns_max in 1u32..40) {
        let mut over_time = OverTime::default();
        let end_ns = calls.iter().map(|call| call.begin + call.length).max().unwrap();
        for call in &calls {
            over_time.wait(call.begin, call.length);
        }
        let asked = GridQuery {
            to_ns: end_ns + 1,
            observed_ns: end_ns,
            columns_max,
            rows_max: 1,
            ..GridQuery::default()
        };
        let axes = Axes::of(&asked, 1);
        let told = over_time.columns(CallMetric::Waiting, &axes, &clock()).expect("narrow bins");
        for column in 0..axes.columns {
            let (from, to) = (axes.begin_ns(column), axes.begin_ns(column + 1));
            let overlap = |call: &Call| {
                let end = (call.begin + call.length).min(to);
                end.saturating_sub(call.begin.max(from))
            };
            let ns: u64 = calls.iter().map(overlap).sum();
            prop_assert_eq!(told[column as usize], ns);
        }
    }

    #[test]
    fn recorded_time_equals_counting_ticks(
        cuts in prop::collection::btree_set(0u64..60, 0..8),
        edges in prop::collection::btree_set(0u64..60, 2..8),
        from in 0u64..60,
        until in 0u64..60,
        pause in (0u64..60, 0u64..20),
    ) {
        let cuts: Vec<u64> = cuts.into_iter().collect();
        let intervals: Vec<(u64, u64)> =
            cuts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let edges: Vec<u64> = edges.into_iter().collect();
        let mut pauses = Pauses::default();
        pauses.begin(pause.0);
        pauses.end(pause.0 + pause.1);
        let is_paused = |tick: u64| (pause.0..pause.0 + pause.1).contains(&tick);
        let is_in = |tick: u64| intervals.iter().any(|one| (one.0..one.1).contains(&tick));
        let naive: Vec<u64> = edges
            .windows(2)
            .map(|edge| {
                let ticks = edge[0].max(from)..edge[1].min(until).max(edge[0].max(from));
                ticks.filter(|&tick| is_in(tick) && !is_paused(tick)).count() as u64
            })
            .collect();
        prop_assert_eq!(recorded(&edges, &intervals, from, until, &pauses), naive);
    }
}

#[test]
fn bins_that_are_wider_than_columns_give_nothing() {
    let clock = clock();
    let far = Call {
        begin: 5000 * UNIT_NS,
        length: 10,
        bytes: 0,
    };
    let near = Call { begin: 0, ..far };
    let over_time = feed(&[near, far], &Pauses::default(), &clock);
    let axes = Axes {
        width_ns: UNIT_NS,
        first: 0,
        columns: 4,
        block_ranks: 1,
    };
    assert_eq!(over_time.columns(CallMetric::Calls, &axes, &clock), None);
}
