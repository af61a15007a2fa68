//! The slope of a series of values, with the bounds between which it lies.
//!
//! It is the median of the slopes between any two values (Theil and Sen), which one outlier or one
//! step does not move; the bounds are those of Kendall's rank correlation. So a step is no slope:
//! values that rise fewer than three times in eight have a lower bound of 0.

/// How many standard deviations of Kendall's sum lie between the median and a bound: 95 % of series
/// without a slope have 0 between their bounds.
const DEVIATIONS: f64 = 1.96;

/// A slope: what a value grows by in one unit of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trend {
    pub least: f64,
    pub middle: f64,
    pub most: f64,
}

impl Trend {
    /// The lower of each number.
    pub fn min(self, other: Trend) -> Trend {
        Trend {
            least: self.least.min(other.least),
            middle: self.middle.min(other.middle),
            most: self.most.min(other.most),
        }
    }
}

/// The trend of values at these times; flat where there are fewer than two.
pub fn trend(points: &[(f64, f64)]) -> Trend {
    let mut slopes = Vec::new();
    for (index, (before, low)) in points.iter().enumerate() {
        for (after, high) in &points[index + 1..] {
            slopes.push((high - low) / (after - before));
        }
    }
    if slopes.is_empty() {
        return Trend::default();
    }
    slopes.sort_by(f64::total_cmp);

    let pairs = slopes.len();
    let width = DEVIATIONS * variance(points).sqrt();
    // The bounds stand in the sorted slopes where Kendall's sum would be as far from 0.
    let least = (pairs as f64 - width) / 2.0 - 1.0;
    let most = (pairs as f64 + width) / 2.0;
    Trend {
        least: slopes[least.max(0.0) as usize],
        middle: (slopes[(pairs - 1) / 2] + slopes[pairs / 2]) / 2.0,
        most: slopes[(most.ceil() as usize).min(pairs - 1)],
    }
}

/// The variance of Kendall's sum (of the signs of all differences); equal values take from it.
fn variance(points: &[(f64, f64)]) -> f64 {
    let term = |n: usize| (n * n.saturating_sub(1) * (2 * n + 5)) as f64;
    let mut values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    let equal: f64 = values
        .chunk_by(|one, next| one == next)
        .map(|group| term(group.len()))
        .sum();
    (term(points.len()) - equal) / 18.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Trend {
        let at = |(time, value): (usize, &f64)| (time as f64, *value);
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(at).collect();
        trend(&points)
    }

    #[test]
    fn a_line_has_its_slope() {
        let line = of(&[3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0]);
        assert_eq!((line.least, line.middle, line.most), (2.0, 2.0, 2.0));
        assert_eq!(of(&[4.0; 8]), Trend::default());
        assert_eq!(of(&[4.0]), Trend::default());
    }

    #[test]
    fn an_outlier_is_no_slope() {
        let outlier = of(&[4.0, 4.0, 90.0, 4.0, 4.0, 4.0, 4.0, 4.0]);
        assert_eq!((outlier.least, outlier.middle), (0.0, 0.0));
    }

    #[test]
    fn two_steps_are_no_slope_and_three_are() {
        assert_eq!(of(&[1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0]).least, 0.0);
        assert_eq!(of(&[1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 9.0, 9.0]).least, 0.0);
        assert!(of(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]).least > 0.0);
    }

    /// Values of which each is as likely above as below the others.
    #[test]
    fn noise_has_zero_between_its_bounds() {
        let noise = of(&[5.0, 1.0, 7.0, 3.0, 6.0, 2.0, 8.0, 4.0]);
        assert!(noise.least < 0.0 && noise.most > 0.0, "{noise:?}");
    }
}
