//! Known buffers, and a page of what they keep.

use invivo_proto::control::buffers::{
    BufferCounters, Buffers, Cursor, Halvings, Label, LevelSum, Loss, LossReason, OneBuffer,
    RecordClass, Records, Row, RowFacts, Spans, Thinned,
};
use invivo_proto::ids::{LocationId, Rank, RegionId};

/// Two levels of four buffers, of which one lost something.
pub fn buffers() -> Buffers {
    let location = LocationId {
        rank: Rank(2),
        thread: 0,
    };
    let spans = Spans {
        count: 4,
        sum_ns: 8_000_000_000,
        min_ns: 1_000_000_000,
        max_ns: 3_000_000_000,
        shortest: Some(location),
    };
    let level = |kept, gone_until_ns| LevelSum {
        closed: 0,
        bins: kept,
        kept,
        gone_until_ns,
    };
    let loss = Loss {
        records: 400,
        first_ns: 1_000_000_000,
        last_ns: 5_000_000_000,
    };
    Buffers {
        strategies: [("duration:1ms".parse().expect("a strategy"), 4)].into(),
        locations: 4,
        without: 1,
        recycled: 2,
        bytes: 4 << 20,
        bytes_used: 900,
        bins: 512,
        bins_used: 100,
        stored: 500,
        kept: 100,
        span: spans,
        complete: spans,
        levels: [
            ((1, Label::ShorterThanLog2(20)), level(0, 5_000_000_000)),
            ((2, Label::Rest), level(100, 0)),
        ]
        .into(),
        losses: [(
            (
                Label::ShorterThanLog2(20),
                RecordClass::Call,
                LossReason::Room,
            ),
            loss,
        )]
        .into(),
        named: vec![OneBuffer {
            location,
            complete_ns: 1_000_000_000,
            halvings: Some(Halvings {
                buffer: 3,
                known: 2,
            }),
            ..OneBuffer::default()
        }],
        thinned: Some(Thinned {
            locations: 4,
            untold: 1,
            least: 2,
            most: 3,
        }),
        tick_ps: 500,
        ..Buffers::default()
    }
}

/// A page of one call, of ranks that there are; behind it comes another.
pub fn records(location: LocationId, max: u32) -> Records {
    if location.rank.0 >= 4 {
        return Records::default();
    }
    Records {
        location: Some(location),
        rows: vec![Row {
            facts: RowFacts {
                kind: 1,
                region: RegionId(1),
                peer: 3,
                tag: 7,
                bytes_out: u64::from(max),
                ..RowFacts::default()
            },
            end_ns: 5_000_000_000,
            duration_ns: 700,
            end_ticks: 2900,
            duration_ticks: 1400,
            ..Row::default()
        }],
        next: Some(Cursor {
            end_ticks: 2900,
            given: 1,
        }),
        counters: BufferCounters {
            stored: 5,
            kept: 1,
            reduced: 4,
            ..BufferCounters::default()
        },
        gone_until_ns: Some(4_000_000_000),
        tick_ps: 500,
        ..Records::default()
    }
}
