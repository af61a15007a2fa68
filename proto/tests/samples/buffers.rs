//! Examples of strategies, and of what buffers tell.

use invivo_proto::control::buffers::*;
use invivo_proto::control::contexts::{Context, Contexts};
use invivo_proto::control::regions::RegionName;
use invivo_proto::control::results::{Group, Ledger, RankState};
use invivo_proto::control::saved::{
    SaveAsk, SaveQuery, Saved, SavedBin, SavedLocation, SavedPage, SavedPiece,
};
use invivo_proto::control::stacks::{Chosen, Frame};
use invivo_proto::control::strategy::Strategy;
use invivo_proto::control::timeline::{Member, OpenCall, Piece, Timeline, TimelinePosition};
use invivo_proto::definition::Run;
use invivo_proto::ids::*;
use std::collections::BTreeMap;

pub fn strategy() -> Strategy {
    let text = "class:metric,depth:2,iterations:4@MPI_Barrier,duration:1ms,samples,cap=50%";
    Strategy::parse(text).expect("a strategy")
}

pub fn location() -> LocationId {
    LocationId {
        rank: Rank(2),
        thread: 1,
    }
}

pub fn cursor() -> Cursor {
    Cursor {
        end_ticks: 2900,
        given: 1,
    }
}

fn counters() -> BufferCounters {
    BufferCounters {
        stored: 200,
        kept: 80,
        reduced: 110,
        dropped: 3,
        reset: 7,
        parts_reduced: 2,
    }
}

fn losses() -> BTreeMap<(Label, RecordClass, LossReason), Loss> {
    let loss = Loss {
        records: 110,
        first_ns: 5_000_000_000,
        last_ns: 6_000_000_000,
    };
    [(
        (
            Label::ShorterThanLog2(12),
            RecordClass::Call,
            LossReason::Room,
        ),
        loss,
    )]
    .into()
}

pub fn buffers() -> Buffers {
    let spans = Spans {
        count: 1,
        sum_ns: 900,
        min_ns: 900,
        max_ns: 900,
        shortest: Some(location()),
    };
    let level = LevelSum {
        closed: 0,
        bins: 90,
        kept: 80,
        gone_until_ns: 6_000_000_000,
    };
    Buffers {
        strategies: [(strategy(), 4)].into(),
        locations: 1,
        without: 1,
        recycled: 1,
        bytes: 1 << 20,
        bytes_used: 700_000,
        bins: 128,
        bins_used: 90,
        stored: 200,
        kept: 80,
        parts_reduced: 2,
        regions: counters(),
        samples: counters(),
        reductions: 38,
        capped: Some(Capped {
            buffers: 1,
            first_ns: 5_000_000_000,
            last_ns: 5_000_000_000,
        }),
        thinned: Some(Thinned {
            locations: 4,
            untold: 1,
            least: 2,
            most: 3,
        }),
        span: spans,
        complete: spans,
        levels: [((1, Label::ShorterThanLog2(12)), level)].into(),
        losses: losses(),
        named: vec![OneBuffer {
            location: location(),
            bins: 128,
            bins_used: 90,
            bytes_used: 700_000,
            counters: counters(),
            span_ns: 900,
            complete_ns: 900,
            reductions: 38,
            capped_ns: Some(5_000_000_000),
            halvings: Some(Halvings {
                buffer: 3,
                known: 2,
            }),
        }],
        tick_ps: 333,
    }
}

/// A page of the last seconds: a location with calls, and one in a call.
pub fn timeline() -> Timeline {
    let records = records();
    let member = Member {
        id: CommId::WORLD,
        peers: CommId::WORLD,
        rank: 2,
    };
    let first = Piece {
        location: location(),
        rows: records.rows,
        samples: records.samples,
        is_complete: true,
        comms: [(CommLocal(0), member)].into(),
        peers: [((CommLocal(0), 1), Rank(1))].into(),
        regions: regions(),
        contexts: contexts(),
        open: Some(OpenCall {
            region: RegionId(2),
            begin_ns: 5_600_000_000,
            begin_ticks: 3200,
            occupant: 301,
        }),
        open_regions: vec![OpenCall {
            region: RegionId(4096),
            begin_ns: 5_000_000_000,
            begin_ticks: 2100,
            occupant: 301,
        }],
        state: RankState::InMpi,
        ledger: Ledger {
            entered: 200,
            open: 1,
            kept: 199,
            ..Ledger::default()
        },
        counters: counters(),
        regions_counted: counters(),
        samples_counted: counters(),
        losses: losses(),
        gone_until_ns: Some(4_000_000_000),
        not_kept: Some(3),
        left_out: 2,
        tick_ps: 333,
        is_broken: false,
    };
    Timeline {
        pieces: vec![first],
        next: Some(position()),
        clock_error_ns: 900,
    }
}

