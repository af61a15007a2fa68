//! What a place does with records, each part alone: packets are taken in as the place does, and
//! their calls go to that part only. What is left of its time without that of decoding is the
//! part's; alone it has more of the caches than in the place.

use crate::Stage;
use crate::answers::Expected;
use crate::feed::Message;
use crate::whole::{clock, layout};
use anyhow::{Result, ensure};
use invivo_analysis::communicators::Communicators;
use invivo_analysis::functions::{Functions, bytes};
use invivo_analysis::matrix::MatrixLeaf;
use invivo_analysis::pauses::Pauses;
use invivo_analysis::sites::{Counts, Sites};
use invivo_mpi_link::clock::NodeClock;
use invivo_otfx::Attributes;
use invivo_proto::control::grid::{Axes, CallMetric};
use invivo_proto::control::peer::Clipping;
use invivo_proto::ids::{LocationId, Rank};
use invivo_proto::packet::Header;
use invivo_proto::record::{Call, Part, RecordKind};
use invivo_tool_place::intake::{Intake, Sink};
use invivo_tool_place::over_time::{JobTime, OverTime, Span};
use invivo_tool_place::store::{Budget, Store};
use invivo_tool_place::traffic::{Traffic, When};
use std::hint::black_box;

/// Packets that may wait for another one: none does here.
const WAITING_MAX: usize = 64;

/// All parts, for so many locations.
pub fn all(locations: u32, buffer_bytes: u64) -> Result<Vec<Box<dyn Stage>>> {
    let (layout, me) = layout(locations)?;
    let mut budget = Budget::new(buffer_bytes, u64::from(locations) * buffer_bytes);
    let traffic = Traffic::new(layout, me);
    let checksums: Box<dyn Stage> = Box::new(Checksums::default());
    Ok(vec![
        checksums,
        Box::new(Copies::new(locations, buffer_bytes)),
        alone("decode", locations, Counted::default()),
        alone(
            "store",
            locations,
            (0..locations)
                .map(|_| Store::new(&mut budget))
                .collect::<Vec<_>>(),
        ),
        alone("functions", locations, Table(clock(), Functions::default())),
        alone("sites", locations, Places(clock(), Sites::default())),
        alone("matrix", locations, MatrixLeaf::default()),
        alone(
            "messages",
            locations,
            Pairs(clock(), Communicators::default(), traffic),
        ),
        alone(
            "waitstates",
            locations,
            Meets(clock(), Communicators::default(), Traffic::new(layout, me)),
        ),
        alone(
            "heatmap",
            locations,
            Bins(clock(), vec![OverTime::default(); locations as usize]),
        ),
    ])
}

/// Reads nothing but headers and checksums.
#[derive(Default)]
struct Checksums {
    calls: u64,
}

impl Stage for Checksums {
    fn name(&self) -> &'static str {
        "checksum"
    }

    fn feed(&mut self, messages: &[Message]) {
        for message in messages {
            if let Ok((header, _)) = Header::decode(&message.bytes) {
                self.calls += u64::from(header.records);
            }
        }
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        expected.check_calls(self.calls)
    }
}

/// Keeps packets as they came, each behind the other in a ring for each location: the least that
/// keeping anything can take, and what `store` is to be compared with.
struct Copies {
    rings: Vec<(Vec<u8>, usize)>,
    calls: u64,
}

impl Copies {
    fn new(locations: u32, buffer_bytes: u64) -> Copies {
        let ring = || (vec![0; buffer_bytes as usize], 0);
        Copies {
            rings: (0..locations).map(|_| ring()).collect(),
            calls: 0,
        }
    }
}

impl Stage for Copies {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn feed(&mut self, messages: &[Message]) {
        for message in messages {
            let Ok((header, payload)) = Header::decode(&message.bytes) else {
                continue;
            };
            let (ring, at) = &mut self.rings[message.location];
            if ring.len() - *at < payload.len() {
                *at = 0;
            }
            ring[*at..*at + payload.len()].copy_from_slice(payload);
            *at += payload.len();
            self.calls += u64::from(header.records);
        }
        black_box(&self.rings);
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        expected.check_calls(self.calls)
    }
}

/// Something that takes calls.
trait Keep {
    /// One call of a location.
    fn call(&mut self, location: usize, call: &Call, parts: &[Part]);
    /// Fails where it does not know what it should.
    fn check(&mut self, expected: &Expected) -> Result<()>;
}

struct Alone<K> {
    name: &'static str,
    intakes: Vec<Intake>,
    keep: K,
}

fn alone<K: Keep + 'static>(name: &'static str, locations: u32, keep: K) -> Box<dyn Stage> {
    Box::new(Alone {
        name,
        intakes: (0..locations)
            .map(|_| Intake::new(WAITING_MAX, None))
            .collect(),
        keep,
    })
}

/// Calls of one location on their way.
struct Way<'a, K>(usize, &'a mut K);

impl<K: Keep> Sink for Way<'_, K> {
    fn epoch(&mut self, _: u32) {}

    fn occupant(&mut self, _: u32) {}

    #[inline]
    fn call(&mut self, call: &Call, parts: &[Part]) {
        self.1.call(self.0, call, parts);
    }

    fn more(&mut self, _: u64, _: u64, _: &[Part]) {
        unreachable!("no call of the recording has so many parts");
    }
}

