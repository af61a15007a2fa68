//! Samples that are thinned evenly, and calls that are given up at a cap.
//!
//! The samples come from the generator of the tree with test hooks: one for every so many calls.

use crate::FloodResults;
use crate::full_record::all;
use crate::strategy_model::{Sorter, assert_is_the_strategys};
use crate::{RANKS, TOO_SMALL};
use invivo_e2e::clients::number;
use invivo_otfx::{Buffer, Geometry, Strategy};
use serde_json::Value;

/// Levels of samples: level n has the ordinals divisible by 2^n and no higher power; the last has
/// all that are left.
const LEVELS: u32 = 16;
/// The error of a mark of the cap, which is in job time: ticks are converted by a rate that is
/// measured again and again. Processes of one node have one clock: job time itself is exact.
const MARK_TOLERANCE_NS: u64 = 100_000;

/// The level of a sample.
fn level(ordinal: u64) -> u32 {
    ordinal.trailing_zeros().min(LEVELS - 1)
}

fn levels(buffers: &Value) -> &[Value] {
    let levels = buffers["levels"].as_array().expect("levels");
    assert_eq!(levels.len(), LEVELS as usize + 1, "{buffers}");
    levels
}

/// The number of calls that a flight recorder of this size takes before it gives up the first one,
/// and the end of the call for which it does. A real buffer is fed, because the size of a call
/// depends on its encoding.
fn fits(results: &FloodResults, rank: u32, geometry: Geometry) -> (u64, u64) {
    let mut buffer =
        Buffer::with_geometry(geometry, Strategy::flight_recorder()).expect("large enough");
    let (mut fit, mut end) = (0, None);
    all(results.tap.path(), rank, |call, parts| {
        // `all` reads to the end of the record; what comes behind the first reduction is skipped.
        if end.is_some() {
            return;
        }
        buffer.store(call, parts);
        match buffer.reductions() {
            0 => fit += 1,
            _ => end = Some(call.end),
        }
    });
    (fit, end.expect("more than fits"))
}

/// The ends of the first call of a rank and of call `number`. The tap has more, up to the end of
/// the job.
fn ends(results: &FloodResults, rank: u32, number: u64) -> (u64, u64) {
    let (mut calls, mut first, mut last) = (0, None, 0);
    all(results.tap.path(), rank, |call, _| {
        calls += 1;
        first.get_or_insert(call.end);
        if calls == number {
            last = call.end;
        }
    });
    assert!(
        calls >= number,
        "the place took {calls} calls and stored {number}"
    );
    (first.expect("a call"), last)
}

