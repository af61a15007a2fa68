//! Random events, as a location would send them: mostly few facts that repeat, now and then
//! anything at all.

use invivo_otfx::{Attributes, EventClass};
use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::record::{Call, Facts, Part, RecordKind};
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub enum Op {
    /// The same call so many times.
    Store {
        seed: CallSeed,
        times: usize,
    },
    Region {
        region: u16,
        since: i64,
        duration: u64,
        attributes: Attributes,
        times: usize,
    },
    /// Samples of the next ordinals, each so far from the one before.
    Samples {
        step: u64,
        times: u64,
        values: Vec<u64>,
    },
    Metric {
        metric: u32,
        values: Vec<u64>,
        times: usize,
    },
    Opaque {
        class: EventClass,
        bytes: usize,
        times: usize,
    },
    /// More parts of the last call, as at the begin of a packet.
    More(Vec<PartSeed>),
    /// So many request numbers are never seen, as when the packet was dropped that told them.
    Gap(u64),
    BeginIteration,
    EndIteration,
    /// Another thread has the location.
    Occupant(u32),
    Reset,
    /// One of the strategies, by its number.
    Strategy(usize),
    /// Freezes, or gives the view back.
    Freeze,
    /// Reads so many records of the view that is out.
    ReadFrozen(usize),
}

#[derive(Clone, Debug)]
pub struct CallSeed {
    facts: Facts,
    since: i64,
    duration: u64,
    ordinal: u64,
    parts: Vec<PartSeed>,
    pub attributes: Attributes,
}

#[derive(Clone, Debug)]
pub struct PartSeed {
    facts: Facts,
    request: u64,
    posted: u64,
}

/// Turns seeds into calls in the order of their ends and requests in the order of their posting.
#[derive(Debug, Default)]
pub struct Input {
    end: u64,
    next_request: u64,
    sample: u64,
}

impl Input {
    pub fn call(&mut self, seed: &CallSeed) -> (Call, Vec<Part>) {
        let mut call = Call {
            facts: seed.facts,
            end: self.time(seed.since),
            duration: seed.duration,
            ordinal: seed.ordinal,
            request: 0,
        };
        if call.facts.kind.posts() {
            call.request = self.take_request();
        }
        (call, self.parts(&seed.parts))
    }

    pub fn time(&mut self, since: i64) -> u64 {
        self.end = self.end.saturating_add_signed(since);
        self.end
    }

    pub fn sample(&mut self, step: u64) -> u64 {
        self.sample = self.sample.wrapping_add(step);
        self.sample
    }

    pub fn parts(&mut self, seeds: &[PartSeed]) -> Vec<Part> {
        let part = |seed: &PartSeed| Part {
            facts: seed.facts,
            request: if seed.facts.kind.posts() {
                self.take_request()
            } else {
                seed.request
            },
            posted: seed.posted,
        };
        seeds.iter().map(part).collect()
    }

    pub fn skip_requests(&mut self, numbers: u64) {
        self.next_request += numbers;
    }

    fn take_request(&mut self) -> u64 {
        self.next_request += 1;
        self.next_request - 1
    }
}

fn kind() -> impl Strategy<Value = RecordKind> {
    prop_oneof![
        3 => Just(RecordKind::Plain),
        3 => Just(RecordKind::Send),
        3 => Just(RecordKind::Recv),
        2 => Just(RecordKind::PostSend),
        2 => Just(RecordKind::PostRecv),
        2 => Just(RecordKind::Collective),
        1 => Just(RecordKind::PostCollective),
        3 => Just(RecordKind::CompletedSend),
        3 => Just(RecordKind::CompletedRecv),
        1 => Just(RecordKind::CompletedCollective),
        1 => Just(RecordKind::CompletedNothing),
    ]
}

fn facts() -> impl Strategy<Value = Facts> {
    let usual = (kind(), 0u16..6, 0u32..2, -1i32..4, 0i32..2, 0u64..3).prop_map(
        |(kind, region, comm, peer, tag, bytes)| Facts {
            kind,
            region: RegionId(region),
            comm: CommLocal(comm),
            peer,
            tag,
            bytes_out: bytes * 1000,
            ..Facts::default()
        },
    );
    let any = (
        kind(),
        any::<u16>(),
        any::<u32>(),
        any::<i32>(),
        any::<i32>(),
        any::<[u64; 2]>(),
    )
        .prop_map(
            |(kind, region, comm, peer, tag, [bytes_out, bytes_in])| Facts {
                kind,
                region: RegionId(region),
                comm: CommLocal(comm),
                peer,
                tag,
                bytes_out,
                bytes_in,
                ..Facts::default()
            },
        );
    prop_oneof![8 => usual, 1 => any]
}

