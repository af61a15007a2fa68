//! What is stored: streams made up, and one that was recorded.

use crate::nesting::Nesting;
use crate::recorded::{self, Line};
use invivo_otfx::{Attributes, Pass};
use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::record::{Call, Facts, Part, RecordKind};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Calls with their parts, as a location sends them.
#[derive(Default)]
pub struct Calls {
    calls: Vec<(Call, std::ops::Range<usize>)>,
    parts: Vec<Part>,
}

impl Calls {
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Call, &[Part])> {
        self.calls
            .iter()
            .map(|(call, parts)| (call, &self.parts[parts.clone()]))
    }

    /// Events that an event tracer writes for them: enter, what was communicated, leave.
    pub fn events(&self) -> usize {
        let of = |kind: RecordKind| match kind {
            RecordKind::Plain
            | RecordKind::PostCollective
            | RecordKind::CompletedCollective
            | RecordKind::CompletedNothing => 0,
            RecordKind::Collective => 2,
            _ => 1,
        };
        let calls = self.calls.iter().map(|(call, _)| 2 + of(call.facts.kind));
        let parts = self.parts.iter().map(|part| of(part.facts.kind));
        calls.chain(parts).sum()
    }

    /// Becomes a part of another stream.
    pub fn copy(&mut self, other: &Calls, calls: std::ops::Range<usize>) {
        self.calls.clear();
        self.parts.clear();
        for (call, parts) in &other.calls[calls] {
            let begin = self.parts.len();
            self.parts.extend_from_slice(&other.parts[parts.clone()]);
            self.calls.push((*call, begin..self.parts.len()));
        }
    }

    /// The ends of the first and the last call.
    pub fn span(&self) -> (u64, u64) {
        let end =
            |call: Option<&(Call, std::ops::Range<usize>)>| call.map_or(0, |(call, _)| call.end);
        (end(self.calls.first()), end(self.calls.last()))
    }

    /// Messages, collectives and completions among six peers: what a halo exchange does.
    pub fn made_up(count: usize) -> Calls {
        let mut random = SmallRng::seed_from_u64(1);
        let (mut end, mut request) = (1_000_000u64, 0);
        let mut made = Calls {
            calls: Vec::with_capacity(count),
            parts: Vec::new(),
        };
        for n in 0..count {
            let neighbour = (n / 4 % 6) as i32;
            let facts = |kind, region, peer, out, back| Facts {
                kind,
                region: RegionId(region),
                comm: CommLocal(0),
                peer,
                tag: if region < 5 { 42 } else { 0 },
                bytes_out: out,
                bytes_in: back,
                ..Facts::default()
            };
            let size = 8 * (500 + 40 * neighbour as u64);
            let facts = match n % 4 {
                0 => facts(RecordKind::PostRecv, 1, neighbour, 0, size),
                1 => facts(RecordKind::Send, 2, neighbour, size, 0),
                2 => facts(RecordKind::Plain, 3, 0, 0, 0),
                _ => facts(RecordKind::Collective, 4, -1, 8, 8),
            };
            let duration = random.random_range(300..6000);
            end += duration + random.random_range(100..30_000);
            let begin = made.parts.len();
            if n % 4 == 2 {
                made.parts.push(Part {
                    facts: Facts {
                        kind: RecordKind::CompletedRecv,
                        region: RegionId(1),
                        peer: neighbour,
                        tag: 42,
                        bytes_in: size,
                        ..Facts::default()
                    },
                    request: request - 1,
                    posted: end - duration - 20_000,
                });
            }
            let call = Call {
                facts,
                end,
                duration,
                ordinal: if n % 4 == 3 { n as u64 / 4 } else { 0 },
                request: if n % 4 == 0 { request } else { 0 },
            };
            request += u64::from(n % 4 == 0);
            made.calls.push((call, begin..made.parts.len()));
        }
        made
    }

    /// The stream that xtask/bench/stream.c recorded.
    pub fn recorded(path: &std::path::Path) -> std::io::Result<Calls> {
        let bytes = std::fs::read(path)?;
        let mut read = Calls {
            calls: Vec::new(),
            parts: Vec::new(),
        };
        for line in recorded::lines(&bytes) {
            match line {
                Line::Call(call) => read.calls.push((call, read.parts.len()..read.parts.len())),
                Line::Part(part) => {
                    read.parts.push(part);
                    if let Some((_, parts)) = read.calls.last_mut() {
                        parts.end = read.parts.len();
                    }
                }
            }
        }
        Ok(read)
    }
}

/// An enter or a leave.
#[derive(Clone, Copy)]
pub struct Step {
    pub region: RegionId,
    pub time: u64,
    pub enters: bool,
}

/// Enters and leaves of nested functions: five at each of eight depths, half a microsecond apart on
/// average.
pub fn steps(pairs: usize) -> Vec<Step> {
    let mut random = SmallRng::seed_from_u64(2);
    let (mut stack, mut steps) = (Vec::new(), Vec::with_capacity(2 * pairs));
    let (mut time, mut entered) = (1_000_000, 0);
    while steps.len() < 2 * pairs {
        time += random.random_range(50..2500);
        let enters =
            entered < pairs && stack.len() < 8 && (stack.is_empty() || random.random_bool(0.5));
        let region = if enters {
            entered += 1;
            let region = RegionId(1 + 5 * stack.len() as u16 + random.random_range(0..5u16));
            stack.push(region);
            region
        } else {
            stack.pop().expect("something is open")
        };
        steps.push(Step {
            region,
            time,
            enters,
        });
    }
    steps
}

/// The same, fused.
pub fn passes(steps: &[Step]) -> Vec<(Pass, Attributes)> {
    let mut nesting = Nesting::default();
    let fused = steps.iter().filter_map(|step| {
        if step.enters {
            nesting.enter(step.region, step.time);
            return None;
        }
        nesting.leave(step.region, step.time)
    });
    fused.collect()
}

/// Times and counters of samples: 10 kHz and counters that grow by up to a million.
pub fn samples(count: usize, counters: usize) -> Vec<(u64, Vec<u64>)> {
    let mut random = SmallRng::seed_from_u64(3);
    let mut values = vec![0u64; counters];
    (1..=count as u64)
        .map(|n| {
            for value in &mut values {
                *value += random.random_range(0..1_000_000u64);
            }
            (
                n * 260_000 + random.random_range(0..5_000u64),
                values.clone(),
            )
        })
        .collect()
}
