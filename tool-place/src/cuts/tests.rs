use super::*;
use proptest::prelude::*;

fn at(ticks: u64, change: Change) -> Planned {
    Planned {
        job_ns: ticks,
        ticks,
        change,
    }
}

/// Every tick by itself: whether it is recorded, and whether a call under way at the end of its
/// span counts whole. Built from the changes that lie before `seen`, which is all that a judge may
/// know.
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
                Change::On(_) => naive.recorded[tick..].fill(true),
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

    /// The recorded ticks right before the end.
    fn last_part(&self, begin: u64, end: u64) -> Option<(u64, u64)> {
        let is_off = |tick: &u64| !self.recorded[*tick as usize];
        let first = (begin..end)
            .rev()
            .find(is_off)
            .map_or(begin, |tick| tick + 1);
        (first < end).then_some((first, end))
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
    prop::sample::select(&[Change::Reset, Change::On(1), Change::Off, Change::End][..])
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
        let ends = calls.into_iter().map(|(begin, length)| (begin, begin + length));
        let mut calls: Vec<(u64, u64)> = ends.collect();
        calls.sort_unstable_by_key(|call| call.1);
        let mut seen = 0;
        for (begin, end) in calls {
            for pass in passes.iter().filter(|pass| **pass <= end) {
                cuts.pass(*pass);
                seen = seen.max(*pass + 1);
            }
            seen = seen.max(end);
            let naive = Naive::of(&changes, seen, 200);
            let (judged, expected) = (cuts.judge(begin, end), naive.judge(begin, end));
            prop_assert_eq!(judged, expected, "{} to {} of {:?}", begin, end, changes);
            prop_assert_eq!(cuts.last_part(begin, end), naive.last_part(begin, end));
        }
        let resets = |planned: &&Planned| planned.change == Change::Reset && planned.ticks < seen;
        prop_assert_eq!(cuts.resets(), changes.iter().filter(resets).count() as u64);
    }
}

#[test]
fn a_window_clips_at_both_edges_and_only_there() {
    let mut cuts = Cuts::default();
    for (ticks, change) in [
        (100, Change::Reset),
        (100, Change::On(1)),
        (200, Change::End),
    ] {
        cuts.plan(at(ticks, change));
    }
    assert_eq!(cuts.wants_records(), Some(0), "on already");
    assert_eq!(
        cuts.judge(10, 100),
        Verdict::Whole,
        "to be forgotten with all else"
    );
    assert_eq!(cuts.resets(), 0);
    assert_eq!(
        cuts.judge(90, 101),
        Verdict::Clipped {
            begin: 100,
            end: 101
        }
    );
    assert_eq!(cuts.last_clip(), (1, 0), "by the reset");
    assert_eq!(
        cuts.resets(),
        1,
        "by the first call behind it, without a look at the clock"
    );
    assert_eq!(cuts.judge(10, 100), Verdict::Outside, "came late");
    assert_eq!(cuts.judge(100, 200), Verdict::Whole);
    assert!(cuts.is_on());
    assert_eq!(
        cuts.judge(199, 300),
        Verdict::Clipped {
            begin: 199,
            end: 200
        }
    );
    assert_eq!(cuts.last_clip(), (0, 3), "by the end");
    assert_eq!(cuts.wants_records(), None);
    assert_eq!(
        cuts.judge(1, 999),
        Verdict::Clipped {
            begin: 100,
            end: 200
        }
    );
    assert_eq!(cuts.last_clip(), (1, 3));
    assert_eq!(cuts.judge(200, 201), Verdict::Outside);
}

#[test]
fn switched_off_what_is_under_way_counts_whole() {
    let mut cuts = Cuts::default();
    cuts.plan(at(50, Change::Off));
    cuts.plan(at(80, Change::On(1)));
    assert_eq!(cuts.judge(40, 60), Verdict::Whole);
    assert_eq!(cuts.judge(50, 60), Verdict::Outside);
    assert_eq!(cuts.judge(79, 90), Verdict::Clipped { begin: 80, end: 90 });
    assert_eq!(
        cuts.judge(40, 90),
        Verdict::Whole,
        "it began while recording was on"
    );
}

