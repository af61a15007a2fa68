//! A known table of call sites.

use invivo_proto::control::iterations::{Begin, Iterations, Lengths};
use invivo_proto::control::local::Named;
use invivo_proto::control::profile::Past;
use invivo_proto::control::sites::{Causer, Place, Site, SiteStats, SiteTable, SiteWaits};
use invivo_proto::control::wait_states::{WaitState, Waited};
use invivo_proto::ids::{Rank, RegionId};

/// A wait of rank 3 for rank 2.
fn waits(ns: u64) -> SiteWaits {
    SiteWaits {
        waited: Waited::once(ns, Rank(3)),
        causers: vec![Causer { rank: Rank(2), ns }],
    }
}

/// Iterations of four ranks, more of the later lines.
fn iterations(line: u64) -> Iterations {
    let first_ns = 8_100;
    Iterations {
        lengths: Lengths {
            time: super::stats(40 * line, 4_000_000_000, 1).time,
            longest: Past {
                from_ns: 8_150,
                to_ns: 8_200,
            },
            first_ns,
            last: Past {
                from_ns: 8_200,
                to_ns: 8_300,
            },
            others: 4,
            others_ns: 50,
        },
        ranks: 4,
        fewest: 10 * line,
        most: 10 * line + 1,
    }
}

/// Three lines of a program, the last of which has most of the time; what was left out before.
pub fn sites() -> SiteTable {
    let row = |line: u64| {
        let site = Site {
            place: Place::Code {
                file: "app".into(),
                build_id: vec![0xb, 0x1d],
                offset: line,
            },
            region: RegionId(2),
        };
        let named = Named {
            function: "exchange".into(),
            line: format!("app.c:{line}"),
        };
        let stats = SiteStats {
            stats: super::stats(5, 100 * line, 1),
            ranks: 4,
            named: vec![named],
            waits: [(WaitState::LateSender, waits(10 * line))].into(),
            distribution: super::distribution(5),
            iterations: [(Begin::Call, iterations(line))].into(),
        };
        (site, stats)
    };
    SiteTable {
        rows: (1..4).map(row).collect(),
        rows_max: 3,
        left_out: super::stats(7, 50, 0),
        rows_left_out: 2,
        unnamed: 0,
        waits_left_out: Waited::once(5, Rank(1)),
        past: None,
    }
}
