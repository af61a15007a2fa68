//! The buffer against a naive twin: plain values in `VecDeque`s, with the same policy. Whatever is stored,
//! in whatever buffer, the same calls must be kept, in the same order, with the same parts.

mod input;
mod naive;
mod policy;

use input::{Op, ops};
use invivo_otfx::{Buffer, Geometry, Head, Ledger};
use invivo_proto::record::{Call, Part};
use naive::{Kept, Naive};
use policy::{Policy, TestStrategy};
use proptest::prelude::*;

/// Everything that a buffer keeps, as plain values.
fn kept(buffer: &Buffer) -> Vec<Kept> {
    let mut reader = buffer.read();
    let mut all = Vec::new();
    while let Some(record) = reader.next().expect("what was written can be read") {
        all.push(match record.head {
            Head::Call(call) => Kept::Call(call, record.parts.to_vec()),
            Head::Clipped { end } => Kept::Clipped(end, record.parts.to_vec()),
        });
    }
    all
}

fn check(buffer: &Buffer, naive: &Naive, contents: bool) -> Result<(), TestCaseError> {
    let ledger = buffer.ledger();
    prop_assert_eq!(ledger, naive.ledger());
    prop_assert_eq!(ledger.stored, ledger.kept + ledger.reduced + ledger.reset);
    let fill = buffer.fill();
    prop_assert_eq!((fill.bins_used as usize, fill.bytes_used as usize), naive.used());
    prop_assert_eq!(fill.span, naive.span());
    prop_assert_eq!(buffer.arena_bytes(), fill.geometry.arena_bytes());
    if contents {
        let kept = kept(buffer);
        let calls = kept.iter().filter(|k| matches!(k, Kept::Call(..))).count();
        prop_assert_eq!(calls as u64, ledger.kept);
        prop_assert_eq!(kept, naive.kept());
    }
    Ok(())
}

fn run(policy: Policy, bytes: usize, ops: &[Op]) -> Result<Ledger, TestCaseError> {
    let geometry = Geometry::of(bytes, policy.levels()).expect("large enough");
    let mut buffer = Buffer::new(bytes, policy.strategy()).expect("large enough");
    let mut naive = Naive::new(policy, geometry);
    let mut input = input::Input::default();
    for (index, op) in ops.iter().enumerate() {
        match op {
            Op::Store { seed, times } => {
                for _ in 0..*times {
                    let (call, parts) = input.call(seed);
                    prop_assert_eq!(buffer.store(&call, &parts), naive.store(&call, &parts));
                }
            }
            Op::More(seeds) => {
                let parts = input.parts(seeds);
                buffer.store_more(&parts);
                naive.store_more(&parts);
            }
            Op::Gap(numbers) => input.skip_requests(*numbers),
            Op::Reset => {
                buffer.reset();
                naive.reset();
            }
        }
        check(&buffer, &naive, index % 16 == 0)?;
    }
    check(&buffer, &naive, true)?;
    Ok(buffer.ledger())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_flight_recorder_equals_its_twin(bytes in 32usize << 10..96 << 10, ops in ops()) {
        run(Policy::FlightRecorder, bytes, &ops)?;
    }

    #[test]
    fn two_levels_that_share_the_bins_equal_their_twin(bytes in 64usize << 10..96 << 10, ops in ops()) {
        run(Policy::OldestOfLargest, bytes, &ops)?;
    }

    #[test]
    fn a_level_that_is_closed_for_ever_equals_its_twin(bytes in 64usize << 10..96 << 10, ops in ops()) {
        run(Policy::Closing, bytes, &ops)?;
    }
}

/// The properties above mean little if nothing ever had to go: a long run of the flight recorder reduces
/// most of it, keeps exactly the newest calls, and uses its bins.
#[test]
fn a_full_flight_recorder_keeps_the_newest() {
    let mut buffer = Buffer::new(256 << 10, Policy::FlightRecorder.strategy()).expect("large enough");
    let total = 200_000u64;
    for n in 0..total {
        let stored = buffer.store(&input::plain_call(n), &[]);
        assert!(stored.kept);
    }
    let ledger = buffer.ledger();
    assert_eq!(ledger.stored, total);
    assert!(ledger.reduced > total / 2 && ledger.kept > 25_000, "{ledger:?}");
    let expected: Vec<Kept> = (total - ledger.kept..total)
        .map(|n| Kept::Call(input::plain_call(n), Vec::new()))
        .collect();
    assert!(kept(&buffer) == expected);
    let fill = buffer.fill();
    assert!(fill.bins_used == fill.geometry.bins && fill.bytes_used * 100 > 95 * buffer.arena_bytes() as u64);
}

/// A call of more parts than a bin holds, and one of more than the whole buffer holds.
#[test]
fn calls_larger_than_a_bin_and_than_the_buffer() {
    let mut buffer = Buffer::new(32 << 10, Policy::FlightRecorder.strategy()).expect("large enough");
    let call = |n| Call {
        end: n,
        ..input::plain_call(n)
    };
    let large: Vec<Part> = (0..2_000).map(input::completion).collect();
    assert!(buffer.store(&call(1), &[]).kept);
    let stored = buffer.store(&call(2), &large);
    assert!(stored.kept && stored.given_up == 0);
    assert_eq!(
        kept(&buffer),
        [Kept::Call(call(1), vec![]), Kept::Call(call(2), large)]
    );

    let huge: Vec<Part> = (0..200_000).map(input::completion).collect();
    let stored = buffer.store(&call(2_500), &huge);
    assert!(!stored.kept && stored.given_up == 2);
    assert_eq!(
        buffer.ledger(),
        Ledger {
            stored: 3,
            reduced: 3,
            ..Ledger::default()
        }
    );
    assert!(matches!(kept(&buffer)[..], [Kept::Clipped(2_500, _)]));

    assert!(buffer.store(&call(3_000), &[]).kept);
    assert_eq!(kept(&buffer)[1..], [Kept::Call(call(3_000), vec![])]);
}

/// What a reset forgot does not come back in parts that arrive later.
#[test]
fn parts_of_a_forgotten_call_are_forgotten() {
    let mut buffer =
        Buffer::new(32 << 10, Box::new(TestStrategy::new(Policy::FlightRecorder))).expect("large");
    buffer.store(&input::plain_call(1), &[]);
    buffer.store_more(&[input::completion(0)]);
    assert!(matches!(&kept(&buffer)[..], [Kept::Call(_, parts)] if parts.len() == 1));
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
