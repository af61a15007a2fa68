//! How the durations and sizes of calls are distributed, as bars.

use super::call_sites::place;
use super::glyphs::Look;
use super::table::{Side, Table};
use super::units::{bytes, count, counted, duration, share};
use invivo_grpc::v1::{CallSiteRow, Distribution, FunctionRow, HistogramBin};
use invivo_proto::control::histogram::{NUMBERS, least, number};
use serde::Serialize;

/// Lines of a histogram.
const LINES_MAX: usize = 20;
/// Columns of the longest bar.
const BAR: usize = 40;

/// What is said of no rows.
const NOTHING: &str = "no MPI call has been recorded yet\n";

/// The histograms of functions.
pub fn of_functions(rows: &[FunctionRow], look: Look) -> String {
    let one = |row: &FunctionRow| both(&row.function, row, look);
    joined(rows.iter().map(one).collect())
}

/// The histograms of call sites.
pub fn of_sites(rows: &[CallSiteRow], look: Look) -> String {
    let rows = rows.iter().filter_map(|row| {
        let calls = row.calls.as_ref()?;
        let name = format!("{} in {}", calls.function, place(row));
        Some(both(&name, calls, look))
    });
    joined(rows.collect())
}

fn joined(texts: Vec<String>) -> String {
    match texts.is_empty() {
        true => NOTHING.to_owned(),
        false => texts.join("\n"),
    }
}

/// Of the durations, and of the sizes where there are some.
fn both(name: &str, row: &FunctionRow, look: Look) -> String {
    let calls = counted(row.calls, "call");
    let mut texts = Vec::new();
    match &row.durations {
        Some(of) => {
            let told = match of.count == row.calls {
                true => calls,
                // One of the two tables was off for a time.
                false => format!("{calls} in the table, {} here", count(of.count)),
            };
            texts.push(one(&format!("{name}: {told}"), of, duration, look));
        }
        None if row.calls == 0 => texts.push(format!("{name}: no call has ended\n")),
        None => texts.push(format!(
            "{name}: {calls}, and nothing is known of how long each took\n"
        )),
    }
    if let Some(of) = &row.sizes {
        let sizes = counted(of.count, "size");
        texts.push(one(&format!("{name}: {sizes}"), of, bytes, look));
    }
    texts.join("\n")
}

fn one(head: &str, of: &Distribution, unit: impl Fn(u64) -> String, look: Look) -> String {
    let [median, most, nearly_all] = [of.p50, of.p90, of.p99].map(&unit);
    let error = match (100.0 * of.error).ceil() {
        0.0 => String::new(),
        error => format!(" (known to {error:.0} %)"),
    };
    format!(
        "{head}; half up to {median}, 90 % up to {most}, 99 % up to {nearly_all}{error}\n\n{}",
        bars(of, unit, look)
    )
}

/// A line for each stretch of values, and for what lies between two and holds none.
fn bars(of: &Distribution, unit: impl Fn(u64) -> String, look: Look) -> String {
    let stretches = stretches(&of.bins);
    let largest = stretches.iter().map(|of| of.count).max().unwrap_or(0);
    let mut table = Table::new([
        ("from", Side::Right),
        ("below", Side::Right),
        ("", Side::Left),
        ("count", Side::Right),
        ("share", Side::Right),
    ]);
    for stretch in stretches {
        table.row([
            unit(stretch.from),
            unit(stretch.below),
            look.bar(stretch.count as f64 / largest.max(1) as f64, BAR),
            count(stretch.count),
            share(stretch.count as f64, of.count as f64),
        ]);
    }
    table.text()
}

/// Values that are drawn as one bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// They are so large or larger,
    pub from: u64,
    /// and smaller than this.
    pub below: u64,
    pub count: u64,
}

/// The bins as [`LINES_MAX`] stretches or less, side by side from the first value to the last.
/// Those that hold values are of as many of the finest bins, a power of two; what lies between two
/// of them and holds none is one.
pub fn stretches(bins: &[HistogramBin]) -> Vec<Stretch> {
    let all = (0..=u16::BITS).map(|shift| side_by_side(bins, shift));
    let few = all.filter(|stretches| stretches.len() <= LINES_MAX);
    // All values are in one of the widest.
    few.into_iter().next().unwrap_or_default()
}

