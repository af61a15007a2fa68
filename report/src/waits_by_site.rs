//! Wait states by where in the program somebody waits, and for whom mostly.

use crate::call_sites::place;
use crate::table::{Side, Table};
use crate::units::{count, counted, duration, share};
use invivo_grpc::v1::{CallSiteRow, CallSitesReply, SiteWaitRow};
use std::cmp::Reverse;

/// What a report calls the table.
pub const HEADING: &str = "Wait states by call site, longest first";

/// Waiting at a site in one way.
type Row<'a> = (&'a CallSiteRow, &'a SiteWaitRow);

/// The rows with the most waiting, as many as are asked for, and what the others had.
pub struct ByPlace {
    pub table: Table,
    /// How much of the waiting is in each row.
    pub parts: Vec<f64>,
    /// A sentence about the others; nothing where there are none.
    pub rest: Option<String>,
}

/// The table with `rows_max` rows; nothing where nobody has waited.
pub fn by_place(reply: &CallSitesReply, rows_max: usize) -> Option<ByPlace> {
    let mut rows: Vec<Row<'_>> = (reply.rows.iter())
        .flat_map(|row| row.waits.iter().map(move |waits| (row, waits)))
        .filter(|(_, waits)| waits.time_ns > 0)
        .collect();
    rows.sort_by_key(|(_, waits)| Reverse(waits.time_ns));
    let left_out = reply.waits_left_out.as_ref().map_or(0, |of| of.time_ns);
    let sum = |rows: &[Row<'_>]| {
        let whole = rows.iter().filter(|(_, of)| of.part_of.is_empty());
        whole.map(|(_, of)| of.time_ns).sum::<u64>()
    };
    let all = sum(&rows).saturating_add(left_out);
    if rows.is_empty() && left_out == 0 {
        return None;
    }
    let others = rows.split_off(rows.len().min(rows_max));
    let rest = sum(&others).saturating_add(left_out);
    let sides = [Side::Left, Side::Left, Side::Left];
    let sides = sides
        .into_iter()
        .chain([Side::Right; 5])
        .chain([Side::Left]);
    let heads = [
        "called from",
        "function",
        "wait state",
        "time",
        "share",
        "waits",
        "max",
        "of rank",
        "mostly for",
    ];
    let mut table = Table::of(heads.map(str::to_owned).into_iter().zip(sides));
    for (row, waits) in &rows {
        let calls = row.calls.as_ref();
        table.row([
            place(row),
            calls.map_or_else(String::new, |calls| calls.function.clone()),
            waits.wait_state.clone(),
            duration(waits.time_ns),
            match waits.time_ns > all {
                // A part that is told later than its whole.
                true => "-".to_owned(),
                false => share(waits.time_ns as f64, all as f64),
            },
            count(waits.waits),
            duration(waits.max_ns),
            waits.max_rank.to_string(),
            causer(waits),
        ]);
    }
    let part = |(_, waits): &Row<'_>| (waits.time_ns as f64 / all.max(1) as f64).min(1.0);
    Some(ByPlace {
        parts: rows.iter().map(part).collect(),
        table,
        rest: (rest > 0).then(|| format!("... and {} in further rows", duration(rest))),
    })
}

/// "rank 2 (98.4 %)"; nothing where nobody is waited for.
fn causer(of: &SiteWaitRow) -> String {
    (of.causers.first()).map_or_else(String::new, |causer| {
        let part = share(causer.time_ns as f64, of.time_ns as f64);
        format!("rank {} ({part})", causer.rank)
    })
}

/// The table as text, with a line about the others.
pub fn text(reply: &CallSitesReply, rows_max: usize) -> String {
    let Some(of) = by_place(reply, rows_max) else {
        return "nobody has waited for anybody yet\n".to_owned();
    };
    let mut text = of.table.text();
    if let Some(rest) = of.rest {
        text.push_str(&format!("{rest}\n"));
    }
    text
}

/// A line about names that did not come in time; nothing where all did.
pub fn unnamed(reply: &CallSitesReply) -> String {
    match reply.rows_unnamed {
        0 => String::new(),
        rows => format!(
            "names of {} did not come in time; ask again\n",
            counted(rows, "site")
        ),
    }
}

/// The same in a report, with a heading; nothing where nobody has waited.
pub fn of_report(reply: &CallSitesReply, rows_max: usize) -> String {
    match by_place(reply, rows_max) {
        Some(_) => format!("\n{HEADING}\n{}", text(reply, rows_max)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{Causer, CodeFunction, FunctionRow, WaitStateRow};

    fn waits(wait_state: &str, time_ns: u64, causers: &[(u32, u64)]) -> SiteWaitRow {
        let causer = |&(rank, time_ns): &(u32, u64)| Causer { rank, time_ns };
        SiteWaitRow {
            wait_state: wait_state.into(),
            part_of: String::new(),
            waits: 3,
            time_ns,
            max_ns: time_ns / 2,
            max_rank: 1,
            causers: causers.iter().map(causer).collect(),
        }
    }

    fn site(function: &str, line: &str, waits: Vec<SiteWaitRow>) -> CallSiteRow {
        CallSiteRow {
            kind: "code".into(),
            file: "solver".into(),
            functions: vec![CodeFunction {
                function: "solve".into(),
                line: line.into(),
            }],
            calls: Some(FunctionRow {
                function: function.into(),
                ..FunctionRow::default()
            }),
            waits,
            ..CallSiteRow::default()
        }
    }

    #[test]
    fn each_way_to_wait_has_a_row() {
        let all = "MPI_Allreduce";
        let reply = CallSitesReply {
            rows: vec![
                site("MPI_Recv", "s.c:9", vec![]),
                site(
                    "MPI_Recv",
                    "s.c:7",
                    vec![waits("Late Sender", 1_000_000, &[(0, 1)])],
                ),
                site(
                    all,
                    "s.c:8",
                    vec![
                        waits("Wait at N x N", 6_000_000, &[(2, 5_400_000), (3, 600_000)]),
                        waits("N x N Completion", 2_000_000, &[]),
                    ],
                ),
            ],
            rows_left_out: 4,
            waits_left_out: Some(WaitStateRow {
                time_ns: 1_000_000,
                ..WaitStateRow::default()
            }),
            ..CallSitesReply::default()
        };
        assert_eq!(
            text(&reply, 2),
            "called from    function       wait state           time   share  waits      max  \
             of rank  mostly for\n\
             solve (s.c:8)  MPI_Allreduce  Wait at N x N     6.00 ms  60.0 %      3  3.00 ms  \
             \x20     1  rank 2 (90.0 %)\n\
             solve (s.c:8)  MPI_Allreduce  N x N Completion  2.00 ms  20.0 %      3  1.00 ms  \
             \x20     1\n\
             ... and 2.00 ms in further rows\n"
        );
        let nobody = text(&CallSitesReply::default(), 2);
        assert_eq!(nobody, "nobody has waited for anybody yet\n");
    }
}