impl<K: Keep> Stage for Alone<K> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn feed(&mut self, messages: &[Message]) {
        for message in messages {
            if let Ok((header, payload)) = Header::decode(&message.bytes) {
                let mut way = Way(message.location, &mut self.keep);
                // What is malformed is missing in the end.
                let _ = self.intakes[message.location].packet(&header, payload, &mut way);
            }
        }
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        expected.check_calls(
            self.intakes
                .iter()
                .map(|intake| intake.counts().calls)
                .sum(),
        )?;
        self.keep.check(expected)
    }
}

/// Takes calls and does nothing with them.
#[derive(Default)]
struct Counted(u64);

impl Keep for Counted {
    #[inline]
    fn call(&mut self, _: usize, call: &Call, parts: &[Part]) {
        black_box((call, parts));
        self.0 += 1;
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        expected.check_calls(self.0)
    }
}

impl Keep for Vec<Store> {
    #[inline]
    fn call(&mut self, location: usize, call: &Call, parts: &[Part]) {
        self[location].call(call, parts, Attributes::default());
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        let mut all = invivo_proto::control::results::Ledger::default();
        for store in self.iter() {
            invivo_tbon::coverage::add(&mut all, &store.taken());
        }
        all.entered = expected.calls;
        expected.check_ledger(&all)
    }
}

struct Table(NodeClock, Functions);

impl Keep for Table {
    #[inline]
    fn call(&mut self, location: usize, call: &Call, parts: &[Part]) {
        let rank = Rank(location as u32);
        self.1
            .record(rank, call, parts, self.0.duration_ns(call.duration), false);
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        expected.check_functions(&self.1.to_partial(0))
    }
}

struct Places(NodeClock, Sites);

impl Keep for Places {
    #[inline]
    fn call(&mut self, location: usize, call: &Call, parts: &[Part]) {
        let Places(clock, sites) = self;
        let of = LocationId {
            rank: Rank(location as u32),
            thread: 0,
        };
        let counts = Counts {
            duration_ns: clock.duration_ns(call.duration),
            ticks: call.duration,
            clipped: false,
            since: 0,
        };
        sites.record(of, call, parts, &counts, |from, to| to - from);
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        let Places(clock, sites) = self;
        let anchor = (0, 0);
        let iterations = sites.iterations(&JobTime { anchor, clock });
        let distributions = sites.distributions();
        let found = sites.table(&sites.rows(), &distributions, &iterations, u32::MAX, None);
        let table = found.table;
        let known = table.rows.values();
        let known = known.map(|row| row.distribution.durations.count());
        expected.check_calls(known.sum::<u64>() + table.left_out.time.count)?;
        let calls = table.rows.values().map(|row| row.stats.time.count);
        expected.check_calls(calls.sum::<u64>() + table.left_out.time.count)
    }
}

impl Keep for MatrixLeaf {
    #[inline]
    fn call(&mut self, location: usize, call: &Call, parts: &[Part]) {
        self.record(Rank(location as u32), call, parts);
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        expected.check_matrix(&self.to_partial(expected.locations, 512))
    }
}

struct Pairs(NodeClock, Communicators, Traffic);

impl Keep for Pairs {
    #[inline]
    fn call(&mut self, location: usize, call: &Call, parts: &[Part]) {
        let when = When {
            begin: call.end.saturating_sub(call.duration),
            end: call.end,
            epoch: 0,
            clipping: Clipping::Whole,
        };
        let Pairs(clock, communicators, traffic) = self;
        let rank = Rank(location as u32);
        traffic.record(rank, &when, Some(call), parts, communicators, clock);
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        expected
            .check_messages(&self.2.messages().to_partial())
            .map(drop)
    }
}

struct Meets(NodeClock, Communicators, Traffic);

impl Keep for Meets {
    #[inline]
    fn call(&mut self, location: usize, call: &Call, parts: &[Part]) {
        let completes = |part: &Part| part.facts.kind == RecordKind::CompletedCollective;
        if !call.facts.kind.has_ordinal() && !parts.iter().any(completes) {
            return;
        }
        let when = When {
            begin: call.end.saturating_sub(call.duration),
            end: call.end,
            epoch: 0,
            clipping: Clipping::Whole,
        };
        let Meets(clock, communicators, traffic) = self;
        let rank = Rank(location as u32);
        traffic.collective(rank, &when, Some(call), parts, communicators, clock);
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        let calls = self.2.waits().to_partial(0).calls;
        let all = calls.met + calls.untimed + calls.open + calls.limit;
        ensure!(all > 0 && all <= expected.calls, "{calls:?}");
        Ok(())
    }
}

struct Bins(NodeClock, Vec<OverTime>);

impl Keep for Bins {
    #[inline]
    fn call(&mut self, location: usize, call: &Call, parts: &[Part]) {
        let Bins(clock, each) = self;
        let span = Span {
            begin: call.end.saturating_sub(call.duration),
            end: call.end,
            net: call.duration,
        };
        let of_parts = parts.iter().map(|part| bytes(&part.facts).0);
        let sent = of_parts.fold(bytes(&call.facts).0, u64::saturating_add);
        let one = &mut each[location];
        if !one.add(span, sent) {
            let anchor = (0, 0);
            one.turn(span, sent, &Pauses::default(), &JobTime { anchor, clock });
        }
    }

    fn check(&mut self, expected: &Expected) -> Result<()> {
        let all = Axes {
            width_ns: 1 << 63,
            first: 0,
            columns: 1,
            block_ranks: 1,
        };
        let calls = |one: &OverTime| one.columns(CallMetric::Calls, &all, &self.0);
        let calls = self.1.iter().filter_map(calls).flatten().sum();
        expected.check_calls(calls)
    }
}
