//! Count, sum, mean, variance and extremes of durations, without keeping them.
//!
//! Single values are added by Welford's method (Technometrics 4, 1962), two sets are joined by the
//! formula of Chan, Golub and LeVeque (COMPSTAT 1982); neither loses digits where the mean is large
//! beside the deviation, as sums of squares do. Count, sum and extremes are integers: their merge
//! is associative and commutative exactly; mean and `m2` are so up to rounding. A sum saturates
//! instead of wrapping around.

use invivo_proto::control::results::Moments;
use invivo_proto::ids::Rank;

/// The moments of no values: merging them into others changes nothing.
pub const EMPTY: Moments = Moments::EMPTY;

/// Adds one duration of a call on `rank`.
#[inline]
pub fn insert(into: &mut Moments, ns: u64, rank: Rank) {
    longest(into, ns, rank);
    into.count += 1;
    into.sum_ns = into.sum_ns.saturating_add(ns);
    into.min_ns = into.min_ns.min(ns);
    let distance = ns as f64 - into.mean_ns;
    into.mean_ns += distance / into.count as f64;
    // Welford: the distance from the old mean times the one from the new mean.
    into.m2 += distance * (ns as f64 - into.mean_ns);
}

/// Adds all values of `from`.
pub fn merge(into: &mut Moments, from: &Moments) {
    if from.count == 0 {
        return;
    }
    if into.count == 0 {
        *into = *from;
        return;
    }

    longest(into, from.max_ns, from.max_rank);
    let (here, there) = (into.count as f64, from.count as f64);
    let distance = from.mean_ns - into.mean_ns;
    into.mean_ns += distance * (there / (here + there));
    into.m2 += from.m2 + distance * distance * (here * there / (here + there));
    into.count = into.count.saturating_add(from.count);
    into.sum_ns = into.sum_ns.saturating_add(from.sum_ns);
    into.min_ns = into.min_ns.min(from.min_ns);
}

/// Of equally long calls the lowest rank is named, whatever the order they come in.
#[inline(always)]
fn longest(into: &mut Moments, ns: u64, rank: Rank) {
    if into.count == 0
        || (ns, core::cmp::Reverse(rank)) > (into.max_ns, core::cmp::Reverse(into.max_rank))
    {
        into.max_ns = ns;
        into.max_rank = rank;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Equal but for rounding: what is exact exactly, the rest to nine digits of the values' own
    /// size.
    pub fn nearly_equal(a: &Moments, b: &Moments) -> bool {
        let exact = |m: &Moments| (m.count, m.sum_ns, m.min_ns, m.max_ns, m.max_rank);
        let scale = a.max_ns as f64 + 1.0;
        exact(a) == exact(b)
            && (a.mean_ns - b.mean_ns).abs() <= 1e-9 * scale
            && (a.m2 - b.m2).abs() <= 1e-9 * scale * scale * (a.count as f64 + 1.0)
    }

    fn of(values: &[(u64, u32)]) -> Moments {
        let mut moments = EMPTY;
        for &(ns, rank) in values {
            insert(&mut moments, ns, Rank(rank));
        }
        moments
    }

    /// In integers: `m2 = (n * sum of squares - square of sum) / n`.
    fn direct(values: &[(u64, u32)]) -> Moments {
        let n = values.len() as u128;
        let sum: u128 = values.iter().map(|v| u128::from(v.0)).sum();
        let squares: u128 = values.iter().map(|v| u128::from(v.0).pow(2)).sum();
        let max_ns = values.iter().map(|v| v.0).max().unwrap_or(0);
        Moments {
            count: n as u64,
            sum_ns: sum as u64,
            mean_ns: if n == 0 { 0.0 } else { sum as f64 / n as f64 },
            m2: if n == 0 {
                0.0
            } else {
                (n * squares - sum * sum) as f64 / n as f64
            },
            min_ns: values.iter().map(|v| v.0).min().unwrap_or(u64::MAX),
            max_ns,
            max_rank: Rank(
                values
                    .iter()
                    .filter(|v| v.0 == max_ns)
                    .map(|v| v.1)
                    .min()
                    .unwrap_or(0),
            ),
        }
    }

    fn values() -> impl Strategy<Value = Vec<(u64, u32)>> {
        prop_oneof![
            prop::collection::vec((0u64..5, 0u32..5), 0..20),
            prop::collection::vec((0u64..1 << 45, 0u32..5), 0..200),
            // A large mean with a small deviation, where sums of squares in floating point fail.
            prop::collection::vec((10_000_000_000u64..10_000_000_100, 0u32..5), 0..200),
        ]
    }

    proptest! {
        #[test]
        fn insertion_equals_direct_computation(values in values()) {
            let (found, expected) = (of(&values), direct(&values));
            prop_assert!(nearly_equal(&found, &expected), "{found:?} {expected:?}");
        }

        #[test]
        fn merging_parts_in_any_order_equals_the_whole(
            a in values(),
            b in values(),
            c in values(),
        ) {
            let all = [&a[..], &b, &c].concat();
            let parts = [of(&a), of(&b), of(&c)];
            for [x, y, z] in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
                let mut left = parts[x];
                merge(&mut left, &parts[y]);
                merge(&mut left, &parts[z]);
                let mut right = parts[y];
                merge(&mut right, &parts[z]);
                let mut outer = parts[x];
                merge(&mut outer, &right);
                prop_assert!(nearly_equal(&left, &direct(&all)), "{left:?}");
                prop_assert!(nearly_equal(&outer, &left), "{outer:?} {left:?}");
            }
        }
    }

    #[test]
    fn a_small_deviation_on_a_large_mean_is_kept() {
        let base = 3_600_000_000_000;
        let moments = of(&[(base, 0), (base + 2, 0), (base + 4, 0)]);
        assert!((moments.m2 - 8.0).abs() < 1e-2, "{moments:?}");
    }

    #[test]
    fn sums_end_at_the_largest_number() {
        let mut moments = of(&[(u64::MAX, 3), (5, 1)]);
        merge(&mut moments, &of(&[(u64::MAX, 2)]));
        assert_eq!(
            (moments.count, moments.sum_ns, moments.max_rank),
            (3, u64::MAX, Rank(2))
        );
    }
}
