//! The table of regions: time by the stretches that a program marks, and by its instrumented
//! functions.

use super::call_sites::{code, short};
use super::table::{Side, Table};
use super::units::{count, counted, duration, share};
use invivo_grpc::convert::regions::cut;
use invivo_grpc::v1::{RegionRow, RegionsReply};

/// What a program has to do before there are rows.
const NOTHING: &str = "no region has been entered yet: programs mark them (invivo_regions.h), or \
                       are compiled with\n-finstrument-functions; see the manual's page regions";

/// By which number rows are ordered, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Time in the region and in none below it.
    #[default]
    Own,
    /// Time in the region or below it.
    Time,
    /// How often it was entered.
    Visits,
    /// Time in MPI, in it or below it.
    Mpi,
}

/// Orders the rows of an answer; those that are equal stay as they are.
pub fn sort(rows: &mut [RegionRow], order: Order) {
    let key = |row: &RegionRow| match order {
        Order::Own => row.own_ns,
        Order::Time => row.time_ns,
        Order::Visits => row.visits,
        Order::Mpi => row.mpi_ns,
    };
    rows.sort_by_key(|row| std::cmp::Reverse(key(row)));
}

/// All ranks together, in the order of the answer, and lines about the rest and about what was not
/// recorded.
pub fn text(reply: &RegionsReply) -> String {
    let mut text = match nothing(reply) {
        Some(nothing) => format!("{nothing}\n"),
        None => table(reply),
    };
    for line in losses(reply) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// What a page shows of a report's regions: so many rows, those with the most own time.
pub fn shown(reply: &RegionsReply, rows_max: u32) -> RegionsReply {
    let mut shown = reply.clone();
    cut(&mut shown, rows_max);
    shown
}

/// The same in a report: nobody can be asked again.
pub fn of_report(reply: &RegionsReply, rows_max: u32) -> String {
    let shown = shown(reply, rows_max);
    let mut text = match nothing(&shown) {
        Some(_) => String::new(),
        None => by_region(&shown).text(),
    };
    for line in rest(&shown) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Sentences about what is not in the table of a report.
pub fn rest(reply: &RegionsReply) -> Vec<String> {
    let mut lines: Vec<String> = more(reply).into_iter().collect();
    if reply.rows_unnamed > 0 {
        let rows = counted(reply.rows_unnamed, "row");
        lines.push(format!("names of {rows} had not been looked up"));
    }
    lines.extend(losses(reply));
    lines
}

/// Which rows are not there; nothing where all are.
fn more(reply: &RegionsReply) -> Option<String> {
    let left_out = reply.left_out.as_ref()?;
    (reply.rows_left_out > 0).then(|| {
        format!(
            "... and {} more: {}, own time {}",
            counted(reply.rows_left_out, "row"),
            counted(left_out.visits, "visit"),
            duration(left_out.own_ns)
        )
    })
}

fn table(reply: &RegionsReply) -> String {
    let mut text = by_region(reply).text();
    if let Some(more) = more(reply) {
        text.push_str(&format!("{more}\n"));
    }
    if reply.rows_unnamed > 0 {
        text.push_str(&format!(
            "names of {} did not come in time; ask again\n",
            counted(reply.rows_unnamed, "row")
        ));
    }
    text
}

/// Own time of all rows, of those that are left out as well.
pub fn whole_ns(reply: &RegionsReply) -> u64 {
    let own = reply
        .rows
        .iter()
        .chain(&reply.left_out)
        .map(|row| row.own_ns);
    own.fold(0, u64::saturating_add)
}

/// A row for each region.
pub fn by_region(reply: &RegionsReply) -> Table {
    let whole = whole_ns(reply);
    let mut table = Table::new([
        ("region", Side::Left),
        ("visits", Side::Right),
        ("time", Side::Right),
        ("own", Side::Right),
        ("share", Side::Right),
        ("in MPI", Side::Right),
        ("mean per rank", Side::Right),
        ("max", Side::Right),
        ("of rank", Side::Right),
        ("ranks", Side::Right),
    ]);
    for row in &reply.rows {
        table.row([
            format!("{}{}", name(row), off(row)),
            count(row.visits),
            duration(row.time_ns),
            duration(row.own_ns),
            share(row.own_ns as f64, whole as f64),
            share(row.mpi_ns as f64, row.time_ns as f64),
            duration(row.time_ns / u64::from(row.ranks.max(1))),
            duration(row.max_ns),
            row.max_rank.to_string(),
            count(row.ranks.into()),
        ]);
    }
    table
}

/// Behind the name of a region that is not recorded now, because it is not selected: on which part
/// of its ranks.
fn off(row: &RegionRow) -> String {
    match row.off_ranks {
        0 => String::new(),
        off if off >= row.ranks => " (off)".to_owned(),
        off => format!(" (off on {off} of {})", counted(row.ranks.into(), "rank")),
    }
}

/// Why there are no rows, and what brings them; nothing where there are some.
pub fn nothing(reply: &RegionsReply) -> Option<&'static str> {
    reply.rows.is_empty().then_some(NOTHING)
}

/// What was not recorded as the program ran it, a sentence each, without an end.
pub fn losses(reply: &RegionsReply) -> Vec<String> {
    let of = [
        (
            reply.dropped,
            "a region was entered or left with no room to record that: time is missing",
        ),
        (
            reply.repaired,
            "a region was left by a jump, in the wrong order or without having been entered: times \
             of these are not exact",
        ),
        (
            reply.too_deep,
            "a region was entered below 256 others: its time counts as that of the last of them",
        ),
    ];
    let of = of.into_iter().filter(|(times, _)| *times > 0);
    of.map(|(times, what)| format!("{} since the start {what}", counted(times, "time")))
        .collect()
}

/// What a row is about: a marked region by its name in quotes, a function with its line.
pub fn name(row: &RegionRow) -> String {
    match row.kind.as_str() {
        "marked" => format!("\"{}\"", short(&row.name)),
        "code" => code(&row.file, row.offset, &row.functions),
        "nowhere" => "code in no file".to_owned(),
        _ => "other regions".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::CodeFunction;

    fn marked(name: &str) -> RegionRow {
        RegionRow {
            kind: "marked".to_owned(),
            name: name.to_owned(),
            visits: 1_200,
            time_ns: 8_000_000,
            own_ns: 3_000_000,
            mpi_ns: 2_000_000,
            ranks: 4,
            max_rank: 2,
            max_ns: 2_500_000,
            ..RegionRow::default()
        }
    }

    fn function(name: &str, line: &str) -> RegionRow {
        RegionRow {
            kind: "code".to_owned(),
            file: "solver".to_owned(),
            offset: 0x1b3c,
            functions: vec![CodeFunction {
                function: name.to_owned(),
                line: line.to_owned(),
            }],
            visits: 7,
            time_ns: 5_000_000,
            own_ns: 5_000_000,
            mpi_ns: 4_000_000,
            ranks: 1,
            max_ns: 5_000_000,
            ..RegionRow::default()
        }
    }

    #[test]
    fn a_region_is_told_as_well_as_it_is_known() {
        let long = format!("\"{}...\"", "n".repeat(48));
        for (row, expected) in [
            (marked("step"), "\"step\""),
            (marked(&"n".repeat(49)), long.as_str()),
            (function("solve", "solve.c:12"), "solve (solve.c:12)"),
            (function("solve", ""), "solve (solver+0x1b3c)"),
            (function("", ""), "solver+0x1b3c"),
        ] {
            assert_eq!(name(&row), expected);
        }
        for (kind, expected) in [("nowhere", "code in no file"), ("others", "other regions")] {
            let row = RegionRow {
                kind: kind.to_owned(),
                ..RegionRow::default()
            };
            assert_eq!(name(&row), expected);
        }
    }

    #[test]
    fn regions_that_are_not_recorded_are_marked() {
        for (off_ranks, expected) in [
            (0, "\"step\"  "),
            (2, "\"step\" (off on 2 of 4 ranks)  "),
            (4, "\"step\" (off)  "),
        ] {
            let row = RegionRow {
                off_ranks,
                ..marked("step")
            };
            let reply = RegionsReply {
                rows: vec![row],
                ..RegionsReply::default()
            };
            let text = text(&reply);
            assert!(text.lines().nth(1).expect(expected).starts_with(expected));
        }
    }

    #[test]
    fn columns_are_what_their_heads_say() {
        let reply = RegionsReply {
            rows: vec![function("solve", "solve.c:12"), marked("step")],
            rows_left_out: 3,
            left_out: Some(RegionRow {
                visits: 30,
                own_ns: 2_000_000,
                ..RegionRow::default()
            }),
            rows_unnamed: 1,
            ..RegionsReply::default()
        };
        let text = text(&reply);
        let lines: Vec<&str> = text.lines().collect();
        let cells = |line: &str| {
            let cells = line.split("  ").map(str::trim);
            cells
                .filter(|cell| !cell.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            cells(lines[0]),
            [
                "region",
                "visits",
                "time",
                "own",
                "share",
                "in MPI",
                "mean per rank",
                "max",
                "of rank",
                "ranks"
            ]
        );
        assert_eq!(
            cells(lines[1]),
            [
                "solve (solve.c:12)",
                "7",
                "5.00 ms",
                "5.00 ms",
                "50.0 %",
                "80.0 %",
                "5.00 ms",
                "5.00 ms",
                "0",
                "1"
            ]
        );
        assert_eq!(
            cells(lines[2]),
            [
                "\"step\"", "1,200", "8.00 ms", "3.00 ms", "30.0 %", "25.0 %", "2.00 ms",
                "2.50 ms", "2", "4"
            ]
        );
        assert_eq!(
            lines[3..],
            [
                "... and 3 rows more: 30 visits, own time 2.00 ms",
                "names of 1 row did not come in time; ask again"
            ]
        );
    }

    #[test]
    fn losses_are_said_where_there_are_some() {
        let reply = RegionsReply {
            rows: vec![marked("step")],
            dropped: 12,
            repaired: 1,
            too_deep: 3,
            ..RegionsReply::default()
        };
        let text = text(&reply);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert!(lines[0].starts_with("12 times since the start a region was entered or left"));
        assert!(lines[1].starts_with("1 time since the start a region was left by a jump"));
        assert!(lines[2].starts_with("3 times since the start a region was entered below 256"));
        let reply = RegionsReply {
            rows: vec![marked("step")],
            ..RegionsReply::default()
        };
        assert_eq!(super::text(&reply).lines().count(), 2);
    }

    #[test]
    fn without_regions_it_says_how_to_have_some() {
        let reply = RegionsReply {
            dropped: 1,
            ..RegionsReply::default()
        };
        let text = text(&reply);
        assert!(text.contains("invivo_regions.h") && text.contains("-finstrument-functions"));
        assert!(text.contains("\n1 time since the start"), "{text}");
    }

    #[test]
    fn rows_are_sorted_by_what_is_asked() {
        let rows = [
            marked("step"),
            function("solve", ""),
            RegionRow {
                own_ns: 4_000_000,
                ..RegionRow::default()
            },
        ];
        for (order, expected) in [
            (Order::Own, ["code", "", "marked"]),
            (Order::Time, ["marked", "code", ""]),
            (Order::Visits, ["marked", "code", ""]),
            (Order::Mpi, ["code", "marked", ""]),
        ] {
            let mut rows = rows.clone();
            sort(&mut rows, order);
            assert_eq!(rows.map(|row| row.kind), expected, "{order:?}");
        }
    }
}
