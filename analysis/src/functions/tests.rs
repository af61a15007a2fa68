use super::*;
use crate::moments::tests::nearly_equal;
use crate::testing::{self, Recorded};
use alloc::collections::BTreeMap;
use invivo_proto::control::histogram::{BINS_MAX, Distribution, Histogram};
use proptest::prelude::*;

/// One pass over everything for each row of the table, by another wording of the rules.
fn naive(all: &[Recorded], rank: Option<Rank>, region: RegionId) -> FunctionStats {
    let mut row = FunctionStats::default();
    for recorded in all
        .iter()
        .filter(|r| rank.is_none_or(|rank| r.rank == rank))
    {
        if recorded.call.facts.region == region {
            moments::insert(&mut row.time, recorded.duration_ns, recorded.rank);
            row.clipped += u64::from(recorded.clipped);
        }
        for facts in recorded.facts().filter(|facts| facts.region == region) {
            let message = facts.peer != peer::NULL;
            row.bytes_out += match facts.kind {
                RecordKind::Send | RecordKind::PostSend | RecordKind::Plain => {
                    facts.bytes_out * u64::from(message)
                }
                RecordKind::Collective | RecordKind::PostCollective => facts.bytes_out,
                _ => 0,
            };
            row.bytes_in += match facts.kind {
                RecordKind::Recv | RecordKind::CompletedRecv | RecordKind::Plain => {
                    facts.bytes_in * u64::from(message)
                }
                RecordKind::Collective | RecordKind::CompletedCollective => facts.bytes_in,
                _ => 0,
            };
        }
    }

    row
}

/// The rows of a table as [`naive`] counts them: merged, and all by rank.
fn naive_rows(
    all: &[Recorded],
) -> (
    BTreeMap<RegionId, FunctionStats>,
    BTreeMap<(Rank, RegionId), FunctionStats>,
) {
    let (mut merged, mut by_rank) = (BTreeMap::new(), BTreeMap::new());
    for r in all {
        for facts in r.facts() {
            merged.insert(facts.region, naive(all, None, facts.region));
            let row = naive(all, Some(r.rank), facts.region);
            by_rank.insert((r.rank, facts.region), row);
        }
    }

    // A row is there where a call was made, or something moved, though it be an empty message.
    let there_is = |rank: Option<Rank>, region| {
        let mut of_rank = all
            .iter()
            .filter(|r| rank.is_none_or(|rank| r.rank == rank));
        of_rank.any(|r| {
            let moves = |facts: &Facts| bytes(facts) != (0, 0) || size(facts).is_some();
            let mut facts = r.facts().filter(|facts| facts.region == region);
            r.call.facts.region == region || facts.any(moves)
        })
    };
    merged.retain(|region, _| there_is(None, *region));
    by_rank.retain(|(rank, region), _| there_is(Some(*rank), *region));
    (merged, by_rank)
}

fn same(a: &FunctionStats, b: &FunctionStats) -> bool {
    let exact = |of: &FunctionStats| (of.bytes_out, of.bytes_in, of.clipped);
    exact(a) == exact(b) && nearly_equal(&a.time, &b.time)
}

proptest! {
    #[test]
    fn the_table_equals_a_direct_count(all in testing::recorded(), rank_rows_max in 0u32..60) {
        let mut functions = Functions::default();
        for r in &all {
            functions.record(r.rank, &r.call, &r.parts, r.duration_ns, r.clipped);
        }

        let table = functions.to_partial(rank_rows_max);
        let (merged, by_rank) = naive_rows(&all);
        prop_assert!(table.rows.keys().eq(merged.keys()));
        for (key, row) in &table.rows {
            prop_assert!(same(row, &merged[key]), "{row:?} {:?}", merged[key]);
        }

        prop_assert_eq!(table.rank_rows_total, by_rank.len() as u64);
        let mut longest: Vec<_> = by_rank.iter().collect();
        longest.sort_by_key(|(key, row)| (Reverse(row.time.sum_ns), **key));
        longest.truncate(rank_rows_max as usize);
        longest.sort_by_key(|(key, _)| **key);
        prop_assert!(table.rank_rows.keys().eq(longest.iter().map(|(key, _)| *key)));
        for (row, (_, other)) in table.rank_rows.values().zip(longest) {
            prop_assert!(same(row, other), "{row:?} {other:?}");
        }

        // In two pieces it is the same.
        let taken = functions.take();
        prop_assert!(functions.rows().is_empty());
        for r in &all {
            functions.record(r.rank, &r.call, &r.parts, r.duration_ns, r.clipped);
        }
        let mut twice = functions.take();
        twice.add(&taken);
        let twice = super::table(&twice, rank_rows_max);
        prop_assert!(twice.rank_rows.len() == table.rank_rows.len());
        for (key, row) in &twice.rows {
            let once = &table.rows[key];
            prop_assert_eq!(row.time.sum_ns, 2 * once.time.sum_ns);
            prop_assert_eq!((row.bytes_in, row.time.max_ns), (2 * once.bytes_in, once.time.max_ns));
        }

        functions.reset();
        prop_assert_eq!(functions.to_partial(0), FunctionTable::default());
    }
}

