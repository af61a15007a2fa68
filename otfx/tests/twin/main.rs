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
use invivo_otfx::{Buffer, Contents, EventClass, FlightRecorder, Geometry, Head, Ledger};
use invivo_proto::record::Part;
use pair::{BINS_MIN, Pair, STRATEGIES, STRATEGIES_AT_A_TIME, kept, run};
use proptest::prelude::{ProptestConfig, prop, proptest};

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
