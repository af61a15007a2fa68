//! Loops of the program, found without marks: how many iterations, how long they are, and which was
//! the longest.

use super::call_sites::place;
use super::table::{Side, Table};
use super::units::{count, counted, duration, duration_f64, share};
use invivo_grpc::v1::{IterationsReply, LoopRow};

/// What has to be seen before there are rows.
const NOTHING: &str = "no loop has been found: the ranks came to no place three times with the \
                       same calls in between";

/// All loops, in the order of the answer, and lines about them.
pub fn text(reply: &IterationsReply) -> String {
    if reply.rows.is_empty() {
        return format!("{NOTHING}\n");
    }
    let mut text = by_loop(reply).text();
    for line in remarks(reply) {
        text.push_str(&format!("{line}\n"));
    }
    text
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

/// What the columns do not say.
pub fn remarks(reply: &IterationsReply) -> Vec<String> {
    let rows = (1..).zip(&reply.rows);
    let told = rows.filter(|(_, row)| row.others > 0).map(|(number, row)| {
        let mean_ns = row.others_ns as f64 / row.others as f64;
        format!(
            "loop {number}: {} with other calls in them, of {} on average",
            counted(row.others, "iteration"),
            duration_f64(mean_ns)
        )
    });
    told.collect()
}

/// The main loop in a sentence: the one in which the ranks were longest, of equal ones the outer.
pub fn sentence(reply: &IterationsReply) -> Option<String> {
    let row = main(reply)?;
    Some(format!(
        "{} iterations of {} on average, {} at most (rank {}), each from {}",
        iterations(row),
        duration_f64(row.mean_ns),
        duration(row.max_ns),
        row.max_rank,
        name(row)
    ))
}

/// Shares of the time that differ by less than this are the same.
const SAME_SHARE: f64 = 0.05;

/// The loop in which the ranks were longest; of several that are as long, as those in one another
/// are, the outermost.
pub fn main(reply: &IterationsReply) -> Option<&LoopRow> {
    let share = reply.rows.iter().map(|row| row.share).fold(0.0, f64::max);
    let mut rows = reply.rows.iter();
    rows.find(|row| row.share > share - SAME_SHARE)
}
