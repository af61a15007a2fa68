//! Computes medians with bounds that hold whatever the distribution.
//!
//! Of so many measurements, how many lie below the true median is known; on a shared machine
//! nothing else is.

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// How likely the true median lies beyond the bounds, in all.
const BEYOND: f64 = 0.05;

/// A median with the bounds of its 95 % confidence interval. Of fewer than six measurements there
/// are no such bounds: then they are the least and the greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    /// The median.
    pub value: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// Measurements.
    pub count: usize,
}

impl Median {
    /// The median of these measurements.
    pub fn of(values: &[f64]) -> Result<Median> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted
            .len()
            .checked_sub(1)
            .context("nothing was measured")?;

        let outside = outside(sorted.len());
        Ok(Median {
            // The mean of the two in the middle where the number is even.
            value: (sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0,
            low: sorted[outside],
            high: sorted[last - outside],
            count: sorted.len(),
        })
    }

    /// The median as JSON, for a result file.
    pub fn json(&self) -> Value {
        json!({ "median": self.value, "low": self.low, "high": self.high, "count": self.count })
    }
}

/// How many of `count` sorted measurements lie outside of the bounds on each side: the most for
/// which the chance that the true median is among them is small enough.
/// A measurement lies below the median with a chance of one half.
fn outside(count: usize) -> usize {
    // Logarithms, because 2^-count is no number for long.
    let (mut ln_ways, mut chance, mut outside) = (0.0, 0.0, 0);
    for below in 0..count / 2 {
        // The binomial chance that exactly `below` measurements lie below the median.
        chance += f64::exp(ln_ways - count as f64 * f64::ln(2.0));
        // Both sides together.
        if 2.0 * chance > BEYOND {
            break;
        }
        outside = below;
        // The next binomial coefficient, from this one.
        ln_ways += f64::ln((count - below) as f64 / (below + 1) as f64);
    }
    outside
}

/// The value below which this part of the values lies.
pub fn quantile(values: &mut [f64], part: f64) -> Result<f64> {
    values.sort_by(f64::total_cmp);
    let last = values
        .len()
        .checked_sub(1)
        .context("nothing was measured")?;
    Ok(values[(last as f64 * part).round() as usize])
}

/// The differences of pairs: the second less the first.
pub fn differences(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().map(|(without, with)| with - without).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let mut values: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&mut values, 0.5).unwrap(), 50.0);
        assert_eq!(quantile(&mut values, 0.99).unwrap(), 99.0);
        assert!(quantile(&mut [], 0.5).is_err());
    }

    /// As tables of the sign test have them.
    #[test]
    fn bounds_are_those_of_the_tables() {
        for (count, rank) in [
            (5, 1),
            (6, 1),
            (8, 1),
            (9, 2),
            (12, 3),
            (15, 4),
            (20, 6),
            (25, 8),
            (100, 40),
        ] {
            assert_eq!(outside(count) + 1, rank, "{count} measurements");
        }
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let median = Median::of(&values).unwrap();
        assert_eq!((median.low, median.value, median.high), (6.0, 10.5, 15.0));
        assert!(Median::of(&[]).is_err());
    }

    #[test]
    fn bounds_hold_as_often_as_they_say() {
        // Numbers that look random, the median of which is one half.
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let holds = (0..2000).filter(|_| {
            let values: Vec<f64> = (0..21).map(|_| next()).collect();
            let median = Median::of(&values).unwrap();
            median.low <= 0.5 && 0.5 <= median.high
        });
        let holds = holds.count();
        assert!((1900..2000).contains(&holds), "{holds} of 2000");
    }
}
