//! Calls that send more and more bytes: what they cost grows with the run.

use crate::units::{bytes, duration};
use invivo_grpc::v1::GridReply;
use serde::{Deserialize, Serialize};

/// With fewer columns an order among them may be chance.
const COLUMNS_MIN: usize = 12;
/// How well the columns are in order by their sizes (Spearman's rank correlation), at least.
const IN_ORDER: f64 = 0.9;
/// How many times as much calls of the last quarter send as those of the first, at least.
const MORE: f64 = 1.5;

/// What to ask the grid for: from the beginning of the observed time, in as many columns as it has.
pub const MOVED: [&str; 2] = ["calls", "bytes"];

/// How the calls of all ranks have grown.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Growth {
    /// How long they have been growing, until the end of the time that was looked at, in ns.
    pub since_ns: u64,
    /// What a call sent in the first quarter of that time, in bytes, in the mean.
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

/// The stretch up to the end of the grids in which calls have grown most; nothing where they have
/// not. The grids are `MOVED`, of the same time.
pub(super) fn growth(moved: &[GridReply], end_ns: u64) -> Option<Growth> {
    let [calls, sent] = moved else { return None };
    // Each answer has its own idea of the beginning of the observed time, some ns apart.
    let apart_ns = calls.from_ns.abs_diff(sent.from_ns);
    if calls.width_ns != sent.width_ns || apart_ns > calls.width_ns / 16 {
        return None;
    }
    let all = columns(calls, sent);
    let stretches = (0..all.len().saturating_sub(COLUMNS_MIN - 1)).map(|begin| &all[begin..]);
    let grown = stretches.filter_map(|stretch| {
        let quarter = stretch.len() / 4;
        let first = each(&stretch[..quarter]);
        let last = each(&stretch[stretch.len() - quarter..]);
        // The dear question last.
        let is_more = last >= MORE * first && first > 0.0;
        (is_more && correlation(stretch) >= IN_ORDER).then_some((stretch[0].column, first, last))
    });
    let most = grown.max_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1)));
    most.map(|(column, first_bytes, last_bytes)| {
        let begin_ns = calls.from_ns + (column as u64 * calls.width_ns) as i64;
        Growth {
            since_ns: end_ns.saturating_sub(begin_ns.max(0) as u64),
            first_bytes,
            last_bytes,
        }
    })
}

/// All columns in which calls ended, all ranks together.
fn columns(calls: &GridReply, sent: &GridReply) -> Vec<Sent> {
    let sum = |grid: &GridReply, column: usize| -> u64 {
        let cells = grid.rows.iter().filter_map(|row| row.cells.get(column));
        cells.map(|cell| cell.sum).sum()
    };
    let columns = 0..calls.columns.min(sent.columns) as usize;
    let all = columns.map(|column| Sent {
        column,
        calls: sum(calls, column),
        bytes: sum(sent, column),
    });
    all.filter(|of| of.calls > 0).collect()
}

/// Bytes of a call.
fn each(columns: &[Sent]) -> f64 {
    let sum = |of: fn(&Sent) -> u64| columns.iter().map(of).sum::<u64>() as f64;
    sum(|of| of.bytes) / sum(|of| of.calls).max(1.0)
}

/// Spearman's rank correlation of the bytes of a call with the time: 1 where each column has more
/// than the one before it. Equal ones have the mean of their ranks.
fn correlation(columns: &[Sent]) -> f64 {
    let mut sizes: Vec<f64> = columns.iter().map(|of| each(&[*of])).collect();
    let ranks: Vec<f64> = {
        let mut sorted = sizes.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = |size: f64| {
            let below = sorted.partition_point(|of| *of < size);
            let up_to = sorted.partition_point(|of| *of <= size);
            (below + up_to) as f64 / 2.0
        };
        sizes.drain(..).map(rank).collect()
    };
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

/// "their calls send more and more, 132 KiB each and 5.2 times as much as 2.10 s before".
pub(super) fn told(of: &Growth) -> String {
    format!(
        "their calls send more and more, {} each and {:.1} times as much as {} before",
        bytes(of.last_bytes as u64),
        of.last_bytes / of.first_bytes,
        duration(of.since_ns)
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
        assert_eq!((of.first_bytes, of.last_bytes), (250.0, 1450.0));
        assert_eq!(
            told(&of),
            "their calls send more and more, 1.42 KiB each and 5.8 times as much as 16.8 ms before"
        );
        // It has not been growing for a while.
        sizes.extend([1_600; 20]);
        assert_eq!(found(&sizes), None);
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
        // As long as they are of the same time.
        let of_other_time = |from_ns, width_ns| {
            let other = GridReply {
                from_ns,
                width_ns,
                ..grid(&sent)
            };
            growth(&[grid(&calls), other], 40 * WIDTH_NS)
        };
        assert_eq!(of_other_time(-9, WIDTH_NS), of);
        assert_eq!(of_other_time(0, 2 * WIDTH_NS), None);
        assert_eq!(of_other_time(WIDTH_NS as i64, WIDTH_NS), None);
        assert_eq!(growth(&[], 0), None);
    }

    proptest! {
        /// The correlation is the one of the definition: 1 - 6 d^2 / (n (n^2 - 1)) without equal
        /// ones.
        #[test]
        fn the_correlation_is_spearmans(order in Just((1..=20u64).collect::<Vec<_>>()).prop_shuffle()) {
            let of = |(column, bytes): (usize, &u64)| Sent { column, calls: 1, bytes: *bytes };
            let columns: Vec<Sent> = order.iter().enumerate().map(of).collect();
            let distance = |(at, rank): (usize, &u64)| (at as f64 + 1.0 - *rank as f64).powi(2);
            let all: f64 = order.iter().enumerate().map(distance).sum();
            let naive = 1.0 - 6.0 * all / (20.0 * (400.0 - 1.0));
            prop_assert!((correlation(&columns) - naive).abs() < 1e-9);
        }

        /// Noise is no growth, whatever lies before it.
        #[test]
        fn noise_is_no_growth(sizes in prop::collection::vec(90..110u64, 12..80), begun in 0..20usize) {
            let all = [vec![1; begun], sizes].concat();
            // Few columns of a beginning may stand in order with noise behind them; all of them
            // cannot.
            if let Some(of) = found(&all) {
                prop_assert!(of.since_ns > (all.len() - begun) as u64 * WIDTH_NS);
            }
        }
    }
}
