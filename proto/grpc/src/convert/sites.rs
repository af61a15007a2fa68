//! Converts the table of call sites to its message for clients.

use super::distribution::{self, Bins};
use super::{function_row, wait_states};
use crate::v1;
use invivo_proto::control::local::Named;
use invivo_proto::control::sites::{Place, Site, SiteStats, SiteTable, SiteWaits};
use invivo_proto::control::wait_states::WaitState;
use invivo_proto::ids::RegionId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The table with at most `rows_max` rows, the one with the most time first. Rows of equal time are
/// ordered by place and function, so that the output is the same every time.
pub fn reply(
    table: &SiteTable,
    rows_max: u32,
    bins: Bins,
    coverage: v1::Coverage,
) -> v1::CallSitesReply {
    let mut rows: Vec<(&Site, &SiteStats)> = table.rows.iter().collect();
    rows.sort_by_key(|(_, row)| Reverse(row.stats.time.sum_ns));
    let mut reply = v1::CallSitesReply {
        coverage: Some(coverage),
        rows: (rows.into_iter())
            .map(|(site, of)| row(site, of, bins))
            .collect(),
        rows_left_out: table.rows_left_out,
        // No function has this number.
        left_out: Some(function_row(None, RegionId(0), &table.left_out)),
        rows_unnamed: table.unnamed,
        analysis: None,
        waits_left_out: Some(wait_states::row(None, "", &table.waits_left_out)),
        wait_states: None,
        messages: None,
        interval: None,
    };
    cut(&mut reply, rows_max);
    reply
}

/// Keeps the first `rows_max` rows of an answer; the others count among those left out.
pub fn cut(reply: &mut v1::CallSitesReply, rows_max: u32) {
    let kept = reply.rows.len().min(rows_max as usize);
    let mut left_out = reply.left_out.take().unwrap_or_default();
    let mut waits_left_out = reply.waits_left_out.take().unwrap_or_default();
    for row in reply.rows.drain(kept..) {
        if let Some(calls) = &row.calls {
            add(&mut left_out, calls);
        }
        let whole = row.waits.iter().filter(|waits| waits.part_of.is_empty());
        whole.for_each(|waits| add_waits(&mut waits_left_out, waits));
        reply.rows_left_out = reply.rows_left_out.saturating_add(1);
    }
    reply.left_out = Some(left_out);
    reply.waits_left_out = Some(waits_left_out);
}

pub(super) fn row(site: &Site, of: &SiteStats, bins: Bins) -> v1::CallSiteRow {
    let Spot {
        kind,
        file,
        offset,
        build_id,
    } = spot(&site.place);
    let mut calls = function_row(None, site.region, &of.stats);
    distribution::fill(&mut calls, &of.distribution, bins);
    v1::CallSiteRow {
        kind: kind.to_owned(),
        file,
        offset,
        build_id,
        functions: of.named.iter().map(function).collect(),
        ranks: of.ranks,
        calls: Some(calls),
        waits: waits(&of.waits),
    }
}

fn waits(of: &BTreeMap<WaitState, SiteWaits>) -> Vec<v1::SiteWaitRow> {
    let row = |(state, of): (&WaitState, &SiteWaits)| v1::SiteWaitRow {
        wait_state: state.name().to_owned(),
        part_of: wait_states::part_of(*state),
        waits: of.waited.waits,
        time_ns: of.waited.ns,
        max_ns: of.waited.max_ns,
        max_rank: of.waited.max_rank.0,
        causers: (of.causers.iter())
            .map(|causer| v1::Causer {
                rank: causer.rank.0,
                time_ns: causer.ns,
            })
            .collect(),
    };
    let mut rows: Vec<v1::SiteWaitRow> = of.iter().map(row).collect();
    rows.sort_by_key(|row| Reverse(row.time_ns));
    rows
}

/// A place as rows tell it; in no file all but the kind is empty.
pub(super) struct Spot {
    pub kind: &'static str,
    pub file: String,
    pub offset: u64,
    /// In hexadecimal digits.
    pub build_id: String,
}

pub(super) fn spot(place: &Place) -> Spot {
    let outside = |kind| Spot {
        kind,
        file: String::new(),
        offset: 0,
        build_id: String::new(),
    };
    match place {
        Place::NotNoted => outside("not noted"),
        Place::Others => outside("others"),
        Place::Nowhere => outside("nowhere"),
        Place::Code {
            file,
            build_id,
            offset,
        } => Spot {
            kind: "code",
            file: file.clone(),
            offset: *offset,
            build_id: build_id.iter().map(|byte| format!("{byte:02x}")).collect(),
        },
    }
}

