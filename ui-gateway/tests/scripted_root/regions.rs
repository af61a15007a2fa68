//! A known table of regions.

use invivo_proto::control::local::Named;
use invivo_proto::control::regions::{Region, RegionStats, RegionTable, Unrecorded};
use invivo_proto::control::sites::Place;
use invivo_proto::ids::Rank;

/// The marked region `step` with all of the time, in which an instrumented function has most of it;
/// what was left out before.
pub fn regions() -> RegionTable {
    let stats = |time_ns, own_ns| RegionStats {
        visits: 40,
        time_ns,
        own_ns,
        mpi_ns: time_ns / 2,
        own_mpi_ns: own_ns / 4,
        ranks: 4,
        most: (Rank(2), time_ns / 2),
        least: (Rank(1), time_ns / 10),
        off: 1,
        named: Vec::new(),
    };
    let solve = RegionStats {
        named: vec![Named {
            function: "solve".into(),
            line: "app.c:12".into(),
        }],
        ..stats(700, 700)
    };
    let code = Place::Code {
        file: "app".into(),
        build_id: vec![0xb, 0x1d],
        offset: 12,
    };
    RegionTable {
        rows: [
            (Region::Marked("step".into()), stats(1_000, 300)),
            (Region::Function(code), solve),
        ]
        .into(),
        rows_max: 2,
        left_out: stats(20, 20),
        rows_left_out: 3,
        unnamed: 1,
        unrecorded: Unrecorded {
            dropped: 5,
            repaired: 6,
            too_deep: 7,
        },
        past: None,
    }
}
