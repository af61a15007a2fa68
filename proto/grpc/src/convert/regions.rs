//! Converts the table of regions to its message for clients.

use super::sites::{Spot, function, spot};
use crate::v1;
use invivo_proto::control::regions::{Region, RegionStats, RegionTable};
use std::cmp::Reverse;

/// The table with at most `rows_max` rows, the one with the most own time first. Rows of equal time
/// are ordered by region, so that the output is the same every time.
pub fn reply(table: &RegionTable, rows_max: u32, coverage: v1::Coverage) -> v1::RegionsReply {
    let all = table.rows.iter().map(|(region, of)| row(region, of));
    let mut reply = v1::RegionsReply {
        coverage: Some(coverage),
        rows: all.collect(),
        rows_left_out: table.rows_left_out,
        left_out: Some(sums(&table.left_out)),
        rows_unnamed: table.unnamed,
        dropped: table.unrecorded.dropped,
        repaired: table.unrecorded.repaired,
        too_deep: table.unrecorded.too_deep,
        analysis: None,
        interval: None,
    };
    reply.rows.sort_by_key(|row| Reverse(row.own_ns));
    cut(&mut reply, rows_max);
    reply
}

/// Keeps the first `rows_max` rows of an answer; the others count among those left out.
pub fn cut(reply: &mut v1::RegionsReply, rows_max: u32) {
    let kept = reply.rows.len().min(rows_max as usize);
    let mut left_out = reply.left_out.take().unwrap_or_default();
    for row in reply.rows.drain(kept..) {
        add(&mut left_out, &row);
        reply.rows_left_out = reply.rows_left_out.saturating_add(1);
    }
    reply.left_out = Some(left_out);
}

fn row(region: &Region, of: &RegionStats) -> v1::RegionRow {
    let sums = sums(of);
    match region {
        Region::Marked(name) => v1::RegionRow {
            kind: "marked".to_owned(),
            name: name.clone(),
            ..sums
        },
        Region::Function(place) => {
            let Spot {
                kind,
                file,
                offset,
                build_id,
            } = spot(place);
            v1::RegionRow {
                kind: kind.to_owned(),
                file,
                offset,
                build_id,
                ..sums
            }
        }
    }
}

/// A row of no kind.
fn sums(of: &RegionStats) -> v1::RegionRow {
    v1::RegionRow {
        functions: of.named.iter().map(function).collect(),
        visits: of.visits,
        time_ns: of.time_ns,
        own_ns: of.own_ns,
        mpi_ns: of.mpi_ns,
        own_mpi_ns: of.own_mpi_ns,
        ranks: of.ranks,
        max_rank: of.most.0.0,
        max_ns: of.most.1,
        min_rank: of.least.0.0,
        min_ns: of.least.1,
        off_ranks: of.off,
        ..v1::RegionRow::default()
    }
}

/// Adds the sums of a row.
fn add(into: &mut v1::RegionRow, from: &v1::RegionRow) {
    if from.ranks == 0 {
        return;
    }
    if into.ranks == 0 || from.max_ns > into.max_ns {
        (into.max_ns, into.max_rank) = (from.max_ns, from.max_rank);
    }
    if into.ranks == 0 || from.min_ns < into.min_ns {
        (into.min_ns, into.min_rank) = (from.min_ns, from.min_rank);
    }
    into.visits = into.visits.saturating_add(from.visits);
    into.time_ns = into.time_ns.saturating_add(from.time_ns);
    into.own_ns = into.own_ns.saturating_add(from.own_ns);
    into.mpi_ns = into.mpi_ns.saturating_add(from.mpi_ns);
    into.own_mpi_ns = into.own_mpi_ns.saturating_add(from.own_mpi_ns);
    into.ranks = into.ranks.saturating_add(from.ranks);
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::regions::Unrecorded;
    use invivo_proto::control::sites::Place;
    use invivo_proto::ids::Rank;

    fn stats(own_ns: u64) -> RegionStats {
        RegionStats {
            visits: 2,
            time_ns: 100 - own_ns,
            own_ns,
            mpi_ns: 5,
            own_mpi_ns: 4,
            ranks: 3,
            most: (Rank(1), 50 - own_ns),
            least: (Rank(2), own_ns),
            off: 1,
            named: Vec::new(),
        }
    }

    fn table() -> RegionTable {
        let code = Place::Code {
            file: "solver".into(),
            build_id: vec![0xb, 0x1d],
            offset: 0x1b3c,
        };
        let rows = [
            (Region::Marked("step".into()), stats(10)),
            (Region::Function(code), stats(30)),
            (Region::Function(Place::Others), stats(20)),
        ];
        RegionTable {
            rows: rows.into(),
            rows_max: 3,
            rows_left_out: 4,
            unnamed: 1,
            unrecorded: Unrecorded {
                dropped: 7,
                repaired: 8,
                too_deep: 9,
            },
            ..RegionTable::default()
        }
    }

    #[test]
    fn rows_come_by_own_time_and_the_rest_is_summed() {
        let reply = reply(&table(), 1, v1::Coverage::default());
        let [first] = &reply.rows[..] else {
            panic!("{:?}", reply.rows)
        };
        assert_eq!((first.offset, first.kind.as_str()), (0x1b3c, "code"));
        assert_eq!(
            (first.build_id.as_str(), first.file.as_str()),
            ("0b1d", "solver")
        );
        assert_eq!((first.visits, first.time_ns, first.own_ns), (2, 70, 30));
        assert_eq!((first.mpi_ns, first.own_mpi_ns, first.ranks), (5, 4, 3));
        assert_eq!((first.max_rank, first.max_ns), (1, 20));
        assert_eq!((first.min_rank, first.min_ns), (2, 30));
        assert_eq!((reply.rows_left_out, reply.rows_unnamed), (6, 1));
        assert_eq!((reply.dropped, reply.repaired, reply.too_deep), (7, 8, 9));
        let left_out = reply.left_out.expect("sums");
        assert_eq!((left_out.kind.as_str(), left_out.visits), ("", 4));
        assert_eq!((left_out.time_ns, left_out.own_ns), (170, 30));
        assert_eq!((left_out.max_ns, left_out.min_ns), (40, 10));
    }

    #[test]
    fn a_region_says_of_what_kind_it_is() {
        let reply = reply(&table(), 3, v1::Coverage::default());
        let kinds = reply
            .rows
            .iter()
            .map(|row| (row.kind.as_str(), row.name.as_str()));
        let expected = [("code", ""), ("others", ""), ("marked", "step")];
        assert_eq!(kinds.collect::<Vec<_>>(), expected);
        assert_eq!(reply.left_out.map(|row| row.time_ns), Some(0));
    }
}
