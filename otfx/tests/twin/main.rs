//! The buffer against a naive twin: plain values in `VecDeque`s, with the same policy. Whatever is
//! stored, in whatever buffer, the same records must be kept, in the same order, with the same
//! parts.

mod definitions;
mod input;
mod naive;
mod policy;
mod size;

use input::{Op, ops};
use invivo_otfx::Reason;
use invivo_otfx::{
    Buffer, Contents, EventClass, FlightRecorder, Frozen, Geometry, Head, Ledger, Metric,
    OPAQUE_BYTES_MAX, Opaque, Pass, Sample, Strategy, VALUES_MAX,
};
use invivo_proto::ids::RegionId;
use invivo_proto::record::Part;
use naive::Naive;
use proptest::prelude::{
    ProptestConfig, TestCaseError, prop, prop_assert, prop_assert_eq, proptest,
};

/// Everything that a buffer keeps, as plain values.
pub fn kept(buffer: &Buffer) -> Vec<Contents> {
    let mut reader = buffer.read();
    let mut all = Vec::new();
    while let Some(record) = reader.next().expect("what was written can be read") {
        all.push(record.clone());
    }
    all
}

/// The buffer, its twin, and the view that is out.
struct Pair {
    buffer: Buffer,
    naive: Naive,
    input: input::Input,
    frozen: Option<Frozen>,
    /// Those that it may change to.
    strategies: Vec<Strategy>,
}

impl Pair {
    /// Under one of the strategies that are always tried.
    fn new(strategy: usize, bytes: usize) -> Pair {
        // Bins of 1 KiB whatever the levels are, so that all strategies fit a small buffer.
        let geometry = Geometry::with_bins(bytes, 1 << 10);
        Pair::among(policy::strategies(), strategy, geometry)
    }

