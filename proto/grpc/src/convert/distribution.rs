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
    // The middle is off by half of a bin, the least value by all of it.
    let errors = [
        (&mut row.durations, &of.durations, 0.5),
        (&mut row.sizes, &of.sizes, 1.0),
    ];
    for (message, of, share) in errors {
        if let Some(message) = message {
            message.error = of.width() * share;
        }
    }
}

/// Nothing where there are no values.
fn message(of: &Histogram, value: impl Fn(Bin) -> u64, bins: Bins) -> Option<v1::Distribution> {
    let at = |per_mille| quantile(of, per_mille).map(&value);
    Some(v1::Distribution {
        count: of.count(),
        p50: at(500)?,
        p90: at(900)?,
        p99: at(990)?,
        bins: match bins {
            Bins::Included => of.bins().map(bin).collect(),
            Bins::LeftOut => Vec::new(),
        },
        error: 0.0,
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
        assert_eq!((durations.error, sizes.error), (1.0 / 32.0, 1.0 / 16.0));
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

    #[test]
    fn of_no_values_nothing_is_told() {
        let row = filled(&[], Bins::Included);
        assert_eq!((row.durations, row.sizes), (None, None));
    }
}
