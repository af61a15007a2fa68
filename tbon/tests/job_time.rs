//! Job time against simulated clocks: whatever the delays and the drift, the truth lies within the
//! stated error.

use invivo_tbon::job_time::{
    ASK_AGAIN_NS, ASK_NS, AWAKE_NS, DRIFT_PPM, DRIFT_PPM_MAX, EXACT_ASK_NS, FIRST_ROUNDS, JobClock,
    REPEATS_MAX, RESTED_NS, UNKNOWN_NS,
};
use proptest::prelude::*;

/// A clock that started at `start_ns` and runs off by `ppm`, as a function of true time.
#[derive(Clone, Copy, Debug)]
struct Clock {
    start_ns: u64,
    ppm: i64,
}

impl Clock {
    fn at(self, true_ns: u64) -> u64 {
        let off = i128::from(true_ns) * i128::from(self.ppm) / 1_000_000;
        (i128::from(self.start_ns) + i128::from(true_ns) + off) as u64
    }
}

/// One question: how long it waits before it is asked, and how long its ways take.
#[derive(Clone, Copy, Debug)]
struct Round {
    idle_ns: u64,
    parent_spoke: bool,
    there_ns: u64,
    back_ns: u64,
}

fn round() -> impl Strategy<Value = Round> {
    let way = || {
        prop_oneof![
            1_000u64..200_000,
            1_000u64..5_000_000,
            1_000u64..900_000_000
        ]
    };
    (0u64..3_000_000_000, any::<bool>(), way(), way()).prop_map(
        |(idle_ns, parent_spoke, there_ns, back_ns)| Round {
            idle_ns,
            parent_spoke,
            there_ns,
            back_ns,
        },
    )
}

fn clock() -> impl Strategy<Value = Clock> {
    // Two clocks may run this far apart, so each half of it.
    let half = DRIFT_PPM as i64 / 2 - 1;
    (0u64..1 << 50, -half..=half).prop_map(|(start_ns, ppm)| Clock { start_ns, ppm })
}

fn off_by(job: &JobClock, own: Clock, root: Clock, true_ns: u64) -> u64 {
    job.job_ns(own.at(true_ns)).abs_diff(root.at(true_ns))
}