/// The same, each of 2^`shift` of the finest bins, or of twice as many where a bin is wider.
fn side_by_side(bins: &[HistogramBin], shift: u32) -> Vec<Stretch> {
    let place = |value: u64| u32::from(number(value)) >> shift;
    let edge = |place: u32| least((place << shift).min(u32::from(NUMBERS)) as u16);
    let mut stretches: Vec<Stretch> = Vec::new();
    for bin in bins {
        let (from, below) = (edge(place(bin.least)), edge(place(bin.most) + 1));
        let before = stretches.last().map_or(from, |last| last.below);
        match stretches.last_mut() {
            Some(last) if from < before => {
                last.below = last.below.max(below);
                last.count = last.count.saturating_add(bin.count);
                continue;
            }
            Some(_) if before < from => stretches.push(Stretch {
                from: before,
                below: from,
                count: 0,
            }),
            _ => {}
        }
        let count = bin.count;
        stretches.push(Stretch { from, below, count });
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look {
        ascii: true,
        color: false,
    };

    fn bin(least: u64, most: u64, count: u64) -> HistogramBin {
        HistogramBin { least, most, count }
    }

    #[test]
    fn short_and_long_calls_stand_apart() {
        let durations = Distribution {
            count: 40,
            p50: 1008,
            p90: 8448,
            p99: 8448,
            bins: vec![bin(992, 1023, 30), bin(8192, 8703, 10)],
            error: 0.029,
        };
        let row = FunctionRow {
            function: "MPI_Recv".into(),
            calls: 50,
            durations: Some(durations),
            ..FunctionRow::default()
        };
        let text = of_functions(&[row], LOOK);
        let full = LOOK.bar(1.0, BAR);
        let third = LOOK.bar(1.0 / 3.0, BAR);
        let none = LOOK.bar(0.0, BAR);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "MPI_Recv: 50 calls in the table, 40 here; half up to 1.01 us, 90 % up to \
             8.45 us, 99 % up to 8.45 us (known to 3 %)"
        );
        assert_eq!(
            lines[3..],
            [
                format!(" 992 ns  1.02 us  {full}     30  75.0 %"),
                format!("1.02 us  8.19 us  {none}      0   0.0 %"),
                format!("8.19 us  8.70 us  {third}     10  25.0 %"),
            ]
        );
    }

    /// Of many bins neighbours become one, all with the same number of the finest.
    #[test]
    fn many_bins_are_few_bars() {
        let bins: Vec<HistogramBin> = (0..60).map(|at| bin(least(at), least(at), 2)).collect();
        let stretches = stretches(&bins);
        assert_eq!(stretches.len(), 15);
        assert!(stretches.iter().all(|of| of.count == 8));
        assert_eq!((stretches[0].from, stretches[1].from), (0, 4));
        assert!(stretches.windows(2).all(|two| two[0].below == two[1].from));
    }

    /// An answer may hold anything; whatever it holds becomes lines.
    #[test]
    fn values_of_all_sizes_are_few_lines() {
        for bins in [
            vec![bin(0, 0, 1), bin(u64::MAX, u64::MAX, u64::MAX)],
            vec![bin(9, 3, 1)],
            vec![bin(5, 5, 1), bin(2, 2, 1)],
            Vec::new(),
        ] {
            let stretches = stretches(&bins);
            assert!(stretches.len() <= LINES_MAX, "{bins:?}");
            let of = Distribution {
                bins,
                ..Distribution::default()
            };
            assert!(bars(&of, bytes, LOOK).lines().count() <= 1 + LINES_MAX);
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        let row = FunctionRow {
            function: "MPI_Recv".into(),
            calls: 1,
            ..FunctionRow::default()
        };
        let text = of_functions(&[row], LOOK);
        assert!(text.contains("nothing is known"), "{text}");
        assert_eq!(of_functions(&[], LOOK), NOTHING);
    }
}
