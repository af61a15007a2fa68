use super::*;
use alloc::collections::BTreeMap;
use proptest::prelude::*;

/// How often something was counted, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts(BTreeMap<u8, u64>);

impl Counted for Counts {
    fn add(&mut self, from: &Counts) {
        for (name, count) in &from.0 {
            *self.0.entry(*name).or_default() += count;
        }
    }

    fn rows(&self) -> usize {
        self.0.len()
    }
}

/// A run: what was counted at which time.
struct Run {
    history: History<Counts>,
    /// Of the piece that is not over.
    now: Counts,
    events: Vec<(u64, u8)>,
    at_ns: u64,
}

impl Run {
    /// A machine has been up for so long when it begins.
    fn new(rows_max: usize, begin_ns: u64) -> Run {
        let mut run = Run {
            history: History::new(rows_max),
            now: Counts::default(),
            events: Vec::new(),
            at_ns: begin_ns,
        };
        assert!(!run.history.is_due(begin_ns));
        run
    }

    /// Counts something, so much later.
    fn count(&mut self, later_ns: u64, name: u8) {
        self.at_ns += later_ns;
        if self.history.is_due(self.at_ns) {
            let counted = core::mem::take(&mut self.now);
            self.history.end_piece(self.at_ns, counted);
        }
        self.events.push((self.at_ns, name));
        *self.now.0.entry(name).or_default() += 1;
    }

    /// One pass over everything.
    fn naive(&self, past: Past) -> Counts {
        let mut counts = Counts::default();
        for &(at_ns, name) in &self.events {
            if past.from_ns <= at_ns && at_ns < past.to_ns {
                *counts.0.entry(name).or_default() += 1;
            }
        }
        counts
    }

    /// What is said of an interval, and of which time that is.
    fn asked(&self, past: Past) -> (Option<Past>, Counts) {
        // The time of the last event is over.
        let within = self.history.within(past, self.at_ns + 1);
        let mut counts = Counts::default();
        within.pieces.iter().for_each(|piece| counts.add(piece));
        if within.with_now {
            counts.add(&self.now);
        }
        (within.of, counts)
    }
}

fn past(from_ns: u64, to_ns: u64) -> Past {
    Past { from_ns, to_ns }
}

proptest! {
    /// Whatever happens when, and however few rows there is room for.
    #[test]
    fn an_interval_is_what_was_counted_in_it(
        steps in prop::collection::vec((0u64..3 * PIECE_NS, 0u8..4), 1..400),
        rows_max in prop_oneof![Just(1usize), 10usize..100, Just(usize::MAX)],
        asked in (0u64..800 * PIECE_NS, 1u64..100 * PIECE_NS),
        begin_ns in prop_oneof![Just(0u64), 0u64..1 << 60],
    ) {
        let mut run = Run::new(rows_max, begin_ns);
        for (later_ns, name) in steps {
            run.count(later_ns, name);
        }
        let from_ns = begin_ns + asked.0 % (run.at_ns - begin_ns + 1);
        let asked = past(from_ns, from_ns + asked.1);
        let (of, counts) = run.asked(asked);
        let of = of.expect("it begins within the run");
        prop_assert!(of.from_ns <= asked.from_ns);
        prop_assert!(of.to_ns >= asked.to_ns.min(run.at_ns));
        prop_assert_eq!(counts, run.naive(of));
        // The whole is all of it.
        let mut whole = run.history.whole.clone();
        whole.add(&run.now);
        prop_assert_eq!(whole, run.naive(past(0, u64::MAX)));
        let pieces = run.history.earlier.iter().chain(&run.history.recent);
        let rows: usize = pieces.map(|piece| piece.counted.rows()).sum();
        prop_assert_eq!(rows, run.history.rows);
        prop_assert!(rows <= rows_max.max(4));
    }
}

/// A run with an event in each tenth of a second.
fn long(pieces: u64) -> Run {
    // Ten days behind the beginning of job time.
    let mut run = Run::new(usize::MAX, 1_000_000 * PIECE_NS);
    for _ in 0..10 * pieces {
        run.count(PIECE_NS / 10, 0);
    }
    run
}

#[test]
fn the_last_minute_is_known_to_a_second_after_hours() {
    let run = long(10_000);
    let asked = past(run.at_ns - 55 * PIECE_NS, run.at_ns);
    let (of, _) = run.asked(asked);
    let of = of.expect("a minute");
    assert!(asked.from_ns - of.from_ns <= PIECE_NS, "{of:?}");
    // Any other time is known to some hundredth of the run.
    for from in (0..9_000).step_by(777) {
        let from = 1_000_000 + from;
        let asked = past(from * PIECE_NS, (from + 10) * PIECE_NS);
        let (of, _) = run.asked(asked);
        let of = of.expect("some time");
        // The first piece has all time before the run.
        let from_ns = of.from_ns.max(1_000_000 * PIECE_NS);
        assert!(of.to_ns - from_ns <= (2 * 157 + 10) * PIECE_NS, "{of:?}");
    }
}

#[test]
fn memory_does_not_grow_with_the_run() {
    for pieces in [200, 1_000, 20_000] {
        let run = long(pieces);
        let kept = run.history.earlier.len() + run.history.recent.len();
        assert!(kept <= EARLIER as usize + RECENT, "{kept}");
        // Earlier pieces are never wider than the run asks for.
        let least = EARLIER as usize / 2 - 1 + RECENT;
        assert!(kept >= least, "{kept} of {pieces}");
    }
}

#[test]
fn what_is_forgotten_is_in_no_interval() {
    let mut run = long(100);
    run.history.forget(run.at_ns);
    (run.now, run.events) = (Counts::default(), Vec::new());
    let begin_ns = run.at_ns;
    assert_eq!(run.asked(past(0, begin_ns)).0, None);
    run.count(PIECE_NS / 2, 7);
    let (of, counts) = run.asked(past(0, u64::MAX));
    assert_eq!(of, Some(past(begin_ns, run.at_ns + 1)));
    assert_eq!(counts.0, [(7, 1)].into());
}

#[test]
fn nothing_is_known_of_what_is_to_come() {
    let run = long(100);
    let (of, counts) = run.asked(past(run.at_ns + 1, u64::MAX));
    assert_eq!((of, counts), (None, Counts::default()));
}

/// Where there is room for a few pieces, some are of the last time and some of the time before.
#[test]
fn few_pieces_are_shared_by_all_of_the_run() {
    let mut run = Run::new(60, 1_000_000 * PIECE_NS);
    for _ in 0..3_000 {
        (0..4).for_each(|name| run.count(PIECE_NS / 4, name));
    }
    let (earlier, recent) = (run.history.earlier.len(), run.history.recent.len());
    assert!(earlier >= 2 && recent >= 4, "{earlier} and {recent}");
    assert!(run.history.rows <= 60);
    let asked = past(run.at_ns - 3 * PIECE_NS, run.at_ns);
    let of = run.asked(asked).0.expect("seconds");
    assert!(asked.from_ns - of.from_ns <= PIECE_NS, "{of:?}");
}
