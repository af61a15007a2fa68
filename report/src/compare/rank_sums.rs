//! How probable a difference between two groups of numbers is by chance: the exact test of rank
//! sums (Wilcoxon 1945; Mann and Whitney 1947), with ties.
//!
//! All numbers are put in order; if both groups come from the same source, any choice of places is
//! as probable as any other for the first group. It asks nothing of how the numbers are
//! distributed, and one run that was disturbed does not spoil it.

/// The most runs of a side.
pub const RUNS_MAX: usize = 32;

/// The probability that the rank sum of `a` is as far from its mean as it is, or farther, to either
/// side, by chance. 1 where a group is empty.
pub fn chance(a: &[f64], b: &[f64]) -> f64 {
    let ranks = doubled_ranks(a, b);
    let sum: usize = ranks[..a.len()].iter().sum();
    let ways = ways(&ranks, a.len());
    // Doubled, the mean of a rank is N + 1.
    let mean = a.len() * (ranks.len() + 1);
    let distance = sum.abs_diff(mean);
    let (mut as_far, mut all) = (0.0, 0.0);
    for (sum, ways) in ways.iter().enumerate() {
        all += ways;
        if sum.abs_diff(mean) >= distance {
            as_far += ways;
        }
    }
    as_far / all
}

/// The least that [`chance`] can be for groups of these sizes: all of one below all of the other.
pub fn least_chance(a: usize, b: usize) -> f64 {
    let numbers = |from: usize, many: usize| -> Vec<f64> {
        (from..from + many).map(|number| number as f64).collect()
    };
    chance(&numbers(0, a), &numbers(a, b))
}

/// Twice the place of each number among all, counted from 1; equal numbers share the mean of their
/// places, which is why they are doubled.
fn doubled_ranks(a: &[f64], b: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let place = |number: &f64| {
        let less = all.iter().filter(|other| other.total_cmp(number).is_lt());
        let same = all.iter().filter(|other| other.total_cmp(number).is_eq());
        2 * less.count() + same.count() + 1
    };
    all.iter().map(place).collect()
}

/// By sum, in how many ways `chosen` of these can be chosen. The counts are beyond integers, and
/// only their ratios are used.
fn ways(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        // From the largest on, so that each is chosen once.
        for many in (1..=chosen).rev() {
            for sum in (rank..=most).rev() {
                ways[many][sum] += ways[many - 1][sum - rank];
            }
        }
    }
    ways.swap_remove(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every choice of places, one by one.
    fn naive(a: &[f64], b: &[f64]) -> f64 {
        let ranks = doubled_ranks(a, b);
        let mean = a.len() * (ranks.len() + 1);
        let distance = |chosen: usize| {
            let places = (0..ranks.len()).filter(|place| chosen >> place & 1 == 1);
            places
                .map(|place| ranks[place])
                .sum::<usize>()
                .abs_diff(mean)
        };
        let seen = distance((1 << a.len()) - 1);
        let all = (0..1_usize << ranks.len()).filter(|set| set.count_ones() as usize == a.len());
        let (as_far, all) = all.fold((0, 0), |(as_far, all), set| {
            (as_far + usize::from(distance(set) >= seen), all + 1)
        });
        as_far as f64 / all as f64
    }

    proptest! {
        #[test]
        fn it_is_what_counting_all_choices_gives(
            a in proptest::collection::vec(0_u8..6, 0..6),
            b in proptest::collection::vec(0_u8..6, 0..6),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) =
                (a.into_iter().map(f64::from).collect(), b.into_iter().map(f64::from).collect());
            let (told, counted) = (chance(&a, &b), naive(&a, &b));
            prop_assert!((told - counted).abs() < 1e-12, "{told} {counted}");
            prop_assert!((chance(&b, &a) - told).abs() < 1e-12);
        }
    }

    /// From the tables of the test: 2 in C(2 n, n).
    #[test]
    fn groups_apart_are_as_improbable_as_tables_say() {
        for (runs, ways) in [(3, 20.0), (4, 70.0), (6, 924.0), (10, 184_756.0)] {
            let told = least_chance(runs, runs);
            assert!((told - 2.0 / ways).abs() < 1e-12, "{runs}: {told}");
        }
        let most = least_chance(RUNS_MAX, RUNS_MAX);
        assert!(most > 0.0 && most < 1e-15, "{most}");
    }
}
