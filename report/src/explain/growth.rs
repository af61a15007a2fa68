//! Calls that send more and more bytes: what they cost grows with the run.

use crate::units::{bytes, duration};
use invivo_grpc::v1::GridReply;
use serde::{Deserialize, Serialize};

/// With fewer columns an order among them may be chance.
const COLUMNS_MIN: usize = 12;
/// How well the columns are in order by their sizes (Spearman's rank correlation), at least.
const IN_ORDER: f64 = 0.9;
/// Of stretches so near to that which is best in order, the longest is taken.
const AS_GOOD: f64 = 0.01;
/// It grows step by step if no step from a column to the next is this part of it all, by factors:
/// what a program does first, or in a phase of its own, is another matter.
const AT_ONCE: f64 = 0.5;
/// How many times as much calls of the last quarter send as those of the first, at least.
const MORE: f64 = 1.5;
/// And of each quarter as of the one before it: what has stopped to grow does not grow.
const STEADILY: f64 = 1.08;

/// What to ask the grid for: from the beginning of the observed time on.
pub const MOVED: [&str; 2] = ["calls", "bytes"];

/// How the calls of all ranks have grown.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Growth {
    /// How long they have been growing, until the end of the time that was looked at, in ns.
    pub since_ns: u64,
    /// What a call sent in the mean in the first quarter of that time, in bytes: the median of its
    /// columns. Calls that send nothing count as well.
    pub first_bytes: f64,
    /// And in the last quarter.
    pub last_bytes: f64,
}

/// What was sent in a column.
#[derive(Clone, Copy)]
struct Sent {
    column: usize,
    calls: u64,
    bytes: u64,
}

/// The stretch up to the end of the grids in which calls have grown; nothing where they have not.
/// The grids are `MOVED`, of the same time.
pub(super) fn growth(moved: &[GridReply], end_ns: u64) -> Option<Growth> {
    let [calls, sent] = moved else { return None };
    if calls.width_ns != sent.width_ns || calls.width_ns == 0 {
        return None;
    }
    let all = columns(calls, sent);
    let stretches = (0..all.len().saturating_sub(COLUMNS_MIN - 1)).map(|begin| &all[begin..]);
    let grown: Vec<Grown<'_>> = stretches.filter_map(grown).collect();
    let best = grown.iter().map(|of| of.in_order).fold(0.0, f64::max);
    // The longest comes first.
    let of = grown.iter().find(|of| of.in_order >= best - AS_GOOD)?;
    let begin_ns = calls.from_ns + (of.stretch[0].column as u64 * calls.width_ns) as i64;
    Some(Growth {
        since_ns: end_ns.saturating_sub(begin_ns.max(0) as u64),
        first_bytes: of.first,
        last_bytes: of.last,
    })
}

/// A stretch in which calls have grown.
struct Grown<'a> {
    stretch: &'a [Sent],
    in_order: f64,
    first: f64,
    last: f64,
}

fn grown(stretch: &[Sent]) -> Option<Grown<'_>> {
    let quarter = |number: usize| stretch.len() * number / 4;
    let of = |number: usize| median(&stretch[quarter(number)..quarter(number + 1)]);
    let sizes = [0, 1, 2, 3].map(of);
    let [first, .., last] = sizes;
    let steadily = sizes.windows(2).all(|two| two[1] >= STEADILY * two[0]);
    if first <= 0.0 || last < MORE * first || !steadily {
        return None;
    }
    let step = |two: &[Sent]| each(&two[1]) / each(&two[0]);
    let most = stretch.windows(2).map(step).fold(0.0, f64::max);
    if most.ln() >= AT_ONCE * (last / first).ln() {
        return None;
    }
    // The dear question last.
    let in_order = correlation(stretch);
    (in_order >= IN_ORDER).then_some(Grown {
        stretch,
        in_order,
        first,
        last,
    })
}

