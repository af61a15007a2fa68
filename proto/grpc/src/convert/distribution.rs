//! Converts histograms to their messages for clients.

use crate::v1;
use invivo_analysis::histogram::quantile;
use invivo_proto::control::histogram::{Bin, Distribution, Histogram};

/// Quantiles, and the bins where these are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bins {
    Included,
    LeftOut,
}

/// Gives a row its distributions.
pub(super) fn fill(row: &mut v1::FunctionRow, of: &Distribution, bins: Bins) {
    // No duration is beyond those that are known exactly.
    let (least, most) = (of.shortest_ns, of.longest_ns.max(of.shortest_ns));
    let middle = |bin: Bin| u64::midpoint(bin.least, bin.most).clamp(least, most);
    row.durations = message(&of.durations, middle, bins);
    // Sizes are mostly round numbers, which are the least of their bins.
    row.sizes = message(&of.sizes, |bin| bin.least, bins);
}

/// Nothing where there are no values.
fn message(of: &Histogram, value: impl Fn(Bin) -> u64, bins: Bins) -> Option<v1::Distribution> {
    let mut error = 0.0_f64;
    let mut at = |per_mille| {
        let bin = quantile(of, per_mille)?;
        let value = value(bin);
        // From the value that is told to the farther end of the bin.
        let off = bin.most.abs_diff(value).max(value.abs_diff(bin.least));
        error = error.max(off as f64 / value.max(1) as f64);
        Some(value)
    };
    let [p50, p90, p99] = [at(500)?, at(900)?, at(990)?];
    Some(v1::Distribution {
        count: of.count(),
        p50,
        p90,
        p99,
        bins: match bins {
            Bins::Included => of.bins().map(bin).collect(),
            Bins::LeftOut => Vec::new(),
        },
        error: error.min(1.0),
    })
}

fn bin(of: Bin) -> v1::HistogramBin {
    v1::HistogramBin {
        least: of.least,
        most: of.most,
        count: of.count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_analysis::histogram::Counting;

    fn distribution(values: &[u64]) -> Distribution {
        let mut counting = Counting::default();
        values.iter().for_each(|&value| counting.add(value));
        Distribution {
            durations: counting.histogram(),
            shortest_ns: values.iter().copied().min().unwrap_or(u64::MAX),
            longest_ns: values.iter().copied().max().unwrap_or(0),
            sizes: counting.histogram(),
        }
    }

    fn filled(values: &[u64], bins: Bins) -> v1::FunctionRow {
        let mut row = v1::FunctionRow::default();
        fill(&mut row, &distribution(values), bins);
        row
    }

    #[test]
    fn quantiles_lie_between_the_least_and_the_greatest() {
        let row = filled(&[1000], Bins::Included);
        let (durations, sizes) = (row.durations.unwrap(), row.sizes.unwrap());
        // The bin is 992 to 1023.
        assert_eq!((durations.p50, durations.p99), (1000, 1000));
        assert_eq!((durations.error, sizes.error), (0.023, 31.0 / 992.0));
        assert_eq!((sizes.p50, sizes.count), (992, 1));
        let bin = v1::HistogramBin {
            least: 992,
            most: 1023,
            count: 1,
        };
        assert_eq!(sizes.bins, [bin]);
    }

    #[test]
    fn sizes_that_are_powers_of_two_are_told_exactly() {
        let row = filled(&[0, 8, 8192, 8192, 1 << 20], Bins::LeftOut);
        let sizes = row.sizes.unwrap();
        assert_eq!((sizes.p50, sizes.p90, sizes.p99), (8192, 1 << 20, 1 << 20));
        assert!(sizes.bins.is_empty());
    }

    /// Where bins are wide, and values small: what is told is off by what is told.
    #[test]
    fn the_error_is_that_of_the_quantiles() {
        let values: Vec<u64> = (0..40)
            .flat_map(|bits| (16..32).map(move |of| of << bits))
            .collect();
        let many = [&values[..], &[5; 10_000]].concat();
        let row = filled(&many, Bins::LeftOut);
        let (durations, sizes) = (row.durations.unwrap(), row.sizes.unwrap());
        // Bins of 2^3: 0 to 7.
        assert_eq!((durations.p50, sizes.p50), (5, 0));
        assert_eq!((durations.error, sizes.error), (1.0, 1.0));
        let row = filled(&values, Bins::LeftOut);
        let error = row.sizes.unwrap().error;
        assert!(error > 0.3 && error < 0.5, "{error}");
        assert_eq!(filled(&[8, 24], Bins::LeftOut).sizes.unwrap().error, 0.0);
    }

    #[test]
    fn of_no_values_nothing_is_told() {
        let row = filled(&[], Bins::Included);
        assert_eq!((row.durations, row.sizes), (None, None));
    }
}
