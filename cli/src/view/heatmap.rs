//! What the ranks did over time, as a picture: a row for each rank or some neighbours, a character
//! for each column of time.

use super::quantity::{Quantity, is_known, is_measured};
use invivo_grpc::v1::{GridReply, GridRow};
use invivo_proto::control::metric::{Metric, SystemMetric};
use invivo_report::glyphs::Look;
use invivo_report::matrix::name;
use invivo_report::units::{counted, duration};

/// Columns from one time below the picture to the next.
const TICK_COLUMNS: usize = 16;

/// The picture, with its scale, and who has most and least.
pub fn text(grid: &GridReply, look: Look) -> String {
    if !grid.rows.iter().any(|row| row.cells.iter().any(is_known)) {
        return nothing(&grid.metric);
    }
    let scale = scale(grid);
    let Scale { quantity, full } = scale;
    let mut text = head(grid, &scale, look);
    let label = |row: &GridRow| name(row.row, grid.block_ranks.max(1), grid.ranks);
    let width = grid.rows.iter().map(|row| label(row).len()).max();
    let width = width.unwrap_or(0).max("rank".len());
    for row in &grid.rows {
        let cells: String = row
            .cells
            .iter()
            .map(|cell| glyph(quantity.mean(cell).map(|mean| mean / full), look))
            .collect();
        let total = row.total.unwrap_or_default();
        let mean = quantity.mean(&total);
        let mean = mean.map_or_else(String::new, |mean| quantity.show(mean));
        text += &format!("{:>width$}  {cells}  {mean}\n", label(row));
    }
    text += &times(grid, width);
    text += &extremes(grid, quantity);
    if grid.ranks_unresolved > 0 {
        let ranks = counted(grid.ranks_unresolved.into(), "rank");
        text += &format!("not shown: {ranks} whose tool place resolves time less finely\n");
    }
    text
}

/// Why there is no picture.
fn nothing(metric: &str) -> String {
    if !is_measured(metric) {
        return "nothing has been recorded in this interval yet\n".to_owned();
    }
    let set = match metric.parse() {
        Ok(Metric::System(_)) => metric,
        _ => "program",
    };
    format!(
        "{metric} has not been measured in this interval; to measure it from now on: invivo \
         metrics set {set}\n"
    )
}

/// What the values of a picture are, and which one fills a character.
struct Scale {
    quantity: Quantity,
    full: f64,
}

fn scale(grid: &GridReply) -> Scale {
    let quantity = Quantity::of(grid);
    let cells = grid.rows.iter().flat_map(|row| &row.cells);
    let most = cells
        .filter_map(|cell| quantity.mean(cell))
        .fold(0.0, f64::max);
    // Of recorded time the whole is the scale; of what is measured a share may be small, as that
    // of waiting for a processor, or more than one, as several threads' time on processors.
    let is_of_the_whole = quantity.is_share() && !is_measured(&grid.metric);
    Scale {
        quantity,
        full: if is_of_the_whole || most == 0.0 {
            1.0
        } else {
            most
        },
    }
}

fn head(grid: &GridReply, scale: &Scale, look: Look) -> String {
    let what = what(grid, scale.quantity);
    let full = glyph(Some(1.0), look);
    let unknown = glyph(None, look);
    let not_known = match is_measured(&grid.metric) {
        true => "measured",
        false => "recorded",
    };
    format!(
        "{what}\na column is {}, {full} is {}, {unknown} was not {not_known}\n\n",
        duration(grid.width_ns),
        scale.quantity.show(scale.full)
    )
}

/// What a cell shows.
fn what(grid: &GridReply, quantity: Quantity) -> String {
    let metric = &grid.metric;
    match metric.as_str() {
        "mpi" => return "time in MPI, as a share of the recorded time".to_owned(),
        "compute" => {
            return "computing (outside of MPI), as a share of the recorded time".to_owned();
        }
        "waiting" => {
            return "waiting for another rank, as a share of the recorded time".to_owned();
        }
        "bytes" => return "bytes sent a second by a rank".to_owned(),
        "calls" => return "calls a second of a rank".to_owned(),
        _ => {}
    }
    let tells = SystemMetric::named(metric).map_or_else(String::new, |system| {
        let tells = system.facts().tells;
        format!(" ({}{})", tells[..1].to_lowercase(), &tells[1..])
    });
    let how = match (quantity.is_absolute(), quantity.is_share()) {
        (true, _) => "the mean over a column",
        (_, true) => "as a share of the measured time",
        _ => "a second",
    };
    format!("{metric}{tells} of a rank, {how}")
}

/// A character that is the higher (or the darker) the larger `share` (0 to 1) is.
pub fn glyph(share: Option<f64>, look: Look) -> char {
    const UTF8: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const ASCII: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '%', '#'];
    let Some(share) = share else {
        return if look.ascii { '?' } else { '·' };
    };
    let level = (share.clamp(0.0, 1.0) * 8.0).round() as usize;
    // What is not quite nothing is seen.
    let level = if share > 0.0 { level.max(1) } else { level };
    if look.ascii {
        ASCII[level]
    } else {
        UTF8[level]
    }
}

/// Where an interval begins and ends, and how wide its columns are.
pub fn between(grid: &GridReply) -> String {
    let width = duration(grid.width_ns);
    let (from, to) = (begin(grid, 0), begin(grid, grid.columns));
    format!("from {from} to {to}; a column is {width}")
}

/// When a column begins; one that begins before the observed time begins with it.
fn begin(grid: &GridReply, column: u32) -> String {
    let at_ns = i128::from(grid.from_ns) + i128::from(column) * i128::from(grid.width_ns);
    duration(u64::try_from(at_ns).unwrap_or(0))
}