/// All columns in which calls ended, all ranks together.
fn columns(calls: &GridReply, sent: &GridReply) -> Vec<Sent> {
    // Each answer has its own idea of the beginning of the observed time, some ns apart: at an edge
    // between two columns that may be a column.
    let begin_ns = |grid: &GridReply| grid.begin_ns as i64 + grid.from_ns;
    let apart = (begin_ns(calls) - begin_ns(sent)) as f64 / calls.width_ns as f64;
    let apart = apart.round() as i64;
    let sum = |grid: &GridReply, column: usize| -> u64 {
        let cells = grid.rows.iter().filter_map(|row| row.cells.get(column));
        cells.map(|cell| cell.sum).sum()
    };
    let columns = 0..calls.columns as usize;
    let all = columns.filter_map(|column| {
        let other = usize::try_from(column as i64 + apart).ok()?;
        Some(Sent {
            column,
            calls: sum(calls, column),
            bytes: sum(sent, other),
        })
    });
    all.filter(|of| of.calls > 0).collect()
}

/// Bytes of a call.
fn each(of: &Sent) -> f64 {
    of.bytes as f64 / of.calls as f64
}

/// Of the columns' bytes of a call; they are one or more.
fn median(columns: &[Sent]) -> f64 {
    let mut sizes: Vec<f64> = columns.iter().map(each).collect();
    sizes.sort_by(f64::total_cmp);
    sizes[sizes.len() / 2]
}

/// Spearman's rank correlation of the bytes of a call with the time: 1 where each column has more
/// than the one before it. Equal ones have the mean of their ranks.
fn correlation(columns: &[Sent]) -> f64 {
    let sizes: Vec<f64> = columns.iter().map(each).collect();
    let mut sorted = sizes.clone();
    sorted.sort_by(f64::total_cmp);
    let rank = |size: &f64| {
        let below = sorted.partition_point(|of| of < size);
        let up_to = sorted.partition_point(|of| of <= size);
        (below + up_to) as f64 / 2.0
    };
    let ranks: Vec<f64> = sizes.iter().map(rank).collect();
    let mean = ranks.len() as f64 / 2.0;
    let (mut both, mut of_time, mut of_size) = (0.0, 0.0, 0.0);
    for (at, rank) in ranks.iter().enumerate() {
        let (time, size) = (at as f64 + 0.5 - mean, rank - mean);
        both += time * size;
        of_time += time * time;
        of_size += size * size;
    }
    match of_size > 0.0 {
        true => both / (of_time * of_size).sqrt(),
        false => 0.0,
    }
}