/// What is planned moves with job time until it is passed.
#[test]
fn planned_cuts_move_with_job_time_until_passed() {
    let mut cuts = Cuts::default();
    cuts.plan(at(100, Change::Reset));
    let off = cuts.plan(at(200, Change::Off));
    cuts.retime(|job_ns| job_ns + 10);
    cuts.pass(109);
    assert_eq!(cuts.resets(), 0);
    cuts.pass(110);
    assert_eq!((cuts.resets(), cuts.reset_job_ns()), (1, 100));
    cuts.retime(|job_ns| job_ns + 30);
    assert_eq!(cuts.judge(205, 229), Verdict::Whole);
    assert_eq!(
        cuts.judge(109, 111),
        Verdict::Clipped {
            begin: 110,
            end: 111
        },
        "passed at 110"
    );
    cuts.cancel(off);
    assert_eq!(cuts.planned_until_ns(), None);
    assert_eq!(cuts.judge(500, 501), Verdict::Whole);
}

#[test]
fn a_change_never_comes_before_one_planned_earlier() {
    let mut cuts = Cuts::default();
    cuts.plan(at(100, Change::Off));
    cuts.plan(at(90, Change::On(1)));
    assert_eq!(cuts.planned_until_ns(), Some(100));
    cuts.pass(100);
    assert!(cuts.is_on());
}

/// A call of no length lies before the cut that it ends at.
#[test]
fn an_empty_call_lies_before_the_cut_at_its_end() {
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
            if switch % 2 == 1 {
                Change::Off
            } else {
                Change::On(1)
            },
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

#[test]
fn ranks_that_could_not_record_in_time_move_the_beginning() {
    // It has taken effect already, or lies ahead: a window, or a switch alone.
    for (now, window) in [(100, true), (90, true), (100, false), (90, false)] {
        let mut cuts = Cuts::default();
        cuts.plan(at(10, Change::Off));
        cuts.pass(50);
        let mut begins = 0;
        if window {
            cuts.plan(at(100, Change::Reset));
        }
        for (ticks, change) in [(100, Change::On(1)), (200, Change::End)] {
            let number = cuts.plan(at(ticks, change));
            if matches!(change, Change::On(_)) {
                begins = number;
            }
        }
        cuts.pass(now);
        assert_eq!(cuts.begin_at(100, 100), None, "in time");
        assert_eq!(cuts.begin_at(130, 130), Some(begins));
        assert_eq!(
            cuts.judge(125, 150),
            Verdict::Clipped {
                begin: 130,
                end: 150
            }
        );
        assert_eq!(cuts.judge(110, 120), Verdict::Outside);
        assert_eq!(
            cuts.judge(190, 220),
            Verdict::Clipped {
                begin: 190,
                end: 200
            }
        );
        assert_eq!(cuts.reset_job_ns(), if window { 130 } else { 0 });
        // Even behind its end.
        let mut cuts = Cuts::default();
        cuts.plan(at(10, Change::Off));
        cuts.plan(at(100, Change::On(1)));
        cuts.plan(at(110, Change::End));
        cuts.pass(now);
        cuts.begin_at(130, 130);
        assert_eq!(cuts.planned_until_ns(), Some(130));
        cuts.pass(130);
        assert_eq!(
            (cuts.is_on(), cuts.judge(100, 140)),
            (false, Verdict::Outside)
        );
    }
}

#[test]
fn the_epoch_is_that_of_the_last_beginning() {
    let mut cuts = Cuts::default();
    cuts.plan(at(10, Change::Off));
    cuts.pass(10);
    cuts.plan(at(20, Change::On(4)));
    assert_eq!(cuts.wants_records(), Some(4), "soon");
    cuts.pass(20);
    cuts.plan(at(30, Change::End));
    cuts.plan(at(40, Change::On(5)));
    assert_eq!(cuts.wants_records(), Some(4), "until it ends");
    cuts.pass(30);
    assert_eq!(cuts.wants_records(), Some(5));
    cuts.pass(40);
    cuts.plan(at(50, Change::On(5)));
    cuts.pass(50);
    assert_eq!(cuts.wants_records(), Some(5), "what is on stays on");
}
