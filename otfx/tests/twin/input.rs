//! Random calls, as a location would send them: mostly few facts that repeat, now and then anything at all.

use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::record::{Call, Facts, Kind, Part};
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub enum Op {
    /// The same call so many times.
    Store {
        seed: CallSeed,
        times: usize,
    },
    /// More parts of the last call, as at the begin of a packet.
    More(Vec<PartSeed>),
    /// So many request numbers are never seen, as when the packet was dropped that told them.
    Gap(u64),
    Reset,
}

#[derive(Clone, Debug)]
pub struct CallSeed {
    facts: Facts,
    since: i64,
    duration: u64,
    ordinal: u64,
    parts: Vec<PartSeed>,
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
}

impl Input {
    pub fn call(&mut self, seed: &CallSeed) -> (Call, Vec<Part>) {
        self.end = self.end.saturating_add_signed(seed.since);
        let mut call = Call {
            facts: seed.facts,
            end: self.end,
            duration: seed.duration,
            ordinal: seed.ordinal,
            request: 0,
        };
        if call.facts.kind.posts() {
            call.request = self.take_request();
        }
        (call, self.parts(&seed.parts))
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

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        3 => Just(Kind::Plain),
        3 => Just(Kind::Send),
        3 => Just(Kind::Recv),
        2 => Just(Kind::PostSend),
        2 => Just(Kind::PostRecv),
        2 => Just(Kind::Collective),
        1 => Just(Kind::PostCollective),
        3 => Just(Kind::CompletedSend),
        3 => Just(Kind::CompletedRecv),
        1 => Just(Kind::CompletedCollective),
        1 => Just(Kind::CompletedNothing),
    ]
}

fn facts() -> impl Strategy<Value = Facts> {
    let usual = (kind(), 1u16..6, 0u32..2, -1i32..4, 0i32..2, 0u64..3).prop_map(
        |(kind, region, comm, peer, tag, bytes)| Facts {
            kind,
            region: RegionId(region),
            comm: CommLocal(comm),
            peer,
            tag,
            bytes_out: bytes * 1000,
            bytes_in: 0,
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
        .prop_map(|(kind, region, comm, peer, tag, [bytes_out, bytes_in])| Facts {
            kind,
            region: RegionId(region),
            comm: CommLocal(comm),
            peer,
            tag,
            bytes_out,
            bytes_in,
        });
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

fn store() -> impl Strategy<Value = Op> {
    let times = prop_oneof![4 => Just(1usize), 2 => 2..20usize, 1 => 100..400usize];
    let since = prop_oneof![8 => 0i64..2000, 1 => -100i64..0, 1 => 0i64..1 << 48];
    let duration = prop_oneof![6 => 0u64..3000, 1 => any::<u64>()];
    let ordinal = prop_oneof![0u64..100, any::<u64>()];
    // Completions are parts; as a call they come once in a while, to be refused.
    let call_facts = (facts(), 0..40).prop_map(|(mut facts, keep)| {
        if facts.kind.completes() && keep != 0 {
            facts.kind = Kind::Plain;
        }
        facts
    });
    (call_facts, since, duration, ordinal, parts(), times).prop_map(
        |(facts, since, duration, ordinal, parts, times)| {
            // Long calls are not repeated as often: a case stays below some hundred kilobytes.
            let times = times.min(1 + 2000 / (parts.len() + 1));
            Op::Store {
                seed: CallSeed {
                    facts,
                    since,
                    duration,
                    ordinal,
                    parts,
                },
                times,
            }
        },
    )
}

pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        40 => store(),
        4 => parts().prop_map(Op::More),
        1 => (1u64..100).prop_map(Op::Gap),
        1 => Just(Op::Reset),
    ];
    prop::collection::vec(op, 1..120)
}

/// A call of a small program: one of four functions, some other numbers.
pub fn plain_call(n: u64) -> Call {
    let facts = Facts {
        kind: Kind::Send,
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
        kind: Kind::CompletedRecv,
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