/// "their calls send more and more, in 2.10 s 5.2 times as much, 132 KiB in the mean".
pub(super) fn told(of: &Growth) -> String {
    format!(
        "their calls send more and more, in {} {:.1} times as much, {} in the mean",
        duration(of.since_ns),
        of.last_bytes / of.first_bytes,
        bytes(of.last_bytes as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{GridCell, GridRow};
    use proptest::prelude::*;

    const WIDTH_NS: u64 = 1 << 20;

    fn grid(sums: &[u64]) -> GridReply {
        let cell = |sum: &u64| GridCell {
            sum: *sum,
            ..GridCell::default()
        };
        GridReply {
            rows: vec![GridRow {
                cells: sums.iter().map(cell).collect(),
                ..GridRow::default()
            }],
            columns: sums.len() as u32,
            width_ns: WIDTH_NS,
            ..GridReply::default()
        }
    }

    /// Of columns with ten calls each.
    fn found(sizes: &[u64]) -> Option<Growth> {
        let calls = grid(&vec![10; sizes.len()]);
        let sent: Vec<u64> = sizes.iter().map(|size| size * 10).collect();
        growth(&[calls, grid(&sent)], sizes.len() as u64 * WIDTH_NS)
    }

    #[test]
    fn what_grows_until_the_end_is_found() {
        // Behind something else, which was larger.
        let mut sizes = vec![5_000; 20];
        sizes.extend((1..=16).map(|step| step * 100));
        let of = found(&sizes).expect("it grows");
        assert_eq!(of.since_ns, 16 * WIDTH_NS);
        assert_eq!((of.first_bytes, of.last_bytes), (300.0, 1500.0));
        assert_eq!(
            told(&of),
            "their calls send more and more, in 16.8 ms 5.0 times as much, 1.46 KiB in the mean"
        );
        // Also behind something that was much smaller, and steady.
        let small = [vec![2; 7], sizes[20..].to_vec()].concat();
        let of = found(&small).expect("it grows");
        assert_eq!((of.since_ns, of.first_bytes), (16 * WIDTH_NS, 300.0));
        // It has not been growing for a while.
        for steady in 8..40 {
            let all = [&sizes[..], &vec![1_600; steady]].concat();
            assert_eq!(found(&all), None, "{steady}");
        }
    }

    #[test]
    fn what_is_steady_or_little_has_not_grown() {
        assert_eq!(found(&[800; 40]), None);
        assert_eq!(found(&[0; 40]), None);
        let slowly: Vec<u64> = (0..40).map(|step| 1_000 + step * 10).collect();
        assert_eq!(found(&slowly), None);
        let short: Vec<u64> = (1..COLUMNS_MIN as u64).map(|step| step * 100).collect();
        assert_eq!(found(&short), None);
        // Larger at once, as a program that has set up what it needs.
        let mut begun = vec![100; 10];
        begun.extend([1_000; 40]);
        assert_eq!(found(&begun), None);
        // And in phases.
        let phases = [vec![100; 15], vec![200; 15], vec![400; 15]].concat();
        assert_eq!(found(&phases), None);
        // In turns of different sizes.
        let turns: Vec<u64> = (0..40).map(|step| 100 + 900 * (step % 3)).collect();
        assert_eq!(found(&turns), None);
    }

    #[test]
    fn columns_without_calls_are_no_part_of_it() {
        let calls: Vec<u64> = (0..40).map(|step| step % 2).collect();
        let sent: Vec<u64> = (0..40).map(|step| (step % 2) * step).collect();
        let of = growth(&[grid(&calls), grid(&sent)], 40 * WIDTH_NS);
        assert!(of.is_some_and(|of| of.last_bytes > 30.0));
        // The other answer may begin a column earlier.
        let with = |sent: &[u64], from_ns, width_ns| {
            let other = GridReply {
                from_ns,
                width_ns,
                ..grid(sent)
            };
            growth(&[grid(&calls), other], 40 * WIDTH_NS)
        };
        assert_eq!(with(&sent, -9, WIDTH_NS), of);
        let later = [&[0], &sent[..]].concat();
        assert_eq!(with(&later, -9 - WIDTH_NS as i64, WIDTH_NS), of);
        assert_eq!(with(&sent, 0, 2 * WIDTH_NS), None);
        assert_eq!(growth(&[], 0), None);
    }

    fn order() -> impl Strategy<Value = Vec<u64>> {
        Just((1..=20).collect::<Vec<u64>>()).prop_shuffle()
    }

    fn sizes() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(9_500..10_500u64, 12..80)
    }

    proptest! {
        /// The correlation is that of the definition, where no two are equal:
        /// 1 - 6 d^2 / (n (n^2 - 1)).
        #[test]
        fn the_correlation_is_spearmans(order in order()) {
            let of = |(column, bytes): (usize, &u64)| Sent { column, calls: 1, bytes: *bytes };
            let columns: Vec<Sent> = order.iter().enumerate().map(of).collect();
            let distance = |(at, rank): (usize, &u64)| (at as f64 + 1.0 - *rank as f64).powi(2);
            let all: f64 = order.iter().enumerate().map(distance).sum();
            let naive = 1.0 - 6.0 * all / (20.0 * (400.0 - 1.0));
            prop_assert!((correlation(&columns) - naive).abs() < 1e-9);
        }

        /// Noise is no growth, whatever lies before it.
        #[test]
        fn noise_is_no_growth(sizes in sizes(), begun in 0..20usize) {
            prop_assert_eq!(found(&[vec![1; begun], sizes].concat()), None);
        }

        /// What grows by a part in each column is found, whatever the noise.
        #[test]
        fn growth_is_found_below_noise(sizes in sizes(), begun in 0..20usize) {
            let grown = sizes.iter().enumerate();
            let grown = grown.map(|(at, size)| (*size as f64 * 1.08_f64.powi(at as i32)) as u64);
            let all = [vec![1; begun], grown.collect()].concat();
            prop_assert!(found(&all).is_some());
        }
    }
}
