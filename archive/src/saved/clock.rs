//! Ticks of a node as job time, by the points that an observation has.

/// Points of ticks and the job time that they stand for, in ns; rising in both.
#[derive(Clone, Debug, Default)]
pub struct Clock(Vec<(u64, u64)>);

impl Clock {
    /// Nothing where the points do not rise.
    pub fn of(points: &[(u64, u64)]) -> Option<Clock> {
        let rises = |pair: &[(u64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
        points.windows(2).all(rises).then(|| Clock(points.to_vec()))
    }

    /// What ticks stand for: on the line between the points beside them, and before the first and
    /// behind the last one on that of the nearest two. With one point or none a tick is a ns.
    pub fn job_ns(&self, ticks: u64) -> u64 {
        let points = &self.0;
        let behind = points.partition_point(|(at, _)| *at <= ticks);
        let first = behind.saturating_sub(1).min(points.len().saturating_sub(2));
        let (from, to) = match (points.get(first), points.get(first + 1)) {
            (Some(from), Some(to)) => (*from, *to),
            (Some(from), None) => (*from, (from.0 + 1, from.1 + 1)),
            (None, _) => return ticks,
        };
        let width = i128::from(to.0) - i128::from(from.0);
        let rise = i128::from(to.1) - i128::from(from.1);
        let steps = i128::from(ticks) - i128::from(from.0);
        let job_ns = i128::from(from.1) + (steps * rise).div_euclid(width.max(1));
        job_ns.clamp(0, i128::from(u64::MAX)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_on_lines_between_the_points() {
        let clock = Clock::of(&[(100, 1000), (200, 1050), (300, 1250)]).expect("they rise");
        let told = [0, 100, 150, 200, 250, 300, 400].map(|ticks| clock.job_ns(ticks));
        assert_eq!(told, [950, 1000, 1025, 1050, 1150, 1250, 1450]);
        let one = Clock::of(&[(100, 1000)]).expect("one point");
        assert_eq!((one.job_ns(90), one.job_ns(110)), (990, 1010));
        assert_eq!(Clock::of(&[]).expect("none").job_ns(7), 7);
    }

    #[test]
    fn points_that_do_not_rise_are_refused() {
        assert!(Clock::of(&[(1, 1), (1, 2)]).is_none());
        assert!(Clock::of(&[(1, 2), (2, 1)]).is_none());
    }
}