/// Checks that all calls are gone since the one that no longer fitted into half of the buffer, and
/// that the samples are left whose ordinal is divisible by the last halving's power of two.
pub fn assert_thinned(results: &FloodResults, every: u64) {
    let buffers = &results.buffers;
    assert_eq!(
        number(buffers, "/capped/buffers"),
        u64::from(RANKS),
        "{buffers}"
    );

    let mut samples = Vec::new();
    for (rank, kept) in &results.kept {
        let counts = &kept.counts;
        let taken = counts.stored;
        // All calls are gone, and none is missing in the counters.
        assert_eq!((counts.kept, counts.reduced), (0, taken));

        let (first, last) = ends(results, *rank, taken);
        samples.push(taken / every);
        assert!(kept.calls.is_empty());
        // One loss for each reason: the cap is the only one.
        let mut of_calls = kept.losses.iter().filter(|loss| loss.class == "call");
        let (lost, None) = (of_calls.next().expect("a loss"), of_calls.next()) else {
            panic!("calls went at the cap alone");
        };
        assert_eq!(
            (lost.reason.as_str(), lost.records),
            ("over the cap", taken)
        );

        let named = buffers["named"].as_array().expect("locations");
        let one = named
            .iter()
            .find(|one| number(one, "/location/rank") == u64::from(*rank));
        let one = one.expect("four locations are named");

        let (bins, bytes) = (
            number(one, "/bins"),
            number(buffers, "/bytes") / u64::from(RANKS),
        );
        let bin_bytes = (bytes / bins) as usize;
        // Calls may use half of the buffer: the cap is 50 %.
        let half = Geometry::with_bins(bin_bytes * bins as usize / 2, bin_bytes);
        let (fit, dropped) = fits(results, *rank, half);
        assert!(
            taken >= TOO_SMALL * 2 * fit,
            "{taken} calls, of which half a buffer takes {fit}"
        );

        // Job time is a linear function of ticks, of which the losses give two points.
        let slope = (lost.last_ns - lost.first_ns) as f64 / (last - first) as f64;
        let wanted = lost.first_ns + ((dropped - first) as f64 * slope) as u64;
        let marked = number(one, "/capped_ns");
        assert!(
            marked.abs_diff(wanted) <= MARK_TOLERANCE_NS,
            "rank {rank}: dropped at {marked} ns, not at {wanted} ns"
        );
    }

    let levels = levels(buffers);
    let closed = |level: &Value| number(level, "/closed");
    // Levels are closed from the lowest on, on every rank.
    let halvings = levels
        .iter()
        .take_while(|level| closed(level) == u64::from(RANKS))
        .count() as u32;
    assert!((1..LEVELS).contains(&halvings), "{buffers}");

    assert_notified(results, halvings, every);
    for (rank, kept) in &results.kept {
        // The value of a sample is the number of calls before it: multiples of one distance.
        let found = kept
            .samples
            .iter()
            .map(|sample| (sample.ordinal, sample.values[0]));
        let left = (1..=kept.counts.stored / every).filter(|ordinal| level(*ordinal) >= halvings);
        assert!(
            found.eq(left.map(|ordinal| (ordinal, ordinal * every))),
            "rank {rank} after {halvings} halvings"
        );
    }

    for (at, of_level) in (0..).zip(&levels[..LEVELS as usize]) {
        // On a busy machine ranks have different numbers of samples.
        let left = |samples: u64| {
            let of_level = |ordinal: &u64| level(*ordinal) == at && at >= halvings;
            (1..=samples).filter(of_level).count() as u64
        };
        assert_eq!(
            number(of_level, "/kept"),
            samples.iter().copied().map(left).sum::<u64>(),
            "level {at} of {samples:?} samples: {buffers}"
        );
        assert_eq!(
            closed(of_level),
            if at < halvings { u64::from(RANKS) } else { 0 }
        );
    }
}

/// Checks that each rank was notified of the halvings of its frequency, but perhaps of the last
/// one, which may come behind its last calls; and in time, so that few samples were made to be
/// dropped.
fn assert_notified(results: &FloodResults, halvings: u32, every: u64) {
    let buffers = &results.buffers;
    assert_eq!(
        number(buffers, "/thinned/locations"),
        u64::from(RANKS),
        "{buffers}"
    );
    let named = buffers["named"].as_array().expect("locations");
    assert_eq!(named.len(), RANKS as usize);
    for one in named {
        assert_eq!(
            number(one, "/halvings/buffer"),
            u64::from(halvings),
            "{one}"
        );
        assert!(
            number(one, "/halvings/known") + 1 >= u64::from(halvings),
            "the rank was not notified: {one}"
        );
    }
    for (rank, kept) in &results.kept {
        let lost = kept.losses.iter().filter(|loss| loss.class == "sample");
        let closed = lost.filter(|loss| loss.reason == "of a closed level");
        let in_vain: u64 = closed.map(|loss| loss.records).sum();
        // Samples that were due by the number of calls, had their frequency not been halved.
        let due = kept.counts.stored / every;
        assert!(
            in_vain * 10 < due,
            "rank {rank}: {in_vain} of {due} samples in vain"
        );
    }
}

/// Checks that no sample is left, and that the calls are those of a flight recorder.
pub fn assert_crowded_out(results: &FloodResults) {
    for level in &levels(&results.buffers)[..LEVELS as usize] {
        assert_eq!(
            (number(level, "/kept"), number(level, "/closed")),
            (0, u64::from(RANKS))
        );
    }

    let lost = results.buffers["losses"].as_array().expect("losses");
    assert!(
        lost.iter().any(|loss| loss["class"] == "sample"),
        "{lost:?}"
    );
    for (rank, kept) in &results.kept {
        let counts = &kept.counts;
        assert!(
            counts.stored >= TOO_SMALL * counts.kept && counts.kept > 0,
            "{} of {}",
            counts.kept,
            counts.stored
        );
        assert_is_the_strategys(
            &mut Sorter::new("time", &results.buffers),
            &kept.calls,
            results.tap.path(),
            *rank,
        );
    }
}