/// When columns begin, below the picture.
fn times(grid: &GridReply, indent: usize) -> String {
    let mut line = " ".repeat(indent + 2);
    for column in (0..grid.columns).step_by(TICK_COLUMNS) {
        line += &format!("{:<TICK_COLUMNS$}", format!("|{}", begin(grid, column)));
    }
    format!("{}\n", line.trim_end())
}

/// The ranks with the most and the least over the whole interval.
fn extremes(grid: &GridReply, quantity: Quantity) -> String {
    let totals = || {
        let totals = grid.rows.iter().filter_map(|row| row.total.as_ref());
        totals.filter(|total| is_known(total))
    };
    let most = totals().map(|total| (quantity.of_rank(total, total.max), total.max_rank));
    let least = totals().map(|total| (quantity.of_rank(total, total.min), total.min_rank));
    // Of equals the lowest rank, which comes first.
    let most = most.reduce(|most, next| if next.0 > most.0 { next } else { most });
    let least = least.reduce(|least, next| if next.0 < least.0 { next } else { least });
    let told = |(value, rank): (f64, u32)| format!("rank {rank} with {}", quantity.show(value));
    match most.zip(least) {
        Some((most, least)) => format!("most: {}; least: {}\n", told(most), told(least)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::GridCell;

    const S: u64 = 1_000_000_000;

    fn cell(ranks: u32, sum: u64, min: (u64, u32), max: (u64, u32)) -> GridCell {
        GridCell {
            ranks,
            recorded_ns: u64::from(ranks) * S,
            sum,
            min: min.0,
            min_rank: min.1,
            max: max.0,
            max_rank: max.1,
        }
    }

    fn grid(metric: &str, unit: &str) -> GridReply {
        let one = |rank, value| cell(1, value, (value, rank), (value, rank));
        let total = |rank, value, columns| {
            Some(GridCell {
                recorded_ns: columns * S,
                ..one(rank, value)
            })
        };
        GridReply {
            metric: metric.into(),
            unit: unit.into(),
            ranks: 3,
            block_ranks: 1,
            from_ns: -200_000_000,
            width_ns: S,
            columns: 3,
            rows: vec![
                GridRow {
                    row: 0,
                    cells: vec![one(0, 0), one(0, S / 2), GridCell::default()],
                    total: total(0, S / 2, 2),
                },
                GridRow {
                    row: 2,
                    cells: vec![one(2, S), one(2, 3), one(2, S / 4)],
                    total: total(2, S + S / 4, 3),
                },
            ],
            ..GridReply::default()
        }
    }

    const UTF8: Look = Look {
        ascii: false,
        color: false,
    };

    #[test]
    fn shares_of_time_with_what_is_not_known() {
        assert_eq!(
            text(&grid("mpi", "ns"), UTF8),
            "time in MPI, as a share of the recorded time\n\
             a column is 1.00 s, █ is 100.0 %, · was not recorded\n\
             \n\
             \x20  0   ▄·  25.0 %\n\
             \x20  2  █▁▂  41.7 %\n\
             \x20     |0 s\n\
             most: rank 2 with 41.7 %; least: rank 0 with 25.0 %\n"
        );
    }

    #[test]
    fn ascii_alone_where_nothing_else_can_be_shown() {
        let ascii = Look {
            ascii: true,
            color: false,
        };
        let shown = text(&grid("mpi", "ns"), ascii);
        assert!(
            shown.is_ascii() && shown.contains("  2  #.:  41.7 %"),
            "{shown}"
        );
    }

    #[test]
    fn numbers_are_for_each_second() {
        let one = |calls| cell(1, calls, (calls, 0), (calls, 0));
        let grid = GridReply {
            rows: vec![GridRow {
                row: 0,
                cells: vec![one(2000), one(1000), one(0)],
                total: Some(GridCell {
                    recorded_ns: 3 * S,
                    ..one(3000)
                }),
            }],
            ..grid("calls", "calls")
        };
        let shown = text(&grid, UTF8);
        assert!(shown.contains("   0  █▄   1,000/s"), "{shown}");
        assert!(
            shown.contains("most: rank 0 with 1,000/s; least: rank 0"),
            "{shown}"
        );
    }

    #[test]
    fn nothing_recorded_says_so() {
        assert!(text(&GridReply::default(), UTF8).starts_with("nothing has been recorded"));
        for (metric, set) in [("cycles", "cycles"), ("value:residual", "program")] {
            let none = GridReply {
                metric: metric.into(),
                ..GridReply::default()
            };
            let begin = format!("{metric} has not been measured in this interval; ");
            let told = text(&none, UTF8);
            assert!(told.starts_with(&begin), "{told}");
            assert!(
                told.ends_with(&format!("invivo metrics set {set}\n")),
                "{told}"
            );
        }
    }

    #[test]
    fn what_is_measured_fills_a_character_where_it_is_most() {
        let delay = text(&grid("run-delay", "ns"), UTF8);
        let head = "run-delay (time in which a thread could run and had to wait for a processor) \
                    of a rank, as a share of the measured time\n\
                    a column is 1.00 s, █ is 100.0 %, · was not measured\n";
        assert!(delay.starts_with(head), "{delay}");
        let memory = GridReply {
            absolute: true,
            ..grid("resident-memory", "bytes")
        };
        let memory = text(&memory, UTF8);
        assert!(
            memory.starts_with("resident-memory (memory of the process that lies in RAM) of a"),
            "{memory}"
        );
        assert!(memory.contains("the mean over a column\n"), "{memory}");
        assert!(memory.contains(", █ is 954 MiB, "), "{memory}");
        let steps = text(&grid("counter:steps", ""), UTF8);
        assert!(
            steps.starts_with("counter:steps of a rank, a second\n"),
            "{steps}"
        );
    }
}