const ISEND: RegionId = RegionId(1);
const IRECV: RegionId = RegionId(2);
const WAITALL: RegionId = RegionId(3);

fn facts(kind: RecordKind, region: RegionId, bytes_out: u64, bytes_in: u64) -> Facts {
    Facts {
        kind,
        region,
        bytes_out,
        bytes_in,
        ..Facts::default()
    }
}

#[test]
fn bytes_belong_to_the_operation() {
    let mut functions = Functions::default();
    let call = |facts| Call {
        facts,
        ..Call::default()
    };

    let part = |facts| Part {
        facts,
        ..Part::default()
    };

    functions.record(
        Rank(7),
        &call(facts(RecordKind::PostSend, ISEND, 100, 0)),
        &[],
        10,
        false,
    );
    functions.record(
        Rank(7),
        &call(facts(RecordKind::PostRecv, IRECV, 0, 1000)),
        &[],
        20,
        true,
    );
    functions.record(
        Rank(7),
        &call(facts(RecordKind::Plain, WAITALL, 0, 0)),
        &[
            part(facts(RecordKind::CompletedSend, ISEND, 100, 0)),
            part(facts(RecordKind::CompletedRecv, IRECV, 0, 64)),
        ],
        30,
        false,
    );
    let rows = functions.to_partial(0).rows;
    let row = |region| {
        let row = &rows[&region];
        (row.time.count, row.time.sum_ns, row.bytes_out, row.bytes_in)
    };

    assert_eq!((rows[&ISEND].clipped, rows[&IRECV].clipped), (0, 1));
    assert_eq!(row(ISEND), (1, 10, 100, 0));
    assert_eq!(row(IRECV), (1, 20, 0, 64));
    assert_eq!(row(WAITALL), (1, 30, 0, 0));
    assert_eq!(rows[&WAITALL].time.max_rank, Rank(7));
}

#[test]
fn messages_to_nobody_move_nothing() {
    let mut functions = Functions::default();
    let to_nobody = Facts {
        peer: peer::NULL,
        ..facts(RecordKind::Send, ISEND, 100, 0)
    };

    functions.record(
        Rank(0),
        &Call {
            facts: to_nobody,
            ..Call::default()
        },
        &[],
        1,
        false,
    );
    let row = functions.to_partial(0).rows[&ISEND];
    assert_eq!((row.time.count, row.bytes_out), (1, 0));
}

/// Each operation once, by the larger side; messages also when they are empty.
#[test]
fn an_operation_has_one_size() {
    use RecordKind::*;
    let of = |kind, out, into| size(&facts(kind, ISEND, out, into));
    assert_eq!((of(Send, 8, 0), of(PostSend, 0, 0)), (Some(8), Some(0)));
    assert_eq!(
        (of(Recv, 0, 9), of(CompletedRecv, 0, 0)),
        (Some(9), Some(0))
    );
    // A posted receive knows its room, and not what comes.
    assert_eq!(of(PostRecv, 0, 64), None);
    assert_eq!(
        (of(Collective, 8, 64), of(Collective, 0, 0)),
        (Some(64), None)
    );
    // One that sends nothing, as a leaf of a broadcast; it counts when it is posted.
    assert_eq!(of(PostCollective, 0, 64), Some(64));
    assert_eq!(of(CompletedCollective, 0, 64), None);
    assert_eq!((of(Plain, 8, 8), of(Plain, 0, 0)), (Some(8), None));
    let mut nobody = facts(Send, ISEND, 8, 0);
    nobody.peer = peer::NULL;
    assert_eq!(size(&nobody), None);
}

#[test]
fn the_largest_table_fits_into_a_message() {
    let mut row = FunctionStats::default();
    row.time.count = u64::MAX;
    row.time.sum_ns = u64::MAX;
    row.time.max_ns = u64::MAX;
    row.time.max_rank = Rank(u32::MAX);
    row.bytes_out = u64::MAX;
    row.bytes_in = u64::MAX;
    row.clipped = u64::MAX;
    let key = |n| (Rank(u32::MAX - n), RegionId(u16::MAX));
    // More functions than MPI has.
    const FUNCTIONS: u16 = 512;
    let bins = (0..BINS_MAX as u16).map(|number| (number * 7, u64::MAX));
    let histogram = Histogram::new(0, bins.collect());
    let wide = Distribution {
        durations: histogram.clone(),
        sizes: histogram,
        ..Distribution::default()
    };
    let table = FunctionTable {
        rank_rows: (0..RANK_ROWS_MAX).map(|n| (key(n), row)).collect(),
        distributions: (0..FUNCTIONS)
            .map(|n| (RegionId(n), wide.clone()))
            .collect(),
        ..FunctionTable::default()
    };

    let bytes = invivo_proto::control::encode(&table)
        .expect("it fits")
        .len();
    assert!(
        bytes < invivo_proto::control::MESSAGE_BYTES_MAX * 9 / 10,
        "{bytes}"
    );
}