proptest! {
    /// The root, a node and a place: each measures the one above while time goes on.
    #[test]
    fn the_true_job_time_lies_within_the_stated_error(
        clocks in prop::array::uniform3(clock()),
        rounds in prop::collection::vec((round(), 1usize..3), 1..40),
    ) {
        let [root, node, place] = clocks;
        // The job's clock runs by the root's: the others drift against it.
        let own = [root, node, place];
        let below = |own: Clock| JobClock::below(own.at(0));
        let mut jobs = [JobClock::root(), below(node), below(place)];
        let mut true_ns = 0;
        for (round, child) in rounds {
            true_ns += round.idle_ns;
            let asked_ns = own[child].at(true_ns);
            if !jobs[child].ask(asked_ns, round.parent_spoke) {
                continue;
            }
            true_ns += round.there_ns;
            let parent_ns = own[child - 1].at(true_ns);
            let (job_ns, error_ns) = (
                jobs[child - 1].job_ns(parent_ns),
                jobs[child - 1].error_ns(parent_ns),
            );
            true_ns += round.back_ns;
            prop_assert!(jobs[child].answered(own[child].at(true_ns), asked_ns, job_ns, error_ns));
            for later_ns in [0, 1, 1_000_000, 60_000_000_000] {
                let at_ns = true_ns + later_ns;
                for process in 1..3 {
                    let error_ns = jobs[process].error_ns(own[process].at(at_ns));
                    if error_ns == UNKNOWN_NS {
                        prop_assert!(!jobs[process].is_known());
                        continue;
                    }
                    // Two ns for the rounding of the simulated clocks.
                    let off_ns = off_by(&jobs[process], own[process], root, at_ns);
                    prop_assert!(off_ns <= error_ns + 2, "process {}: off by {}, said \
                        {}", process, off_ns, error_ns);
                }
            }
        }
    }

    /// A clock that is slewed faster than is usual: as soon as two measurements contradict each
    /// other, the stated error holds for as long as it goes on, however long nothing is measured.
    #[test]
    fn a_slewed_clock_is_noticed_and_its_error_holds(
        ppm in 2_000i64..DRIFT_PPM_MAX as i64 * 9 / 10,
        faster: bool,
        ways in prop::collection::vec((1_000u64..100_000, 1_000u64..100_000), 2..20),
    ) {
        slewed_clock_is_noticed(if faster { ppm } else { -ppm }, &ways)?;
    }

    /// Of many measurements the best counts: the error is never more than that of the newest.
    #[test]
    fn the_error_is_at_most_that_of_any_measurement(
        own in clock(),
        rounds in prop::collection::vec(round(), 1..20),
    ) {
        let root = Clock { start_ns: 77, ppm: 0 };
        let mut job = JobClock::below(own.at(0));
        let mut true_ns = 0;
        let mut told: Vec<(u64, u64)> = Vec::new();
        for round in rounds {
            // By the slowest clock, too.
            true_ns += round.idle_ns + (ASK_NS + AWAKE_NS) * 1001 / 1000;
            let asked_ns = own.at(true_ns);
            prop_assert!(job.ask(asked_ns, false));
            let job_ns = root.at(true_ns + round.there_ns);
            true_ns += round.there_ns + round.back_ns;
            let now_ns = own.at(true_ns);
            prop_assert!(job.answered(now_ns, asked_ns, job_ns, 0));
            told.push((asked_ns, (now_ns - asked_ns).div_ceil(2)));
            let best = told.iter().map(|(asked_ns, half_ns)| {
                half_ns + ((now_ns - asked_ns) * DRIFT_PPM).div_ceil(1_000_000)
            });
            prop_assert_eq!(Some(job.error_ns(now_ns)), best.min());
        }
    }

    #[test]
    fn job_time_and_own_time_convert_both_ways(
        own in clock(),
        job_ns in 1u64 << 51..1 << 52,
        now_ns in 1u64 << 50..1 << 51,
    ) {
        let mut job = JobClock::below(own.at(0));
        prop_assert!(job.ask(own.at(10), false));
        prop_assert!(job.answered(own.at(20), own.at(10), job_ns, 5));
        prop_assert_eq!(job.from_job(job.job_ns(now_ns)), now_ns);
    }

    /// A damaged answer is refused or believed, but never breaks anything.
    #[test]
    fn any_answer_is_survived(now_ns: u64, asked_ns: u64, job_ns: u64, error_ns: u64) {
        let mut job = JobClock::below(0);
        job.ask(asked_ns, false);
        job.answered(now_ns, asked_ns, job_ns, error_ns);
        let _ = (job.job_ns(now_ns), job.from_job(job_ns), job.error_ns(u64::MAX));
    }
}

/// When a parent is asked that only answers, within 10 us, in some seconds.
fn asked() -> Vec<u64> {
    let mut job = JobClock::below(0);
    let mut asked = Vec::new();
    for now_ns in (0..6 * ASK_NS).step_by(1_000_000) {
        let (mut at_ns, mut spoke) = (now_ns, false);
        while job.ask(at_ns, spoke) {
            asked.push(at_ns);
            assert!(job.answered(at_ns + 10_000, at_ns, at_ns, 0));
            (at_ns, spoke) = (at_ns + 10_000, true);
        }
    }
    asked
}

#[test]
fn questions_come_at_once_first_and_then_every_second() {
    let first: Vec<u64> = (0..u64::from(FIRST_ROUNDS))
        .map(|round| round * 10_000)
        .collect();
    let asked = asked();
    let (begin, later) = asked.split_at(first.len());
    assert_eq!(begin, first);
    // A parent that says nothing is waited for a while.
    let gaps: Vec<u64> = later.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        gaps.iter()
            .all(|gap| (ASK_NS + AWAKE_NS..ASK_NS + AWAKE_NS + 2_000_000).contains(gap)),
        "{later:?}"
    );
    assert!(JobClock::root().next_ask_ns().is_none() && !JobClock::root().ask(u64::MAX, true));
}

