use super::*;
use proptest::prelude::*;

fn at(ticks: u64, change: Change) -> Planned {
    Planned {
        job_ns: ticks,
        ticks,
        change,
    }
}

/// Every tick by itself: whether it is recorded, and whether a call under way at the end of its span counts whole.
/// Built from the changes that lie before `seen`, which is all that a judge may know.
struct Naive {
    recorded: Vec<bool>,
    whole_from: Vec<bool>,
}

impl Naive {
    fn of(changes: &[Planned], seen: u64, length: usize) -> Naive {
        let mut naive = Naive {
            recorded: vec![true; length],
            whole_from: vec![false; length],
        };
        for planned in changes.iter().filter(|planned| planned.ticks < seen) {
            let tick = planned.ticks as usize;
            let on = naive.recorded[length - 1];
            match planned.change {
                Change::Reset => naive.recorded[..tick].fill(false),
                Change::On => naive.recorded[tick..].fill(true),
                Change::Off => {
                    naive.recorded[tick..].fill(false);
                    naive.whole_from[tick] |= on;
                }
                Change::End => {
                    naive.recorded[tick..].fill(false);
                    naive.whole_from[tick] &= !on;
                }
            }
        }
        naive
    }

    /// A call touches the ticks from its begin to before its end.
    fn judge(&self, begin: u64, end: u64) -> Verdict {
        let recorded = |tick: &u64| self.recorded[*tick as usize];
        let Some(first) = (begin..end).find(recorded) else {
            return Verdict::Outside;
        };
        let stop = (first..end).find(|tick| !recorded(tick));
        let clipped_end = match stop {
            Some(stop) if !self.whole_from[stop as usize] => stop,
            _ => end,
        };
        if (first, clipped_end) == (begin, end) {
            Verdict::Whole
        } else {
            Verdict::Clipped {
                begin: first,
                end: clipped_end,
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    prop::sample::select(&[Change::Reset, Change::On, Change::Off, Change::End][..])
}

proptest! {
    #[test]
    fn judged_as_by_one_who_looks_at_each_tick(
        steps in prop::collection::vec((1u64..8, change()), 0..12),
        calls in prop::collection::vec((0u64..110, 1u64..40), 1..40),
        passes in prop::collection::vec(0u64..110, 0..5),
    ) {
        let mut tick = 0;
        let changes: Vec<Planned> = steps
            .into_iter()
            .map(|(gap, change)| {
                tick += gap;
                at(tick, change)
            })
            .collect();
        let mut cuts = Cuts::default();
        for planned in &changes {
            cuts.plan(*planned);
        }
        // Records come in order of their ends; time is looked at now and then, never behind them.
        let mut calls: Vec<(u64, u64)> = calls.into_iter().map(|(begin, length)| (begin, begin + length)).collect();
        calls.sort_unstable_by_key(|call| call.1);
        let (mut seen, mut clipped) = (0, 0);
        for (begin, end) in calls {
            for pass in passes.iter().filter(|pass| **pass <= end) {
                cuts.pass(*pass);
                seen = seen.max(*pass + 1);
            }
            seen = seen.max(end);
            let expected = Naive::of(&changes, seen, 200).judge(begin, end);
            prop_assert_eq!(cuts.judge(begin, end), expected, "{} to {} of {:?}", begin, end, changes);
            clipped += u64::from(matches!(expected, Verdict::Clipped { .. }));
        }
        prop_assert_eq!(cuts.clipped(), clipped);
        let resets = |planned: &&Planned| planned.change == Change::Reset && planned.ticks < seen;
        prop_assert_eq!(cuts.resets(), changes.iter().filter(resets).count() as u64);
    }
}

#[test]
fn a_window_clips_at_both_edges_and_only_there() {
    let mut cuts = Cuts::default();
    for (ticks, change) in [(100, Change::Reset), (100, Change::On), (200, Change::End)] {
        cuts.plan(at(ticks, change));
    }
    assert!(cuts.wants_records());
    assert_eq!(
        cuts.judge(10, 100),
        Verdict::Whole,
        "to be forgotten with all else"
    );
    assert_eq!(cuts.resets(), 0);
    assert_eq!(cuts.judge(90, 101), Verdict::Clipped { begin: 100, end: 101 });
    assert_eq!(
        cuts.resets(),
        1,
        "by the first call behind it, without a look at the clock"
    );
    assert_eq!(cuts.judge(10, 100), Verdict::Outside, "came late");
    assert_eq!(cuts.judge(100, 200), Verdict::Whole);
    assert!(cuts.is_on());
    assert_eq!(cuts.judge(199, 300), Verdict::Clipped { begin: 199, end: 200 });
    assert!(!cuts.wants_records());
    assert_eq!(cuts.judge(1, 999), Verdict::Clipped { begin: 100, end: 200 });
    assert_eq!(cuts.judge(200, 201), Verdict::Outside);
    assert_eq!(cuts.clipped(), 3);
}

#[test]
fn switched_off_what_is_under_way_counts_whole() {
    let mut cuts = Cuts::default();
    cuts.plan(at(50, Change::Off));
    cuts.plan(at(80, Change::On));
    assert_eq!(cuts.judge(40, 60), Verdict::Whole);
    assert_eq!(cuts.judge(50, 60), Verdict::Outside);
    assert_eq!(cuts.judge(79, 90), Verdict::Clipped { begin: 80, end: 90 });
    assert_eq!(
        cuts.judge(40, 90),
        Verdict::Whole,
        "it began while recording was on"
    );
}

#[test]
fn what_is_planned_moves_with_job_time_until_it_is_passed() {
    let mut cuts = Cuts::default();
    cuts.plan(at(100, Change::Reset));
    cuts.plan(at(200, Change::Off));
    cuts.retime(|job_ns| job_ns + 10);
    cuts.pass(109);
    assert_eq!(cuts.resets(), 0);
    cuts.pass(110);
    assert_eq!((cuts.resets(), cuts.reset_job_ns()), (1, 100));
    cuts.retime(|job_ns| job_ns + 30);
    assert_eq!(cuts.judge(205, 229), Verdict::Whole);
    assert_eq!(
        cuts.judge(109, 111),
        Verdict::Clipped { begin: 110, end: 111 },
        "passed at 110"
    );
    cuts.cancel(|change| change == Change::Off);
    assert_eq!(cuts.planned_until_ns(), None);
    assert_eq!(cuts.judge(500, 501), Verdict::Whole);
}

#[test]
fn a_change_never_comes_before_one_planned_earlier() {
    let mut cuts = Cuts::default();
    cuts.plan(at(100, Change::Off));
    cuts.plan(at(90, Change::On));
    assert_eq!(cuts.planned_until_ns(), Some(100));
    cuts.pass(100);
    assert!(cuts.is_on());
}

#[test]
fn a_call_of_no_length_lies_before_the_cut_that_it_ends_at() {
    let mut cuts = Cuts::default();
    cuts.plan(at(100, Change::Reset));
    cuts.plan(at(200, Change::End));
    cuts.pass(300);
    let verdicts = [100, 101, 199, 200].map(|tick| cuts.judge(tick, tick));
    use Verdict::{Outside, Whole};
    assert_eq!(verdicts, [Outside, Whole, Whole, Outside]);
}

#[test]
fn spans_are_bounded() {
    let mut cuts = Cuts::default();
    for switch in 1..1_000u64 {
        cuts.plan(at(
            100 * switch,
            if switch % 2 == 1 { Change::Off } else { Change::On },
        ));
        cuts.pass(100 * switch);
    }
    assert!(cuts.spans.len() <= SPANS_MAX);
    assert_eq!(cuts.judge(99_810, 99_820), Verdict::Whole);
    assert_eq!(cuts.judge(99_710, 99_720), Verdict::Outside);
    assert_eq!(
        cuts.judge(0, 99_999),
        Verdict::Whole,
        "it began while recording was on, long ago"
    );
}