pub fn freeze(chosen: Chosen) -> SaveQuery {
    SaveQuery {
        save: 77,
        ask: SaveAsk::Freeze {
            chosen,
            from_ns: 5_000_000_000,
            to_ns: 6_000_000_000,
        },
    }
}

pub fn saved() -> Saved {
    let mut piece = timeline().pieces.remove(0);
    piece.rows.clear();
    let run = Run {
        first: Rank(1),
        stride: 2,
        count: 3,
    };
    let group = Group {
        pieces: [(0, vec![run])].into(),
    };
    let bins = [(0, vec![1, 2, 3]), (1, Vec::new())];
    let bins = bins.map(|(chain, content)| SavedBin { chain, content });
    let page = SavedPage {
        number: 3,
        is_gone: false,
        pieces: vec![SavedPiece {
            location: location(),
            about: Some(Box::new(SavedLocation {
                piece,
                comms_left_out: 9,
                clock: vec![(3000, 5_000_000_000), (3100, 5_000_000_033)],
                pauses: vec![(4_000_000_000, 4_500_000_000)],
                paces: vec![(1_000_000_000, 3_984_064), (5_000_000_000, 0)],
            })),
            bins: bins.into(),
            is_complete: true,
            is_cut: false,
        }],
        groups: [(CommId::WORLD, group)].into(),
        is_last: true,
        host: "node17".into(),
        clock_error_ns: 900,
    };
    Saved {
        locations: 4,
        bytes: 1 << 20,
        busy: 1,
        page: Some(page),
    }
}

pub fn position() -> TimelinePosition {
    TimelinePosition {
        location: location(),
        after: Some(cursor()),
    }
}

fn regions() -> BTreeMap<RegionId, RegionName> {
    let of = RegionName {
        name: "solve".into(),
        line: "solver.c:212".into(),
        is_function: true,
    };
    [(RegionId(4096), of)].into()
}

/// A function, and the kernel below it.
pub fn contexts() -> Contexts {
    let context = |parent, module: &str, name: &str| Context {
        parent,
        frame: Frame::Function {
            module: module.into(),
            name: name.into(),
        },
    };
    let both = [context(0, "solver", "solve"), context(1, "[kernel]", "")];
    (1..).zip(both).collect()
}

pub fn records() -> Records {
    let facts = RowFacts {
        kind: 9,
        region: RegionId(4),
        comm: CommLocal(0),
        peer: 1,
        tag: 99,
        bytes_out: 0,
        bytes_in: 4096,
    };
    Records {
        location: Some(location()),
        not_kept: None,
        regions: regions(),
        contexts: contexts(),
        rows: vec![Row {
            is_region: true,
            is_rest: false,
            facts: RowFacts {
                kind: 0,
                region: RegionId(6),
                ..RowFacts::default()
            },
            end_ns: 5_500_000_000,
            duration_ns: 200,
            end_ticks: 2900,
            duration_ticks: 600,
            ordinal: 0,
            request: 0,
            depth: 0,
            clipped: true,
            parts: vec![RowPart {
                facts,
                request: 7,
                posted_ticks: 1100,
            }],
            parts_left_out: 1,
            occupant: 300,
        }],
        samples: vec![SampleRow {
            at_ns: 5_500_000_100,
            at_ticks: 3200,
            ordinal: 8,
            context: 5,
            values: vec![112, 4096],
            occupant: 301,
        }],
        next: Some(cursor()),
        counters: counters(),
        losses: losses(),
        gone_until_ns: Some(6_000_000_000),
        tick_ps: 333,
        is_broken: false,
    }
}