fn part() -> impl Strategy<Value = PartSeed> {
    (
        facts(),
        prop_oneof![0u64..50, any::<u64>()],
        prop_oneof![0u64..5000, any::<u64>()],
    )
        .prop_map(|(facts, request, posted)| PartSeed {
            facts,
            request,
            posted,
        })
}

fn parts() -> impl Strategy<Value = Vec<PartSeed>> {
    prop_oneof![
        12 => prop::collection::vec(part(), 0..3),
        4 => prop::collection::vec(part(), 3..40),
        1 => prop::collection::vec(part(), 200..700),
    ]
}

fn since() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0i64..2000, 1 => -100i64..0, 1 => 0i64..1 << 58]
}

fn duration() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0u64..3000, 1 => any::<u64>()]
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let depth = prop_oneof![4 => 0u8..6, 1 => any::<u8>()];
    (depth, prop::bool::weighted(0.1)).prop_map(|(depth, clipped)| Attributes { depth, clipped })
}

fn times() -> impl Strategy<Value = usize> {
    prop_oneof![4 => Just(1usize), 2 => 2..20usize, 1 => 100..400usize]
}

fn values() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        8 => prop::collection::vec(prop_oneof![0u64..10_000, any::<u64>()], 0..9),
        1 => prop::collection::vec(any::<u64>(), 60..66),
    ]
}

fn store() -> impl Strategy<Value = Op> {
    let ordinal = prop_oneof![0u64..100, any::<u64>()];
    // Completions are parts; as a call they come once in a while, to be refused.
    let call_facts = (facts(), 0..40).prop_map(|(mut facts, keep)| {
        if facts.kind.completes() && keep != 0 {
            facts.kind = RecordKind::Plain;
        }
        facts
    });
    (
        call_facts,
        since(),
        duration(),
        ordinal,
        parts(),
        attributes(),
        times(),
    )
        .prop_map(
            |(facts, since, duration, ordinal, parts, attributes, times)| {
                // Long calls are not repeated as often: a case stays below some hundred kilobytes.
                let times = times.min(1 + 2000 / (parts.len() + 1));
                Op::Store {
                    seed: CallSeed {
                        facts,
                        since,
                        duration,
                        ordinal,
                        parts,
                        attributes,
                    },
                    times,
                }
            },
        )
}

fn other() -> impl Strategy<Value = Op> {
    let class = prop::sample::select(EventClass::ALL.to_vec());
    prop_oneof![
        4 => (0u16..5, since(), duration(), attributes(), times()).prop_map(
            |(region, since, duration, attributes, times)| {
                Op::Region { region, since, duration, attributes, times }
            }
        ),
        4 => (prop_oneof![8 => 1u64..3, 1 => any::<u64>()], 1u64..400, values())
            .prop_map(|(step, times, values)| Op::Samples { step, times, values }),
        2 => (0u32..3, values(), times()).prop_map(
            |(metric, values, times)| Op::Metric { metric, values, times },
        ),
        1 => (class, 0usize..1000, 1usize..20).prop_map(
            |(class, bytes, times)| Op::Opaque { class, bytes, times },
        ),
    ]
}

/// Everything that may happen; changes of the strategy among the first `strategies`.
pub fn ops(strategies: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        30 => store(),
        20 => other(),
        4 => parts().prop_map(Op::More),
        1 => (1u64..100).prop_map(Op::Gap),
        3 => Just(Op::BeginIteration),
        1 => Just(Op::EndIteration),
        2 => any::<u32>().prop_map(Op::Occupant),
        1 => Just(Op::Reset),
        2 => (0..strategies).prop_map(Op::Strategy),
        2 => Just(Op::Freeze),
        3 => (1usize..300).prop_map(Op::ReadFrozen),
    ];
    prop::collection::vec(op, 1..120)
}

/// A call of a small program: one of four functions, some other numbers.
pub fn plain_call(n: u64) -> Call {
    let facts = Facts {
        kind: RecordKind::Send,
        region: RegionId(1 + (n % 4) as u16),
        peer: (n % 6) as i32,
        bytes_out: 8,
        ..Facts::default()
    };
    Call {
        facts,
        end: 1000 * n,
        duration: 150 + n % 100,
        ordinal: 0,
        request: 0,
    }
}

/// The completion of the `n`th receive.
pub fn completion(n: u64) -> Part {
    let facts = Facts {
        kind: RecordKind::CompletedRecv,
        region: RegionId(9),
        peer: (n % 3) as i32,
        bytes_in: 64,
        ..Facts::default()
    };
    Part {
        facts,
        request: n,
        posted: 0,
    }
}