#[test]
fn a_due_question_is_asked_when_the_parent_speaks() {
    let mut job = JobClock::below(0);
    assert!(!job.ask(5, true), "the first one comes by itself");
    assert!(job.ask(5, false) && job.answered(6, 5, 5, 0));
    for _ in 1..FIRST_ROUNDS {
        assert!(job.ask(6, true) && job.answered(6, 6, 6, 0));
    }
    assert!(!job.ask(6 + ASK_NS - 1, true));
    assert!(!job.ask(6 + ASK_NS, false));
    assert_eq!(job.next_ask_ns(), Some(6 + ASK_NS + AWAKE_NS));
    assert!(job.ask(6 + ASK_NS, true));
    // No answer comes: once more, when the parent is heard again or not.
    assert!(!job.ask(6 + 2 * ASK_NS, false) && job.ask(6 + 2 * ASK_NS, true));
    assert!(job.ask(6 + 3 * ASK_NS + AWAKE_NS, false));
}

#[test]
fn a_parent_that_knows_nothing_yet_is_asked_again() {
    let mut job = JobClock::below(0);
    assert!(job.ask(0, false) && job.answered(1000, 0, 123, UNKNOWN_NS));
    assert!(!job.is_known());
    assert_eq!(job.error_ns(2000), UNKNOWN_NS);
    let again_ns = 1000 + ASK_AGAIN_NS;
    assert!(!job.ask(again_ns - 1, true) && job.ask(again_ns, false));
    assert!(
        !job.answered(again_ns + 5, 0, 1, 1),
        "an answer to a question of before"
    );
    assert!(job.answered(again_ns + 5, again_ns, 1, 1) && job.is_known());
}

#[test]
fn a_clock_that_was_set_is_believed_at_once() {
    let mut job = JobClock::below(0);
    assert!(job.ask(0, false) && job.answered(10, 0, 1_000_000, 0));
    let later_ns = 3 * ASK_NS;
    assert!(job.ask(later_ns, false) && job.answered(later_ns + 500_000, later_ns, 0, 0));
    // Worse than the first, but seconds apart from it.
    assert!(job.job_ns(later_ns + 500_000) < 1_000_000);
    assert!(job.drift_ppm() > DRIFT_PPM && job.drift_ppm() <= DRIFT_PPM_MAX);
}

/// Lets a child with the clock of its parent ask, and hear what the parent said at `at_ns`.
fn share(child: &mut JobClock, parent: &JobClock, asked_ns: u64, at_ns: u64, heard_ns: u64) {
    assert!(child.ask(asked_ns, false));
    let (job_ns, error_ns) = (parent.job_ns(at_ns), parent.error_ns(at_ns));
    assert!(child.shared(heard_ns, asked_ns, at_ns, job_ns, error_ns));
}

#[test]
fn job_time_is_exact_on_the_roots_node() {
    let root = JobClock::root();
    let (mut node, mut place) = (JobClock::below(0), JobClock::below(0));
    share(&mut place, &node, 0, 5, 10);
    assert!(!place.is_known(), "the parent knows nothing yet");
    share(&mut node, &root, 0, 20_000_000, 920_000_000);
    let asked_ns = ASK_AGAIN_NS * 2;
    share(
        &mut place,
        &node,
        asked_ns,
        asked_ns + 20_000_000,
        asked_ns + 20_000_001,
    );
    for clock in [&node, &place] {
        assert_eq!((clock.job_ns(77), clock.from_job(77)), (77, 77));
        assert_eq!(clock.error_ns(u64::MAX), 0);
        assert!(!clock.is_measuring(0));
    }
    // It is heard of all the same.
    let next_ns = place.next_ask_ns().unwrap();
    assert!(
        (EXACT_ASK_NS..EXACT_ASK_NS + ASK_NS).contains(&next_ns),
        "{next_ns}"
    );
    assert!(place.ask(next_ns, false) && !place.shared(next_ns, 1, 1, 1, 0));
}

