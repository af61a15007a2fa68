//! A buffer and its naive twin, to which the same operations are applied.

use crate::input::{self, Op};
use crate::naive::Naive;
use crate::policy;
use invivo_otfx::{
    Buffer, Contents, EventClass, Frozen, Geometry, Head, Ledger, Metric, OPAQUE_BYTES_MAX, Opaque,
    Pass, Sample, Strategy, VALUES_MAX,
};
use invivo_proto::ids::RegionId;
use proptest::prelude::{TestCaseError, prop_assert, prop_assert_eq};

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
pub struct Pair {
    pub buffer: Buffer,
    pub naive: Naive,
    pub input: input::Input,
    pub frozen: Option<Frozen>,
    /// Those that it may change to.
    pub strategies: Vec<Strategy>,
}

impl Pair {
    /// Under one of the strategies that are always tried.
    pub fn new(strategy: usize, bytes: usize) -> Pair {
        // Bins of 1 KiB whatever the levels are, so that all strategies fit a small buffer.
        let geometry = Geometry::with_bins(bytes, 1 << 10);
        Pair::among(policy::strategies(), strategy, geometry)
    }

    pub fn among(strategies: Vec<Strategy>, strategy: usize, geometry: Geometry) -> Pair {
        let strategy = strategies[strategy].clone();
        Pair {
            buffer: Buffer::with_geometry(geometry, strategy.clone()).expect("large enough"),
            naive: Naive::new(strategy, geometry),
            input: input::Input::default(),
            frozen: None,
            strategies,
        }
    }

    pub fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
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
            Op::Occupant(occupant) => {
                self.buffer.begin_occupant(*occupant);
                self.naive.occupant = *occupant;
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

    pub fn check(&self, contents: bool) -> Result<(), TestCaseError> {
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

pub fn run(mut pair: Pair, ops: &[Op]) -> Result<(), TestCaseError> {
    for (index, op) in ops.iter().enumerate() {
        pair.apply(op)?;
        if index % 4 == 0 {
            pair.check(index % 16 == 0)?;
        }
    }
    pair.check(true)
}

/// Strategies of a case in which they are made up, and the least bins that each of them works with.
pub const STRATEGIES_AT_A_TIME: usize = 3;
pub const BINS_MIN: usize = invivo_otfx::BINS_PER_LEVEL_LEAST * policy::LEVELS_MAX;

/// Number of the strategies that are always tried.
pub const STRATEGIES: usize = 11;
