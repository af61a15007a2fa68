//! Loops of the program, found without marks: how many iterations, how long they are, and which was
//! the longest.

use super::call_sites::place;
use super::table::{Side, Table};
use super::units::{count, duration, duration_f64, share};
use invivo_grpc::v1::{IterationsReply, LoopRow};

/// What has to be seen before there are rows.
const NOTHING: &str = "no loop has been found: the ranks came to no call site four times by way of \
                       the same call sites";

/// All loops, in the order of the answer.
pub fn text(reply: &IterationsReply) -> String {
    match nothing(reply) {
        Some(nothing) => format!("{nothing}\n"),
        None => by_loop(reply).text(),
    }
}

/// Why there are no rows; nothing where there are some.
pub fn nothing(reply: &IterationsReply) -> Option<&'static str> {
    reply.rows.is_empty().then_some(NOTHING)
}

/// How to see one iteration.
pub fn hint(reply: &IterationsReply) -> Option<String> {
    let number = main(reply)? + 1;
    Some(format!(
        "loop {number} is the main one: invivo timeline --iteration shows its last iteration"
    ))
}

/// A row for each loop.
pub fn by_loop(reply: &IterationsReply) -> Table {
    let mut table = Table::new([
        ("loop", Side::Right),
        ("an iteration begins with", Side::Left),
        ("called from", Side::Left),
        ("iterations", Side::Right),
        ("mean", Side::Right),
        ("deviation", Side::Right),
        ("min", Side::Right),
        ("max", Side::Right),
        ("of rank", Side::Right),
        ("at", Side::Right),
        ("others", Side::Right),
        ("their mean", Side::Right),
        ("share", Side::Right),
        ("ranks", Side::Right),
    ]);
    for (number, row) in (1..).zip(&reply.rows) {
        let begin = row.begin.clone().unwrap_or_default();
        table.row([
            count(number),
            function(row),
            place(&begin),
            iterations(row),
            duration_f64(row.mean_ns),
            duration_f64(row.stddev_ns),
            duration(row.min_ns),
            duration(row.max_ns),
            row.max_rank.to_string(),
            duration(row.max_from_ns),
            count(row.others),
            match row.others {
                0 => "-".to_owned(),
                others => duration_f64(row.others_ns as f64 / others as f64),
            },
            share(row.share, 1.0),
            count(row.ranks.into()),
        ]);
    }
    table
}

/// The function with which an iteration begins; of several calls the first.
fn function(row: &LoopRow) -> String {
    let calls = row.begin.as_ref().and_then(|begin| begin.calls.as_ref());
    let function = calls.map_or("", |calls| &calls.function);
    match row.bursts {
        true => format!("{function}, the first of several"),
        false => function.to_owned(),
    }
}

/// The loop as a sentence names it.
pub fn name(row: &LoopRow) -> String {
    let begin = row.begin.clone().unwrap_or_default();
    format!("{} in {}", function(row), place(&begin))
}

/// Iterations of one rank.
fn iterations(row: &LoopRow) -> String {
    let (fewest, most) = (row.iterations_min, row.iterations_max);
    match fewest == most {
        true => count(most),
        false => format!("{}..{}", count(fewest), count(most)),
    }
}

/// Shares of the time that differ by less than this are the same.
const SAME_SHARE: f64 = 0.1;

/// Which row is the loop in which the ranks were longest. Of several that take as long, as those in
/// one another do, the one that most call sites are of; of equal ones the outermost.
pub fn main(reply: &IterationsReply) -> Option<usize> {
    let share = reply.rows.iter().map(|row| row.share).fold(0.0, f64::max);
    let rows = reply.rows.iter().enumerate();
    // The last of equal ones is the maximum.
    let longest = rows.rev().filter(|(_, row)| row.share > share - SAME_SHARE);
    let (at, _) = longest.max_by_key(|(_, row)| row.places)?;
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{CallSiteRow, CodeFunction, FunctionRow};

    fn row(function: &str, iterations: u64, mean_ns: f64, share: f64) -> LoopRow {
        LoopRow {
            begin: Some(CallSiteRow {
                kind: "code".into(),
                functions: vec![CodeFunction {
                    function: "step".into(),
                    line: "main.c:88".into(),
                }],
                calls: Some(FunctionRow {
                    function: function.into(),
                    ..FunctionRow::default()
                }),
                ..CallSiteRow::default()
            }),
            ranks: 4,
            iterations_min: iterations,
            iterations_max: iterations,
            usual: 4 * iterations,
            mean_ns,
            max_ns: 2 * mean_ns as u64,
            max_rank: 3,
            share,
            ..LoopRow::default()
        }
    }

    fn reply(rows: Vec<LoopRow>) -> IterationsReply {
        IterationsReply {
            rows,
            ..IterationsReply::default()
        }
    }

    #[test]
    fn rows_say_where_iterations_begin() {
        let checkpoint = LoopRow {
            others: 3,
            others_ns: 30_000_000,
            bursts: true,
            iterations_min: 9,
            ..row("MPI_Send", 10, 5e6, 0.5)
        };
        let text = text(&reply(vec![
            row("MPI_Barrier", 1234, 5e6, 0.976),
            checkpoint,
        ]));
        for part in [
            "1  MPI_Barrier                     step (main.c:88)       1,234  5.00 ms ",
            "2  MPI_Send, the first of several  step (main.c:88)       9..10  5.00 ms ",
            "97.6 %      4\n",
            " 3     10.0 ms  50.0 %      4\n",
        ] {
            assert_eq!(text.matches(part).count(), 1, "{part:?} in\n{text}");
        }
        assert_eq!(super::text(&reply(Vec::new())), format!("{NOTHING}\n"));
    }

    #[test]
    fn the_main_loop_has_most_time_and_then_call_sites() {
        let setup = row("MPI_Bcast", 3, 9e9, 0.2);
        let checkpoint = row("MPI_Gather", 9, 6e8, 0.95);
        let step = LoopRow {
            places: 4,
            ..row("MPI_Barrier", 100, 5e7, 0.95)
        };
        let sweep = row("MPI_Allreduce", 1000, 5e6, 0.97);
        let all = reply(vec![setup, checkpoint, step, sweep]);
        assert_eq!(main(&all), Some(2));
        assert_eq!(main(&reply(Vec::new())), None);
    }
}
