//! A known table of call sites.

use invivo_proto::control::local::Named;
use invivo_proto::control::sites::{Place, Site, SiteStats, SiteTable};
use invivo_proto::ids::RegionId;

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
        };
        (site, stats)
    };
    SiteTable {
        rows: (1..4).map(row).collect(),
        rows_max: 3,
        left_out: super::stats(7, 50, 0),
        rows_left_out: 2,
        unnamed: 0,
    }
}
