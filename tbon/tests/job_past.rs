//! Job time of events that lie back: clocks that drift, wander and are set do not shift what was
//! measured before.

use invivo_tbon::job_time::{DRIFT_PPM, JobClock, MARKS_MAX};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;
/// Own clock when the test begins.
const START_NS: u64 = 1 << 50;
/// The root's then, which shows true time from there on: late enough that no time that is off by a
/// round trip lies before its zero.
const ROOT_NS: u64 = 1 << 40;

/// A clock whose rate changes every second, and that may jump at the begin of one.
struct Wanderer {
    /// Own time at each second of true time.
    at_second: Vec<u64>,
}

impl Wanderer {
    fn new(ppm: impl Iterator<Item = i64>, jump: Option<(usize, i64)>) -> Wanderer {
        let mut at_second = vec![START_NS];
        for (second, ppm) in ppm.enumerate() {
            let jumped = jump.map_or(0, |(at, by)| if at == second { by } else { 0 });
            let last = at_second[second] as i64;
            at_second.push((last + SECOND as i64 + ppm * 1000 + jumped) as u64);
        }
        Wanderer { at_second }
    }

    fn at(&self, true_ns: u64) -> u64 {
        let second = (true_ns / SECOND) as usize;
        let from = self.at_second[second];
        let to = self
            .at_second
            .get(second + 1)
            .copied()
            .unwrap_or(from + SECOND);
        from + (u128::from(true_ns % SECOND) * u128::from(to - from) / u128::from(SECOND)) as u64
    }
}

/// Measures once in every second but the last, by round trips of so many ns there and back.
fn measured(own: &Wanderer, ways: &[(u64, u64)]) -> JobClock {
    let mut job = JobClock::below(own.at(0));
    let asks = 1..own.at_second.len() as u64 - 1;
    for (second, &(there_ns, back_ns)) in asks.zip(ways.iter().cycle()) {
        let true_ns = second * SECOND + 200_000_000;
        let asked_ns = own.at(true_ns);
        // The answer of a slow way keeps the next question waiting.
        if job.ask(asked_ns, true) || job.ask(asked_ns, false) {
            let now_ns = own.at(true_ns + there_ns + back_ns);
            let answered_ns = ROOT_NS + true_ns + there_ns;
            assert!(job.answered(now_ns, asked_ns, answered_ns, 0));
        }
    }
    job
}

fn way() -> impl Strategy<Value = (u64, u64)> {
    let way = || prop_oneof![1_000u64..100_000, 1_000u64..300_000_000];
    (way(), way())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However own clock wandered, an old event's job time is true within the error stated for the
    /// time since, and converts back.
    #[test]
    fn old_times_lie_within_their_error(
        ppm in prop::collection::vec(-499i64..=499, 20..4 * MARKS_MAX),
        ways in prop::collection::vec(way(), 1..20),
        when in prop::collection::vec(0.0f64..1.0, 20),
    ) {
        let own = Wanderer::new(ppm.iter().copied(), None);
        let job = measured(&own, &ways);
        let now_ns = own.at_second[ppm.len()];
        for when in when {
            let true_ns = (when * (ppm.len() as u64 * SECOND) as f64) as u64;
            let own_ns = own.at(true_ns);
            let root_ns = ROOT_NS + true_ns;
            let (job_ns, error_ns) = (job.job_at(own_ns), job.error_since_ns(own_ns, now_ns));
            prop_assert!(
                job_ns.abs_diff(root_ns) <= error_ns + 2,
                "{} s ago off by {}, said {}",
                (ppm.len() as u64 * SECOND - true_ns) / SECOND,
                job_ns.abs_diff(root_ns),
                error_ns
            );
            let back_ns = job.from_job(job_ns);
            prop_assert!(back_ns.abs_diff(own_ns) <= 2, "{} from {}", back_ns, own_ns);
        }
    }
}

#[test]
fn a_steady_drift_does_not_shift_the_past() {
    let seconds = 3 * MARKS_MAX as u64;
    let own = Wanderer::new((0..seconds).map(|_| 100), None);
    let job = measured(&own, &[(20_000, 20_000)]);
    let now_ns = own.at(seconds * SECOND);
    for second in [2, 5, seconds / 2, seconds - 2] {
        let true_ns = second * SECOND + 700_000_000;
        let own_ns = own.at(true_ns);
        // By the offset of now it would be off by up to a sixth of a second.
        assert!(
            job.job_at(own_ns).abs_diff(ROOT_NS + true_ns) < 100_000,
            "{second}"
        );
        let error_ns = job.error_since_ns(own_ns, now_ns);
        assert!(error_ns < 10 * SECOND * DRIFT_PPM / 1_000_000, "{error_ns}");
    }
}

#[test]
fn a_jump_shifts_nothing_but_the_second_of_it() {
    for by in [-3_000_000_000, -50_000_000, 50_000_000, 7_000_000_000] {
        // Back by more than a second own clock would not run on: the root's was set instead.
        let by = if by < -900_000_000 { -900_000_000 } else { by };
        let own = Wanderer::new((0..60).map(|_| 20), Some((30, by)));
        let job = measured(&own, &[(20_000, 20_000)]);
        for second in (2..28).chain(33..58) {
            let true_ns = second * SECOND + 500_000_000;
            let off_ns = job.job_at(own.at(true_ns)).abs_diff(ROOT_NS + true_ns);
            assert!(off_ns < 100_000, "{by}: {off_ns} at {second}");
        }
        let true_ns = 30 * SECOND + 500_000_000;
        let error_ns = job.error_since_ns(own.at(true_ns), own.at(59 * SECOND));
        let off_ns = job.job_at(own.at(true_ns)).abs_diff(ROOT_NS + true_ns);
        assert!(off_ns <= error_ns, "{by}: {off_ns}, said {error_ns}");
    }
}