    fn among(strategies: Vec<Strategy>, strategy: usize, geometry: Geometry) -> Pair {
        let strategy = strategies[strategy].clone();
        Pair {
            buffer: Buffer::with_geometry(geometry, strategy.clone()).expect("large enough"),
            naive: Naive::new(strategy, geometry),
            input: input::Input::default(),
            frozen: None,
            strategies,
        }
    }

    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            Op::Store { seed, times } => {
                for _ in 0..*times {
                    let (call, parts) = self.input.call(seed);
                    let contents = Contents {
                        head: Head::Call(call),
                        depth: seed.attributes.depth,
                        clipped: seed.attributes.clipped,
                        parts: parts.clone(),
                        ..Contents::default()
                    };
                    let refused = call.facts.kind.completes();
                    let stored = self.naive.store(contents, call.duration, 0, refused);
                    prop_assert_eq!(
                        self.buffer.store_call(&call, &parts, seed.attributes),
                        stored
                    );
                }
            }
            Op::Region {
                region,
                since,
                duration,
                attributes,
                times,
            } => {
                for _ in 0..*times {
                    let pass = Pass {
                        region: RegionId(*region),
                        end: self.input.time(*since),
                        duration: *duration,
                    };
                    let contents = Contents {
                        head: Head::Region(pass),
                        depth: attributes.depth,
                        clipped: attributes.clipped,
                        ..Contents::default()
                    };
                    let stored = self.naive.store(contents, *duration, 0, false);
                    prop_assert_eq!(self.buffer.store_region(&pass, *attributes), stored);
                }
            }
            Op::Samples {
                step,
                times,
                values,
            } => {
                for _ in 0..*times {
                    let (time, ordinal) = (self.input.time(100), self.input.sample(*step));
                    let context = 5;
                    let contents = Contents {
                        head: Head::Sample {
                            time,
                            ordinal,
                            context,
                        },
                        values: values.clone(),
                        ..Contents::default()
                    };
                    let stored = self
                        .naive
                        .store(contents, 0, ordinal, values.len() > VALUES_MAX);
                    let sample = Sample {
                        time,
                        ordinal,
                        context,
                        values,
                    };
                    prop_assert_eq!(self.buffer.store_sample(&sample), stored);
                }
            }
            Op::Metric {
                metric,
                values,
                times,
            } => {
                for _ in 0..*times {
                    let (time, metric) = (self.input.time(30), *metric);
                    let contents = Contents {
                        head: Head::Metric { time, metric },
                        values: values.clone(),
                        ..Contents::default()
                    };
                    let stored = self.naive.store(contents, 0, 0, values.len() > VALUES_MAX);
                    prop_assert_eq!(
                        self.buffer.store_metric(&Metric {
                            time,
                            metric,
                            values
                        }),
                        stored
                    );
                }
            }
            Op::Opaque {
                class,
                bytes,
                times,
            } => {
                for n in 0..*times {
                    let (time, class) = (self.input.time(10), *class);
                    let ordinal = if class == EventClass::Sample {
                        self.input.sample(1)
                    } else {
                        0
                    };
                    let bytes = vec![n as u8; *bytes];
                    let contents = Contents {
                        head: Head::Opaque {
                            class,
                            time,
                            ordinal,
                        },
                        bytes: bytes.clone(),
                        ..Contents::default()
                    };
                    let stored =
                        self.naive
                            .store(contents, 0, ordinal, bytes.len() > OPAQUE_BYTES_MAX);
                    let record = Opaque {
                        class,
                        time,
                        ordinal,
                        bytes: &bytes,
                    };
                    prop_assert_eq!(self.buffer.store_opaque(&record), stored);
                }
            }
            Op::More(seeds) => {
                let parts = self.input.parts(seeds);
                self.buffer.store_more(&parts);
                self.naive.store_more(&parts);
            }
            Op::Gap(numbers) => self.input.skip_requests(*numbers),
            Op::BeginIteration => {
                self.buffer.begin_iteration(self.input.time(0));
                self.naive.begin_iteration();
            }
            Op::EndIteration => {
                self.buffer.end_iteration(self.input.time(0));
                self.naive.iteration = 0;
            }
            Op::Reset => {
                self.buffer.reset();
                self.naive.reset();
            }
            Op::Strategy(number) => {
                let strategy = self.strategies[*number].clone();
                self.buffer
                    .set_strategy(strategy.clone())
                    .expect("large enough");
                self.naive.set_strategy(strategy);
            }
            Op::Freeze => match self.frozen.take() {
                Some(frozen) => {
                    self.buffer.thaw(frozen);
                    self.naive.thaw();
                }
                None => {
                    let frozen = self.buffer.freeze().expect("no view is out");
                    self.naive.freeze();
                    prop_assert_eq!(frozen.ledger(), self.naive.ledger());
                    let lost: u64 = frozen.losses().iter().map(|loss| loss.records).sum();
                    let ledger = frozen.ledger();
                    prop_assert_eq!(lost, ledger.reduced + ledger.dropped + ledger.reset);
                    prop_assert!(self.buffer.freeze().is_err());
                    self.frozen = Some(frozen);
                }
            },
            Op::ReadFrozen(records) => {
                if let Some(frozen) = &mut self.frozen {
                    for _ in 0..*records {
                        let read = frozen
                            .next(&mut self.buffer)
                            .expect("what was written can be read");
                        let expected = self.naive.read_frozen();
                        prop_assert_eq!(read, expected.as_ref());
                    }
                }
            }
        }
        Ok(())
    }

    fn check(&self, contents: bool) -> Result<(), TestCaseError> {
        let (buffer, naive) = (&self.buffer, &self.naive);
        let ledger = buffer.ledger();
        prop_assert_eq!(ledger, naive.ledger());
        prop_assert_eq!(
            ledger.stored,
            ledger.kept + ledger.reduced + ledger.dropped + ledger.reset
        );
        let fill = buffer.fill();
        prop_assert_eq!(
            (fill.bins_used as usize, fill.bytes_used as usize),
            naive.used()
        );
        prop_assert_eq!(fill.span, naive.span());
        prop_assert_eq!(buffer.arena_bytes(), fill.geometry.arena_bytes());
        prop_assert_eq!(buffer.halvings(), naive.halvings);
        prop_assert_eq!(buffer.reductions(), naive.reductions);
        prop_assert_eq!(buffer.events_dropped_at(), naive.dropped_at);
        if contents {
            self.check_losses()?;
            prop_assert_eq!(buffer.levels().collect::<Vec<_>>(), naive.levels());
            let by_class = EventClass::ALL.map(|class| buffer.ledger_of(class));
            let sum = |of: fn(&Ledger) -> u64| by_class.iter().map(of).sum::<u64>();
            prop_assert_eq!(
                (
                    sum(|l| l.stored),
                    sum(|l| l.kept),
                    sum(|l| l.reduced),
                    sum(|l| l.dropped),
                    sum(|l| l.reset)
                ),
                (
                    ledger.stored,
                    ledger.kept,
                    ledger.reduced,
                    ledger.dropped,
                    ledger.reset
                )
            );
            let kept = kept(buffer);
            let records = kept
                .iter()
                .filter(|k| !matches!(k.head, Head::Rest { .. }))
                .count();
            prop_assert_eq!(records as u64, ledger.kept);
            prop_assert_eq!(kept, naive.kept());
        }
        Ok(())
    }

    fn check_losses(&self) -> Result<(), TestCaseError> {
        let (buffer, naive) = (&self.buffer, &self.naive);
        let lost = naive.lost();
        let mut rows = std::collections::BTreeMap::new();
        for loss in buffer.losses() {
            let row = rows
                .entry((loss.level, loss.class, loss.reason))
                .or_insert((0, u64::MAX, 0u64));
            *row = (
                row.0 + loss.records,
                row.1.min(loss.first_end),
                row.2.max(loss.last_end),
            );
        }
        prop_assert!(rows.keys().eq(lost.keys()), "{:?} {:?}", rows, lost);
        for (row, exact) in rows.values().zip(lost.values()) {
            prop_assert!(
                row.0 == exact.0 && row.1 <= exact.1 && row.2 >= exact.2,
                "{:?} {:?}",
                rows,
                lost
            );
        }
        Ok(())
    }
}

