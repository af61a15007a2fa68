//! Chooses which of many readings of a clock is missed least, so that a bounded number of them
//! tells about a run of any length.

const SECOND: u128 = 1_000_000_000;

/// The index of the reading that is missed least: not the first nor the last. What the readings
/// leave open grows with the square root of its age: with 512 of them, one a second, those of a
/// minute ago lie 2 seconds apart, those of an hour ago 14. `at` gives the time of a reading in ns,
/// in their order; there are `count`, at least three.
pub fn least_missed(count: usize, at: impl Fn(usize) -> u64) -> usize {
    let last = at(count - 1);
    let missed = |index: &usize| {
        let (from, to) = (at(index - 1), at(index + 1));
        let gap = u128::from(to.saturating_sub(from)) >> 10;
        let age = u128::from(last.saturating_sub(to)) + SECOND;
        gap * gap / (age >> 10)
    };
    (1..count - 1).min_by_key(missed).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn an_hour_is_covered_and_the_newest_most_densely() {
        let mut kept: Vec<u64> = Vec::new();
        for second in 0..=3600u64 {
            if kept.len() == 512 {
                kept.remove(least_missed(512, |index| kept[index]));
            }
            kept.push(second * SECOND as u64);
        }
        assert_eq!((kept[0], kept[511]), (0, 3600 * SECOND as u64));
        for (age_s, most_s) in [(3600u64, 25), (600, 12), (60, 5), (10, 2)] {
            let since = (3600 - age_s) * SECOND as u64;
            let young = kept.windows(2).filter(|pair| pair[0] >= since);
            let gap = young.map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
            assert!(gap <= most_s * SECOND as u64, "{gap} ns within {age_s} s");
        }
    }
}