proptest! {
    /// A place on the node of a parent that measures the root: its error is that of the parent,
    /// and the truth lies within.
    #[test]
    fn a_shared_clock_is_known_as_well_as_the_parents(
        own in clock(),
        rounds in prop::collection::vec((round(), round()), 1..20),
    ) {
        let root = Clock { start_ns: 77, ppm: 0 };
        let (mut node, mut place) = (JobClock::below(own.at(0)), JobClock::below(own.at(0)));
        let mut true_ns = 0;
        for (of_node, of_place) in rounds {
            true_ns += 2 * (ASK_NS + AWAKE_NS) + of_node.idle_ns;
            let asked_ns = own.at(true_ns);
            prop_assert!(node.ask(asked_ns, false));
            let job_ns = root.at(true_ns + of_node.there_ns);
            true_ns += of_node.there_ns + of_node.back_ns;
            prop_assert!(node.answered(own.at(true_ns), asked_ns, job_ns, 0));

            let asked_ns = own.at(true_ns);
            let at_ns = own.at(true_ns + of_place.there_ns);
            true_ns += of_place.there_ns + of_place.back_ns;
            share(&mut place, &node, asked_ns, at_ns, own.at(true_ns));
            for later_ns in [0, 1_000_000, ASK_NS] {
                let at_ns = own.at(true_ns + later_ns);
                prop_assert_eq!(place.job_ns(at_ns), node.job_ns(at_ns));
                prop_assert!(place.error_ns(at_ns).abs_diff(node.error_ns(at_ns)) <= 1);
                let off_ns = off_by(&place, own, root, true_ns + later_ns);
                prop_assert!(off_ns <= place.error_ns(at_ns) + 2);
            }
        }
    }
}

#[test]
fn a_question_through_a_rest_is_repeated() {
    let mut job = JobClock::below(0);
    let slow_ns = 2 * RESTED_NS + 2;
    let mut now_ns = 0;
    for _ in 0..FIRST_ROUNDS {
        assert!(job.ask(now_ns, now_ns != 0) && job.answered(now_ns + slow_ns, now_ns, 5, 0));
        now_ns += slow_ns;
    }
    let mut in_a_row = 0;
    now_ns += 10 * ASK_NS;
    while job.ask(now_ns, true) {
        assert!(job.is_measuring(now_ns) && job.answered(now_ns + slow_ns, now_ns, 5, 0));
        now_ns += slow_ns;
        in_a_row += 1;
    }
    // The first rounds may have left some of them over.
    assert!((1..=REPEATS_MAX + 1).contains(&in_a_row), "{in_a_row}");
    now_ns += 10 * ASK_NS;
    assert!(job.ask(now_ns, false) && job.answered(now_ns + 10, now_ns, 5, 0));
    assert!(!job.ask(now_ns + 10, true), "the parent was awake");
}

/// Measures a clock that runs `ppm` off, by round trips of these ways in ns, there and back.
fn slewed_clock_is_noticed(ppm: i64, ways: &[(u64, u64)]) -> Result<(), TestCaseError> {
    let own = Clock {
        start_ns: 1 << 50,
        ppm,
    };
    let root = Clock {
        start_ns: 77,
        ppm: 0,
    };
    let mut job = JobClock::below(own.at(0));
    let mut true_ns = 0;
    for &(there_ns, back_ns) in ways {
        true_ns += 3 * ASK_NS;
        let asked_ns = own.at(true_ns);
        prop_assert!(job.ask(asked_ns, false));
        let job_ns = root.at(true_ns + there_ns);
        true_ns += there_ns + back_ns;
        prop_assert!(job.answered(own.at(true_ns), asked_ns, job_ns, 0));
        let later_ns = true_ns + 3600 * ASK_NS;
        let error_ns = job.error_ns(own.at(later_ns));
        let holds = off_by(&job, own, root, later_ns) <= error_ns + 2;
        prop_assert_eq!(
            holds,
            job.drift_ppm() > DRIFT_PPM,
            "{} ppm taken for \
            {}",
            ppm,
            job.drift_ppm()
        );
    }
    prop_assert!(job.drift_ppm() > DRIFT_PPM);
    Ok(())
}

/// The clock runs apart during the round trip as well: the older measurement was further off than
/// half of it.
#[test]
fn a_slewed_clock_holds_after_a_slow_question() {
    slewed_clock_is_noticed(-72_111, &[(46_070, 1_000), (1_000, 1_000)]).unwrap();
}