pub(super) fn function(named: &Named) -> v1::CodeFunction {
    v1::CodeFunction {
        function: named.function.clone(),
        line: named.line.clone(),
    }
}

/// Adds the sums of a row; of rows together the deviation is not told.
fn add(into: &mut v1::FunctionRow, from: &v1::FunctionRow) {
    if from.calls > 0 && (into.calls == 0 || from.min_ns < into.min_ns) {
        into.min_ns = from.min_ns;
    }
    if from.max_ns > into.max_ns {
        (into.max_ns, into.max_rank) = (from.max_ns, from.max_rank);
    }
    into.calls = into.calls.saturating_add(from.calls);
    into.time_ns = into.time_ns.saturating_add(from.time_ns);
    into.bytes_out = into.bytes_out.saturating_add(from.bytes_out);
    into.bytes_in = into.bytes_in.saturating_add(from.bytes_in);
    into.clipped = into.clipped.saturating_add(from.clipped);
    into.stddev_ns = 0.0;
    into.mean_ns = match into.calls {
        0 => 0.0,
        calls => into.time_ns as f64 / calls as f64,
    };
}

fn add_waits(into: &mut v1::WaitStateRow, from: &v1::SiteWaitRow) {
    if from.max_ns > into.max_ns {
        (into.max_ns, into.max_rank) = (from.max_ns, from.max_rank);
    }
    into.waits = into.waits.saturating_add(from.waits);
    into.time_ns = into.time_ns.saturating_add(from.time_ns);
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::results::{FunctionStats, Moments};
    use invivo_proto::control::sites::Causer;
    use invivo_proto::control::wait_states::Waited;
    use invivo_proto::ids::Rank;

    fn waited(ns: u64) -> SiteWaits {
        SiteWaits {
            waited: Waited::once(ns, Rank(2)),
            causers: vec![Causer { rank: Rank(5), ns }],
        }
    }

    fn table() -> SiteTable {
        let row = |(offset, sum_ns)| {
            let site = Site {
                place: Place::Code {
                    file: "solver".into(),
                    build_id: vec![0xb, 0x1d],
                    offset,
                },
                region: RegionId(1),
            };
            let time = Moments {
                count: 2,
                sum_ns,
                min_ns: 1,
                max_ns: sum_ns - 1,
                ..Moments::EMPTY
            };
            let stats = FunctionStats {
                time,
                bytes_out: 8,
                ..FunctionStats::default()
            };
            let of = SiteStats {
                stats,
                ranks: 3,
                named: Vec::new(),
                waits: [(WaitState::WaitAtNxN, waited(sum_ns))].into(),
                ..SiteStats::default()
            };
            (site, of)
        };
        SiteTable {
            rows: [(1, 10), (2, 30), (3, 20)].map(row).into(),
            rows_max: 3,
            rows_left_out: 4,
            ..SiteTable::default()
        }
    }

    #[test]
    fn rows_come_by_time_and_the_rest_is_summed() {
        let reply = reply(&table(), 1, Bins::LeftOut, v1::Coverage::default());
        let [first] = &reply.rows[..] else {
            panic!("{:?}", reply.rows)
        };
        assert_eq!((first.offset, first.kind.as_str()), (2, "code"));
        assert_eq!((first.build_id.as_str(), first.ranks), ("0b1d", 3));
        let wait = &first.waits[0];
        assert_eq!(
            (wait.wait_state.as_str(), wait.time_ns),
            ("Wait at N x N", 30)
        );
        assert_eq!((wait.max_rank, wait.causers[0].rank), (2, 5));
        assert_eq!(reply.rows_left_out, 6);
        let waits_left_out = reply.waits_left_out.expect("sums");
        assert_eq!((waits_left_out.waits, waits_left_out.time_ns), (2, 30));
        let left_out = reply.left_out.expect("sums");
        assert_eq!(
            (left_out.calls, left_out.time_ns, left_out.bytes_out),
            (4, 30, 16)
        );
        assert_eq!(
            (left_out.min_ns, left_out.max_ns, left_out.mean_ns),
            (1, 19, 7.5)
        );
        assert_eq!(left_out.function, "");
    }
}