fn run(mut pair: Pair, ops: &[Op]) -> Result<(), TestCaseError> {
    for (index, op) in ops.iter().enumerate() {
        pair.apply(op)?;
        if index % 4 == 0 {
            pair.check(index % 16 == 0)?;
        }
    }
    pair.check(true)
}

/// Strategies of a case in which they are made up, and the least bins that each of them works with.
const STRATEGIES_AT_A_TIME: usize = 3;
const BINS_MIN: usize = invivo_otfx::BINS_PER_LEVEL_LEAST * policy::LEVELS_MAX;

/// Number of the strategies that are always tried.
const STRATEGIES: usize = 10;

#[test]
fn all_strategies_are_tried() {
    assert_eq!(policy::strategies().len(), STRATEGIES);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn equals_its_twin(strategy in 0..STRATEGIES, bytes in 48usize << 10..96 << 10, ops in ops(STRATEGIES)) {
        run(Pair::new(strategy, bytes), &ops)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn equals_its_twin_under_any_strategy(
        strategies in prop::collection::vec(policy::any(), STRATEGIES_AT_A_TIME),
        bin_bytes in 1usize << 10..4 << 10,
        bins in BINS_MIN..2 * BINS_MIN,
        ops in ops(STRATEGIES_AT_A_TIME),
    ) {
        let geometry = Geometry::with_bins(bin_bytes * bins, bin_bytes);
        run(Pair::among(strategies, 0, geometry), &ops)?;
    }
}

/// The property above means little if it never meets what it is about: over a fixed set of cases,
/// records are lost for every reason that a short run can bring about, in every class.
#[test]
fn the_twin_meets_every_loss() {
    use proptest::strategy::{Strategy as _, ValueTree};
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for strategy in (0..STRATEGIES).cycle().take(6 * STRATEGIES) {
        let case = ops(STRATEGIES)
            .new_tree(&mut runner)
            .expect("a case")
            .current();
        let mut pair = Pair::new(strategy, 48 << 10);
        for op in &case {
            pair.apply(op).expect("equal");
        }
        seen.extend(pair.buffer.losses().map(|loss| (loss.reason, loss.class)));
    }
    for reason in Reason::ALL {
        let classes: Vec<EventClass> = EventClass::ALL
            .into_iter()
            .filter(|class| seen.contains(&(reason, *class)))
            .collect();
        let expected: &[EventClass] = match reason {
            Reason::Room | Reason::Held | Reason::Reset => &EventClass::ALL,
            Reason::Closed => &[EventClass::Sample],
            Reason::Cap => &[EventClass::Call, EventClass::Region, EventClass::Metric],
            // Of regions there is nothing to refuse.
            Reason::Refused => &[EventClass::Call, EventClass::Sample, EventClass::Metric],
            // See `levels_of_former_strategies_stay_bounded`.
            Reason::Strategy => &[],
        };
        let met = expected
            .iter()
            .filter(|class| classes.contains(class))
            .count();
        assert_eq!(
            met,
            expected.len(),
            "{reason:?} was met for {classes:?} only"
        );
    }
}

/// The properties above mean little if nothing ever had to go: a long run of the flight recorder
/// reduces most of it, keeps exactly the newest calls, and uses its bins.
#[test]
fn a_full_flight_recorder_keeps_the_newest() {
    let mut buffer = Buffer::new(256 << 10, Box::new(FlightRecorder)).expect("large enough");
    let total = 200_000u64;
    for n in 0..total {
        let stored = buffer.store(&input::plain_call(n), &[]);
        assert!(stored.kept);
    }
    let ledger = buffer.ledger();
    assert_eq!(ledger.stored, total);
    assert!(
        ledger.reduced > total / 2 && ledger.kept > 25_000,
        "{ledger:?}"
    );
    let expected: Vec<Contents> = (total - ledger.kept..total)
        .map(|n| only(n, Vec::new()))
        .collect();
    assert!(kept(&buffer) == expected);
    // From any time on: nothing of it is missing, and little else is read.
    for behind in [0, 1, 17, 5_000, ledger.kept - 1] {
        let from = total - 1 - behind;
        let since = input::plain_call(from).end;
        let mut reader = buffer.read_since(since);
        let (mut read, mut found) = (0, Vec::new());
        while let Some(record) = reader.next().expect("what was written can be read") {
            read += 1;
            if record.head.end() >= since {
                found.push(record.clone());
            }
        }
        assert!(found[..] == expected[expected.len() - 1 - behind as usize..]);
        assert!(read <= behind + 2_000, "{read} records read for {behind}");
    }
    let fill = buffer.fill();
    assert!(
        fill.bins_used == fill.geometry.bins
            && fill.bytes_used * 100 > 95 * buffer.arena_bytes() as u64
    );
}

/// A call as it is read back.
fn only(n: u64, parts: Vec<Part>) -> Contents {
    Contents {
        head: Head::Call(input::plain_call(n)),
        parts,
        ..Contents::default()
    }
}

/// A call of more parts than a bin holds, and one of more than the whole buffer holds.
#[test]
fn calls_larger_than_a_bin_and_than_the_buffer() {
    let mut buffer = Buffer::new(32 << 10, Box::new(FlightRecorder)).expect("large enough");
    let large: Vec<Part> = (0..2_000).map(input::completion).collect();
    assert!(buffer.store(&input::plain_call(1), &[]).kept);
    let stored = buffer.store(&input::plain_call(2), &large);
    assert!(stored.kept && stored.given_up == 0);
    assert_eq!(kept(&buffer), [only(1, vec![]), only(2, large)]);

    let huge: Vec<Part> = (0..200_000).map(input::completion).collect();
    let stored = buffer.store(&input::plain_call(3), &huge);
    assert!(!stored.kept && stored.given_up == 2);
    assert_eq!(
        buffer.ledger(),
        Ledger {
            stored: 3,
            reduced: 3,
            ..Ledger::default()
        }
    );
    assert!(matches!(
        kept(&buffer)[..],
        [Contents {
            head: Head::Rest { end: 3_000 },
            ..
        }]
    ));

    assert!(buffer.store(&input::plain_call(4), &[]).kept);
    assert_eq!(kept(&buffer)[1..], [only(4, vec![])]);
}

/// What a reset forgot does not come back in parts that arrive later.
#[test]
fn parts_of_a_forgotten_call_are_forgotten() {
    let mut buffer = Buffer::new(32 << 10, Box::new(FlightRecorder)).expect("large");
    buffer.store(&input::plain_call(1), &[]);
    buffer.store_more(&[input::completion(0)]);
    assert_eq!(kept(&buffer), [only(1, vec![input::completion(0)])]);
    buffer.reset();
    buffer.store_more(&[input::completion(1)]);
    assert_eq!(kept(&buffer), []);
    assert_eq!(
        buffer.ledger(),
        Ledger {
            stored: 1,
            reset: 1,
            ..Ledger::default()
        }
    );
}

/// Strategies that change all the time leave levels behind, as many as are told apart, and all
/// books balance.
#[test]
fn levels_of_former_strategies_stay_bounded() {
    let mut buffer = Buffer::new(1 << 20, Box::new(FlightRecorder)).expect("large");
    for n in 0..600 {
        let strategy = policy::strategies().swap_remove(n as usize % STRATEGIES);
        buffer.set_strategy(strategy).expect("large");
        buffer.store(&input::plain_call(n), &[]);
    }
    let ledger = buffer.ledger();
    assert!(
        ledger.kept > 100 && ledger.kept < 200 && ledger.kept + ledger.reduced == 600,
        "{ledger:?}"
    );
    assert_eq!(kept(&buffer).len() as u64, ledger.kept);
    assert!(buffer.levels().count() < 160);
}
