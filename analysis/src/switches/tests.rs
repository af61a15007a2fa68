//! Switches against a twin that keeps every change and looks through all of them.

use super::*;
use proptest::prelude::*;

/// What is on behind every change, by the definition.
struct Naive {
    start: AnalysisSet,
    changes: Vec<Planned>,
}

impl Naive {
    /// Whether an analysis is on right behind a point in time, or, strictly, before it.
    fn is_on(&self, analysis: Analysis, before: u64) -> bool {
        let last = self
            .changes
            .iter()
            .rev()
            .find(|change| change.ticks < before && change.these.contains(analysis));
        last.map_or(self.start.contains(analysis), |change| change.on)
    }

    /// Where the run of "on" begins that holds right before `end`; 0 is the start.
    fn from(&self, analysis: Analysis, end: u64) -> u64 {
        let mut on = self.start.contains(analysis);
        let mut from = 0;
        for change in &self.changes {
            if change.ticks < end && change.these.contains(analysis) {
                if change.on && !on {
                    from = change.ticks;
                }
                on = change.on;
            }
        }
        from
    }
}

fn set() -> impl Strategy<Value = AnalysisSet> {
    prop::collection::vec(0..ANALYSES, 0..=ANALYSES).prop_map(|numbers| {
        let one = |number: usize| AnalysisSet::of(Analysis::ALL[number]);
        numbers.into_iter().fold(AnalysisSet::NONE, |set, number| {
            set.switched(one(number), true)
        })
    })
}

/// Distances between changes, and between the ends of calls; calls of some length.
fn changes() -> impl Strategy<Value = Vec<(u64, AnalysisSet, bool)>> {
    prop::collection::vec((1u64..50, set(), any::<bool>()), 0..20)
}

proptest! {
    #[test]
    fn any_order_of_calls_is_judged_as_by_the_twin(
        start in set(),
        changes in changes(),
        calls in prop::collection::vec((0u64..1000, 0u64..200, any::<bool>()), 0..60),
    ) {
        let mut at = 0;
        let changes: Vec<Planned> = changes
            .into_iter()
            .map(|(after, these, on)| {
                at += after;
                Planned { job_ns: 7 * at, ticks: at, these, on }
            })
            .collect();
        let mut switches = Switches::new(start);
        for change in &changes {
            switches.plan(*change);
        }
        let naive = Naive { start, changes };
        for (end, length, passes) in calls {
            if passes {
                switches.pass(end);
            }
            let begin = end.saturating_sub(length);
            let share = switches.judge(begin, end);
            for analysis in Analysis::ALL {
                let is_on = naive.is_on(analysis, end);
                prop_assert_eq!(share.on.contains(analysis), is_on);
                if is_on {
                    let from = naive.from(analysis, end).max(begin);
                    prop_assert_eq!(share.from[analysis as usize].max(begin), from);
                }
            }
        }
    }

    #[test]
    fn any_order_of_places_gives_the_same(
        places in prop::collection::vec((set(), changes(), 1u32..9, 0u64..500), 1..8),
        turned in any::<prop::sample::Index>(),
    ) {
        let status = |(start, changes, ranks, from_ns): &(AnalysisSet, Vec<_>, u32, u64)| {
            let mut switches = Switches::new(*start);
            let mut ticks = 0;
            for &(after, these, on) in changes {
                ticks += after;
                switches.plan(Planned { job_ns: ticks, ticks, these, on });
            }
            switches.pass(u64::MAX);
            switches.status(*ranks, *from_ns, 1000)
        };
        let all: Vec<AnalysesStatus> = places.iter().map(status).collect();
        let sum = |all: &[AnalysesStatus]| {
            let mut sum = AnalysesStatus::default();
            all.iter().for_each(|one| merge(&mut sum, one.clone()));
            sum
        };
        let mut other = all.clone();
        other.rotate_left(turned.index(all.len()));
        let (left, right) = all.split_at(turned.index(all.len()));
        let mut grouped = sum(left);
        merge(&mut grouped, sum(right));
        prop_assert_eq!(sum(&all), sum(&other));
        prop_assert_eq!(sum(&all), grouped);
    }
}

const MESSAGES: AnalysisSet = AnalysisSet::of(Analysis::Messages);

fn at(ns: u64, these: AnalysisSet, on: bool) -> Planned {
    Planned {
        job_ns: ns,
        ticks: ns,
        these,
        on,
    }
}

#[test]
fn intervals_that_are_off_are_named() {
    let mut switches = Switches::default();
    switches.plan(at(100, MESSAGES, true));
    switches.plan(at(300, MESSAGES, false));
    switches.plan(at(300, MESSAGES, false));
    let gaps = |switches: &Switches, from_ns| {
        let of = switches.status(4, from_ns, 500).of;
        of[Analysis::Messages as usize].clone()
    };
    let before = gaps(&switches, 0);
    assert_eq!((before.on, before.off), (0, 4));
    assert_eq!(before.gaps.last, [(0, u64::MAX)]);

    switches.pass(400);
    let status = gaps(&switches, 0);
    assert_eq!(status.gaps.last, [(0, 100), (300, u64::MAX)]);
    assert_eq!(
        status.since_ns, 300,
        "switching off what is off changes nothing"
    );
    // Sums begin at a reset, and so do the gaps.
    assert_eq!(gaps(&switches, 350).gaps.last, [(350, u64::MAX)]);
    assert_eq!(switches.matching(), (1, 100));
}

#[test]
fn of_many_intervals_the_last_are_named() {
    let mut switches = Switches::new(AnalysisSet::ALL);
    for round in 0..20 {
        switches.plan(at(100 * round + 10, MESSAGES, false));
        switches.plan(at(100 * round + 15, MESSAGES, true));
    }
    switches.pass(u64::MAX);
    let status = switches.status(1, 0, 5000);
    let gaps = &status.of[Analysis::Messages as usize].gaps;
    assert_eq!((gaps.earlier, gaps.earlier_ns), (12, 60));
    assert_eq!(gaps.last.len(), GAPS_MAX);
    assert_eq!(gaps.last.last(), Some(&(1910, 1915)));
}

#[test]
fn calls_before_many_switches_are_judged_by_the_oldest() {
    let mut switches = Switches::new(AnalysisSet::NONE);
    for round in 0..200 {
        switches.plan(at(10 * round + 10, AnalysisSet::ALL, round % 2 == 0));
    }
    switches.pass(u64::MAX);
    assert!(switches.passed.len() <= CHANGES_MAX);
    // No panic, and some answer.
    let _ = switches.judge(0, 1);
    assert_eq!(switches.judge(1_999, 1_999).on, AnalysisSet::ALL);
    assert_eq!(switches.judge(2_005, 2_006).on, AnalysisSet::NONE);
}
