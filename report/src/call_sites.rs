//! The table of call sites: where in the program calls are made.

use super::functions::{QUANTILES, are_distributed, quantiles};
use super::table::{Side, Table};
use super::units::{bytes, count, counted, duration, duration_f64, share};
use invivo_grpc::convert::sites::cut;
use invivo_grpc::v1::{CallSiteRow, CallSitesReply, CodeFunction, FunctionRow};
use invivo_proto::control::selection::without_parameters;

/// Characters of a function's name: those of C++ templates can be hundreds, of which the first say
/// most.
const NAME_CHARS_MAX: usize = 48;

/// All ranks together, the row with the most time first, and a line about the rest.
pub fn text(reply: &CallSitesReply) -> String {
    if reply.rows.is_empty() {
        return "no MPI call has been recorded yet\n".to_owned();
    }
    let mut text = by_site(reply).text();
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

/// What a page shows of a report's call sites: so many rows, those with the most time.
pub fn shown(reply: &CallSitesReply, rows_max: u32) -> CallSitesReply {
    let mut shown = reply.clone();
    cut(&mut shown, rows_max);
    shown
}

/// The same in a report: nobody can be asked again.
pub fn of_report(reply: &CallSitesReply, rows_max: u32) -> String {
    let shown = shown(reply, rows_max);
    let mut text = by_site(&shown).text();
    for line in rest(&shown) {
        text.push_str(&format!("{line}\n"));
    }
    text
}

/// Sentences about what is not in the table of a report.
pub fn rest(reply: &CallSitesReply) -> Vec<String> {
    let mut lines: Vec<String> = more(reply).into_iter().collect();
    if reply.rows_unnamed > 0 {
        let rows = counted(reply.rows_unnamed, "row");
        lines.push(format!("names of {rows} had not been looked up"));
    }
    lines
}

/// Which rows are not there; nothing where all are.
fn more(reply: &CallSitesReply) -> Option<String> {
    let left_out = reply.left_out.as_ref()?;
    (reply.rows_left_out > 0).then(|| {
        format!(
            "... and {} with less time: {} in {}",
            counted(reply.rows_left_out, "row"),
            counted(left_out.calls, "call"),
            duration(left_out.time_ns)
        )
    })
}

/// Time of all rows, of those that are left out as well.
pub fn whole_ns(reply: &CallSitesReply) -> u64 {
    let calls = reply.rows.iter().filter_map(|row| row.calls.as_ref());
    let times = calls.chain(&reply.left_out).map(|calls| calls.time_ns);
    times.fold(0, u64::saturating_add)
}

/// The rows, in the order of the answer.
pub fn by_site(reply: &CallSitesReply) -> Table {
    let none = FunctionRow::default();
    let rows: Vec<(&CallSiteRow, &FunctionRow)> = reply
        .rows
        .iter()
        .map(|row| (row, row.calls.as_ref().unwrap_or(&none)))
        .collect();
    let whole = whole_ns(reply);
    let clipped = rows.iter().any(|(_, calls)| calls.clipped > 0);
    let mut columns = vec![
        ("called from", Side::Left),
        ("function", Side::Left),
        ("calls", Side::Right),
        ("time", Side::Right),
        ("share", Side::Right),
        ("mean", Side::Right),
    ];
    let distributed = are_distributed(rows.iter().map(|(_, calls)| *calls));
    columns.extend(QUANTILES.iter().filter(|_| distributed));
    columns.extend([
        ("max", Side::Right),
        ("of rank", Side::Right),
        ("ranks", Side::Right),
        ("sent", Side::Right),
        ("received", Side::Right),
    ]);
    columns.extend(clipped.then_some(("clipped", Side::Right)));
    let mut table = Table::new(columns);
    for (row, calls) in rows {
        let mut cells = vec![
            place(row),
            calls.function.clone(),
            count(calls.calls),
            duration(calls.time_ns),
            share(calls.time_ns as f64, whole as f64),
            duration_f64(calls.mean_ns),
        ];
        cells.extend(quantiles(calls).into_iter().filter(|_| distributed));
        cells.extend([
            duration(calls.max_ns),
            calls.max_rank.to_string(),
            row.ranks.to_string(),
            bytes(calls.bytes_out),
            bytes(calls.bytes_in),
        ]);
        cells.extend(clipped.then(|| count(calls.clipped)));
        table.row(cells);
    }
    table
}

/// Where a row's calls are made: the function and its line, those that it was inlined into behind
/// it; without names the file and the address in it.
pub fn place(row: &CallSiteRow) -> String {
    match row.kind.as_str() {
        "code" => code(&row.file, row.offset, &row.functions),
        "nowhere" => "code in no file".to_owned(),
        "others" => "other sites".to_owned(),
        _ => "not noted".to_owned(),
    }
}

/// An address in a file, by the functions there, the innermost first; without names as it is.
pub(crate) fn code(file: &str, offset: u64, functions: &[CodeFunction]) -> String {
    let address = || format!("{file}+{offset:#x}");
    let functions: Vec<String> = functions
        .iter()
        .filter_map(|of| function(of, address))
        .collect();
    if functions.is_empty() {
        return address();
    }
    functions.join(" in ")
}

/// A function with its line, or with the address where there is none; nothing where neither
/// function nor line is known.
fn function(of: &CodeFunction, address: impl Fn() -> String) -> Option<String> {
    let name = short(&of.function);
    match (name.is_empty(), of.line.is_empty()) {
        (true, true) => None,
        (true, false) => Some(of.line.clone()),
        (false, true) => Some(format!("{name} ({})", address())),
        (false, false) => Some(format!("{name} ({})", of.line)),
    }
}

/// A name; of one that is long the parameters are left out, and of what is still long all but the
/// beginning.
pub(crate) fn short(name: &str) -> String {
    let name = match name.chars().count() > NAME_CHARS_MAX {
        true => without_parameters(name),
        false => name,
    };
    let mut short: String = name.chars().take(NAME_CHARS_MAX).collect();
    if short.len() < name.len() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    #[test]
    fn long_names_lose_their_parameters_first() {
        for (name, expected) in [
            ("f(int)", "f(int)"),
            (
                "ComputeSYMGS_ref(SparseMatrix_STRUCT const&, Vector_STRUCT const&)",
                "ComputeSYMGS_ref",
            ),
            (
                "solver::Step<int>::operator()(std::vector<double> const&, int) const",
                "solver::Step<int>::operator()",
            ),
            (
                "a_function_of_fortran_with_a_name_that_is_very_long_indeed",
                "a_function_of_fortran_with_a_name_that_is_very_l...",
            ),
            (
                "(anonymous namespace)::a_function_with_a_name_that_is_long",
                "(anonymous namespace)::a_function_with_a_name_th...",
            ),
            (
                "a long name that has a parenthesis without its fellow)",
                "a long name that has a parenthesis without its f...",
            ),
        ] {
            assert_eq!(super::short(name), expected);
        }
    }

    use super::*;

    fn row(functions: &[(&str, &str)]) -> CallSiteRow {
        let function = |(function, line): &(&str, &str)| CodeFunction {
            function: (*function).to_owned(),
            line: (*line).to_owned(),
        };
        CallSiteRow {
            kind: "code".to_owned(),
            file: "solver".to_owned(),
            offset: 0x1b3c,
            functions: functions.iter().map(function).collect(),
            ranks: 4,
            calls: Some(FunctionRow {
                function: "MPI_Send".to_owned(),
                calls: 10,
                time_ns: 3_000_000,
                mean_ns: 300_000.0,
                max_ns: 400_000,
                max_rank: 2,
                bytes_out: 80,
                ..FunctionRow::default()
            }),
            ..CallSiteRow::default()
        }
    }

    #[test]
    fn a_place_is_told_as_well_as_it_is_known() {
        let long = "f".repeat(NAME_CHARS_MAX + 1);
        let cut = format!("{}... (a.c:1)", "f".repeat(NAME_CHARS_MAX));
        for (functions, expected) in [
            (&[][..], "solver+0x1b3c"),
            (&[("", "")], "solver+0x1b3c"),
            (&[("exchange", "")], "exchange (solver+0x1b3c)"),
            (&[("exchange", "solve.c:42")], "exchange (solve.c:42)"),
            (&[("", "solve.c:42")], "solve.c:42"),
            (
                &[("dot", "solve.c:12"), ("solve", "solve.c:42")],
                "dot (solve.c:12) in solve (solve.c:42)",
            ),
            (&[(long.as_str(), "a.c:1")], cut.as_str()),
        ] {
            assert_eq!(place(&row(functions)), expected);
        }
        for (kind, expected) in [
            ("others", "other sites"),
            ("nowhere", "code in no file"),
            ("not noted", "not noted"),
        ] {
            let row = CallSiteRow {
                kind: kind.to_owned(),
                ..row(&[])
            };
            assert_eq!(place(&row), expected);
        }
    }

    #[test]
    fn the_rest_is_counted() {
        let reply = CallSitesReply {
            rows: vec![row(&[("exchange", "solve.c:42")])],
            rows_left_out: 3,
            left_out: Some(FunctionRow {
                calls: 30,
                time_ns: 1_000_000,
                ..FunctionRow::default()
            }),
            rows_unnamed: 1,
            ..CallSitesReply::default()
        };
        let text = text(&reply);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[1].starts_with("exchange (solve.c:42)  MPI_Send"),
            "{text}"
        );
        assert!(lines[1].contains("75.0 %"), "{text}");
        assert_eq!(
            lines[2],
            "... and 3 rows with less time: 30 calls in 1.00 ms"
        );
        assert_eq!(lines[3], "names of 1 row did not come in time; ask again");
        assert_eq!(super::text(&CallSitesReply::default()).lines().count(), 1);
    }
}
