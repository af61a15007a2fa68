//! Tells long gaps between calls from short ones, without knowing how long they are.

/// Gaps from which is learnt what is long.
const LEARNT: u8 = 8;
/// Later one gap counts for so many times what is long at most: one step that writes a file does
/// not make all others short.
const FACTOR_MAX: u64 = 4;
/// What is long becomes shorter by this part with each short gap: after a phase with longer ones,
/// or a first gap that was like no other.
const FORGET: u64 = 1024;

/// A long one is at least so many times as long as a short one.
const RATIO: u64 = 3;

/// What is short becomes longer by this part with each long gap.
const FOLLOW: u64 = 16;

/// Two means, each of which follows the values that are nearer to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps {
    /// Gaps so far; beyond [`LEARNT`] nobody counts.
    seen: u8,
    short: u64,
    long: u64,
}

impl Gaps {
    /// Whether a gap is one of the long ones. Where all are about as long as each other, none is.
    #[inline(always)]
    pub fn is_long(&mut self, gap: u64) -> bool {
        // The first one may reach from the program's begin to its loop: it is no long one.
        if self.seen < 2 {
            self.short = match self.seen {
                0 => gap.max(1),
                _ => self.short.min(gap.max(1)),
            };
            (self.seen, self.long) = (self.seen + 1, gap.max(1));
            return false;
        }
        // Nearer as a factor. Where gaps are alike, which one is nearer is a toss-up, that no
        // processor foresees: both ways are computed.
        let squared = u128::from(gap) * u128::from(gap);
        let is_upper = squared > u128::from(self.short) * u128::from(self.long);
        let most = match self.seen {
            LEARNT => self.long.saturating_mul(FACTOR_MAX),
            _ => u64::MAX,
        };
        let longer = nearer(self.long, gap.min(most));
        // Where all have become longer, the short ones have as well.
        let follows = (self.short + self.short / FOLLOW).min(longer);
        let shorter = nearer(self.short, gap).max(1);
        let forgets = (self.long - self.long / FORGET).max(shorter);
        (self.short, self.long) = match is_upper {
            true => (follows, longer),
            false => (shorter, forgets),
        };
        self.seen = (self.seen + 1).min(LEARNT);
        is_upper && self.seen == LEARNT && self.long > self.short.saturating_mul(RATIO)
    }
}

/// A quarter of the way.
#[inline(always)]
fn nearer(mean: u64, to: u64) -> u64 {
    mean - mean / 4 + to / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Which of these gaps are long, behind those that are learnt from.
    fn long(gaps: impl IntoIterator<Item = u64>) -> Vec<bool> {
        let mut of = Gaps::default();
        gaps.into_iter().map(|gap| of.is_long(gap)).collect()
    }

    fn steps(times: usize) -> impl Iterator<Item = u64> {
        [200, 180, 220, 5000].into_iter().cycle().take(4 * times)
    }

    fn every_fourth(told: &[bool]) -> bool {
        told.iter()
            .enumerate()
            .all(|(at, long)| *long == (at % 4 == 3))
    }

    #[test]
    fn one_gap_that_is_very_long_changes_nothing() {
        let gaps = steps(10).chain([500_000, 180, 220, 5000]).chain(steps(10));
        let told = long(gaps);
        assert!(every_fourth(&told[8..40]) && every_fourth(&told[44..]));
    }

    /// Nor does the way to the first call, for good.
    #[test]
    fn a_first_gap_like_no_other_is_forgotten() {
        assert!(every_fourth(
            &long([800_000].into_iter().chain(steps(20)))[9..]
        ));
        let twice = [3, 800_000].into_iter().chain(steps(1500));
        assert!(every_fourth(&long(twice)[2 + 4 * 1400..]));
    }

    /// Steps become four times as long; none of them begins a burst for long.
    #[test]
    fn gaps_that_grow_together_stay_short() {
        let told = long([5000; 500].into_iter().chain([20_000; 500]));
        assert!(!told[..500].contains(&true) && !told[560..].contains(&true));
    }

    #[test]
    fn a_first_step_that_is_slow_is_soon_forgotten() {
        let steps = [200, 5000].into_iter().cycle().take(400);
        let told = long([200, 60_000].into_iter().chain(steps));
        let every_second =
            |told: &[bool]| (told.iter().enumerate()).all(|(at, of)| *of == (at % 2 == 1));
        assert!(every_second(&told[10..]), "{told:?}");
    }

    #[test]
    fn gaps_that_are_alike_are_all_short() {
        let gaps = (0..1000).map(|at| 900 + 211 * at % 200);
        assert!(!long(gaps).contains(&true));
    }
}
