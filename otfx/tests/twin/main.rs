//! The buffer against a naive twin: plain values in `VecDeque`s, with the same policy. Whatever is
//! stored, in whatever buffer, the same records must be kept, in the same order, with the same
//! parts.

mod definitions;
mod input;
mod naive;
mod pair;
mod policy;
mod size;

use input::ops;
use invivo_otfx::Reason;
use invivo_otfx::{
    Buffer, ChainError, Chains, Classes, Contents, Dimension, EventClass, FlightRecorder, Geometry,
    Head, Ledger, Rule, Strategy,
};
use invivo_proto::record::{Call, Part};
use pair::{BINS_MIN, Pair, STRATEGIES, STRATEGIES_AT_A_TIME, kept, run};
use proptest::prelude::{ProptestConfig, prop, prop_assert_eq, proptest};

#[test]
fn all_strategies_are_tried() {
    assert_eq!(policy::strategies().len(), STRATEGIES);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn equals_its_twin(
        strategy in 0..STRATEGIES,
        bytes in 48usize << 10..96 << 10,
        ops in ops(STRATEGIES),
    ) {
        run(Pair::new(strategy, bytes), &ops)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn equals_its_twin_under_any_strategy(
        strategies in prop::collection::vec(policy::any(), STRATEGIES_AT_A_TIME),
        bin_bytes in 1usize << 10..4 << 10,
        bins in BINS_MIN..2 * BINS_MIN,
        ops in ops(STRATEGIES_AT_A_TIME),
    ) {
        let geometry = Geometry::with_bins(bin_bytes * bins, bin_bytes);
        run(Pair::among(strategies, 0, geometry), &ops)?;
    }
}

/// The property above means little if it never meets what it is about: over a fixed set of cases,
/// records are lost for every reason that a short run can bring about, in every class.
#[test]
fn the_twin_meets_every_loss() {
    use proptest::strategy::{Strategy as _, ValueTree};
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for strategy in (0..STRATEGIES).cycle().take(6 * STRATEGIES) {
        let case = ops(STRATEGIES)
            .new_tree(&mut runner)
            .expect("a case")
            .current();
        let mut pair = Pair::new(strategy, 48 << 10);
        for op in &case {
            pair.apply(op).expect("equal");
        }
        seen.extend(pair.buffer.losses().map(|loss| (loss.reason, loss.class)));
    }
    for reason in Reason::ALL {
        let classes: Vec<EventClass> = EventClass::ALL
            .into_iter()
            .filter(|class| seen.contains(&(reason, *class)))
            .collect();
        let expected: &[EventClass] = match reason {
            Reason::Room | Reason::Held | Reason::Reset => &EventClass::ALL,
            Reason::Closed => &[EventClass::Sample],
            Reason::Cap => &[EventClass::Call, EventClass::Region, EventClass::Metric],
            // Of regions there is nothing to refuse.
            Reason::Refused => &[EventClass::Call, EventClass::Sample, EventClass::Metric],
            // See `levels_of_former_strategies_stay_bounded`.
            Reason::Strategy => &[],
        };
        let met = expected
            .iter()
            .filter(|class| classes.contains(class))
            .count();
        assert_eq!(
            met,
            expected.len(),
            "{reason:?} was met for {classes:?} only"
        );
    }
}

/// The properties above mean little if nothing ever had to go: a long run of the flight recorder
/// reduces most of it, keeps exactly the newest calls, and uses its bins.
#[test]
fn a_full_flight_recorder_keeps_the_newest() {
    let mut buffer = Buffer::new(256 << 10, Box::new(FlightRecorder)).expect("large enough");
    let total = 200_000u64;
    for n in 0..total {
        let stored = buffer.store(&input::plain_call(n), &[]);
        assert!(stored.kept);
    }
    let ledger = buffer.ledger();
    assert_eq!(ledger.stored, total);
    assert!(
        ledger.reduced > total / 2 && ledger.kept > 25_000,
        "{ledger:?}"
    );
    let expected: Vec<Contents> = (total - ledger.kept..total)
        .map(|n| only(n, Vec::new()))
        .collect();
    assert!(kept(&buffer) == expected);
    // From any time on: nothing of it is missing, and little else is read.
    for behind in [0, 1, 17, 5_000, ledger.kept - 1] {
        let from = total - 1 - behind;
        let since = input::plain_call(from).end;
        let mut reader = buffer.read_since(since);
        let (mut read, mut found) = (0, Vec::new());
        while let Some(record) = reader.next().expect("what was written can be read") {
            read += 1;
            if record.head.end() >= since {
                found.push(record.clone());
            }
        }
        assert!(found[..] == expected[expected.len() - 1 - behind as usize..]);
        assert!(read <= behind + 2_000, "{read} records read for {behind}");
    }
    let fill = buffer.fill();
    assert!(
        fill.bins_used == fill.geometry.bins
            && fill.bytes_used * 100 > 95 * buffer.arena_bytes() as u64
    );
}

/// A call as it is read back.
fn only(n: u64, parts: Vec<Part>) -> Contents {
    Contents {
        head: Head::Call(input::plain_call(n)),
        parts,
        ..Contents::default()
    }
}

/// A call of more parts than a bin holds, and one of more than the whole buffer holds.
#[test]
fn calls_larger_than_a_bin_and_than_the_buffer() {
    let mut buffer = Buffer::new(32 << 10, Box::new(FlightRecorder)).expect("large enough");
    let large: Vec<Part> = (0..2_000).map(input::completion).collect();
    assert!(buffer.store(&input::plain_call(1), &[]).kept);
    let stored = buffer.store(&input::plain_call(2), &large);
    assert!(stored.kept && stored.given_up == 0);
    assert_eq!(kept(&buffer), [only(1, vec![]), only(2, large)]);

    let huge: Vec<Part> = (0..200_000).map(input::completion).collect();
    let stored = buffer.store(&input::plain_call(3), &huge);
    assert!(!stored.kept && stored.given_up == 2);
    assert_eq!(
        buffer.ledger(),
        Ledger {
            stored: 3,
            reduced: 3,
            ..Ledger::default()
        }
    );
    assert!(matches!(
        kept(&buffer)[..],
        [Contents {
            head: Head::Rest { end: 3_000 },
            ..
        }]
    ));

    assert!(buffer.store(&input::plain_call(4), &[]).kept);
    assert_eq!(kept(&buffer)[1..], [only(4, vec![])]);
}

/// What a reset forgot does not come back in parts that arrive later.
#[test]
fn parts_of_a_forgotten_call_are_forgotten() {
    let mut buffer = Buffer::new(32 << 10, Box::new(FlightRecorder)).expect("large");
    buffer.store(&input::plain_call(1), &[]);
    buffer.store_more(&[input::completion(0)]);
    assert_eq!(kept(&buffer), [only(1, vec![input::completion(0)])]);
    buffer.reset();
    buffer.store_more(&[input::completion(1)]);
    assert_eq!(kept(&buffer), []);
    assert_eq!(
        buffer.ledger(),
        Ledger {
            stored: 1,
            reset: 1,
            ..Ledger::default()
        }
    );
}

/// Strategies that change all the time leave levels behind, as many as are told apart, and all
/// books balance.
#[test]
fn levels_of_former_strategies_stay_bounded() {
    let mut buffer = Buffer::new(1 << 20, Box::new(FlightRecorder)).expect("large");
    for n in 0..600 {
        let strategy = policy::strategies().swap_remove(n as usize % STRATEGIES);
        buffer.set_strategy(strategy).expect("large");
        buffer.store(&input::plain_call(n), &[]);
    }
    let ledger = buffer.ledger();
    assert!(
        ledger.kept > 100 && ledger.kept < 200 && ledger.kept + ledger.reduced == 600,
        "{ledger:?}"
    );
    assert_eq!(kept(&buffer).len() as u64, ledger.kept);
    assert!(buffer.levels().count() < 160);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Bins that were moved out of a frozen view are read as the buffer was, whatever is stored
    /// meanwhile; calls of more parts than a bin holds go on in the next bin.
    #[test]
    fn moved_bins_read_as_their_buffer_did(
        calls in prop::collection::vec((0u64..5_000, 0usize..300), 1..400),
        by_duration: bool,
        later in 0u64..2_000,
        since in 0u64..400,
    ) {
        let strategy = match by_duration {
            true => vec![Rule {
                of: Classes::ALL,
                by: Dimension::Duration { kept_log2: 12, levels: 6 },
            }],
            false => Vec::new(),
        };
        let strategy = Strategy { rules: strategy, event_cap: None };
        let geometry = Geometry::with_bins(64 << 10, 1 << 10);
        let mut buffer = Buffer::with_geometry(geometry, strategy).expect("large enough");
        for (n, (duration, parts)) in (1u64..).zip(&calls) {
            // Few have many parts.
            let parts = if n % 7 == 0 { *parts } else { parts % 3 };
            let parts: Vec<Part> = (0..parts as u64).map(input::completion).collect();
            let call = Call { duration: *duration, ..input::plain_call(n) };
            buffer.store(&call, &parts);
        }

        let mut view = buffer.freeze().expect("no view is out");
        let since = input::plain_call(since).end;
        let expected: Vec<Contents> = kept(&buffer)
            .into_iter()
            .filter(|record| record.head.end() >= since)
            .collect();
        view.skip_before(&mut buffer, since);
        let (mut bins, mut bytes) = (Vec::new(), view.bytes_left(&buffer));
        let mut n = calls.len() as u64 + 1;
        loop {
            let mut content = Vec::new();
            let Some(chain) = view.next_bin(&mut buffer, &mut content) else {
                break;
            };
            bytes -= content.len() as u64;
            bins.push((chain as usize, content));
            // Writing goes on between two bins.
            for _ in 0..later.min(40) {
                buffer.store(&input::plain_call(n), &[]);
                n += 1;
            }
        }
        buffer.thaw(view);
        prop_assert_eq!(bytes, 0);

        bins.reverse();
        let chains = bins.iter().map(|(chain, _)| chain + 1).max().unwrap_or(0);
        let mut chained: Vec<Vec<Vec<u8>>> = vec![Vec::new(); chains];
        bins.into_iter().for_each(|(chain, content)| chained[chain].push(content));
        let mut chains = Chains::new(chains);
        let mut read = Vec::new();
        while let Some(record) = chains
            .next(|chain, into| {
                let next = chained[chain].pop();
                into.extend_from_slice(next.as_deref().unwrap_or_default());
                Ok::<bool, ChainError>(next.is_some())
            })
            .expect("what was written can be read")
        {
            if record.head.end() >= since {
                read.push(record.clone());
            }
        }
        prop_assert_eq!(read, expected);
        let ledger = buffer.ledger();
        prop_assert_eq!(
            ledger.stored,
            ledger.kept + ledger.reduced + ledger.dropped + ledger.reset
        );
    }
}
