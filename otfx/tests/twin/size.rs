//! How many bytes a record takes, from the format's description alone: a second, slow opinion.

use invivo_otfx::{BIN_HEAD_BYTES, Contents, Head, OPAQUE_HEAD_BYTES};
use invivo_proto::record::{Facts, Part, RecordKind};
use std::collections::BTreeMap;

type Key = [u64; 4];

/// What a reader of the bin would remember.
#[derive(Clone, Debug)]
pub struct Measure {
    pub used: usize,
    time: u64,
    pub next_request: u64,
    last_completed: u64,
    ordinal: u64,
    sample: u64,
    iteration: u64,
    occupant: u32,
    values: Vec<u64>,
    slots: BTreeMap<u64, Key>,
}

fn bytes(number: u64) -> usize {
    (0..=8)
        .find(|n| *n == 8 || number < 1 << (8 * n))
        .expect("eight bytes hold any number")
}

fn leb(number: u64) -> usize {
    (1..)
        .find(|n| *n == 10 || number < 1 << (7 * n))
        .expect("ten groups hold any number")
}

fn zigzag(number: u64) -> u64 {
    let number = number as i64;
    ((number << 1) ^ (number >> 63)) as u64
}

fn key(facts: &Facts, depth: u8) -> Key {
    let kind = facts.kind as u64 | 0x80;
    [
        kind | u64::from(facts.region.0) << 8
            | u64::from(facts.comm.0) << 24
            | u64::from(depth) << 56,
        u64::from(facts.peer as u32) << 32 | u64::from(facts.tag as u32),
        facts.bytes_out,
        facts.bytes_in,
    ]
}

fn other_key(kind: u64, region: u64, comm: u64, depth: u64) -> Key {
    [
        kind | 0x80 | region << 8 | comm << 24 | depth << 56,
        0,
        0,
        0,
    ]
}

impl Measure {
    pub fn new(time: u64, next_request: u64) -> Measure {
        Measure {
            used: BIN_HEAD_BYTES,
            time,
            next_request,
            last_completed: next_request,
            ordinal: 0,
            sample: 0,
            iteration: 0,
            occupant: 0,
            values: vec![0; 64],
            slots: BTreeMap::new(),
        }
    }

    /// Adds a record with the first `beside` of its parts.
    pub fn record(&mut self, contents: &Contents, beside: usize) {
        match contents.head {
            Head::Call(call) => {
                let facts = key(&call.facts, contents.depth);
                let mut extra = 0;
                if call.facts.kind.has_ordinal() {
                    extra += leb(zigzag(call.ordinal.wrapping_sub(self.ordinal)));
                    self.ordinal = call.ordinal;
                }
                let mut third = contents.clipped || beside > 0;
                if call.facts.kind.posts() {
                    let gap = self.gap(call.request);
                    third |= gap != 0;
                    extra += if gap == 0 { 0 } else { leb(zigzag(gap)) };
                }
                extra += if beside >= 63 { leb(beside as u64) } else { 0 };
                self.timed(contents, facts, call.end, call.duration, third, extra);
                for part in &contents.parts[..beside] {
                    self.part(part);
                }
            }
            Head::Region(pass) => {
                let facts = other_key(16, u64::from(pass.region.0), 0, u64::from(contents.depth));
                self.timed(
                    contents,
                    facts,
                    pass.end,
                    pass.duration,
                    contents.clipped,
                    0,
                );
            }
            Head::Sample {
                time,
                ordinal,
                context,
            } => {
                let facts = other_key(17, contents.values.len() as u64, u64::from(context), 0);
                let step = ordinal.wrapping_sub(self.sample);
                self.sample = ordinal;
                self.reading(contents, facts, time, step);
            }
            Head::Metric { time, metric } => {
                let facts = other_key(18, contents.values.len() as u64, u64::from(metric), 0);
                self.reading(contents, facts, time, 0);
            }
            Head::Opaque { time, .. } => {
                self.used += OPAQUE_HEAD_BYTES + contents.bytes.len();
                self.time = time;
            }
            Head::Rest { .. } => unreachable!("added by `more`"),
        }
    }

    /// Adds more parts.
    pub fn more(&mut self, parts: &[Part]) {
        self.used += 1 + leb(parts.len() as u64);
        for part in parts {
            self.part(part);
        }
    }

    fn gap(&mut self, request: u64) -> u64 {
        let gap = request.wrapping_sub(self.next_request);
        self.next_request = request.wrapping_add(1);
        gap
    }

    fn timed(
        &mut self,
        contents: &Contents,
        facts: Key,
        end: u64,
        duration: u64,
        third: bool,
        extra: usize,
    ) {
        let since = end.saturating_sub(self.time);
        self.time += since;
        let first = if since >= duration {
            since - duration
        } else {
            since
        };
        self.head(contents, facts, first, duration);
        self.used += usize::from(third) + extra;
    }

    fn reading(&mut self, contents: &Contents, facts: Key, time: u64, step: u64) {
        let since = time.saturating_sub(self.time);
        self.time += since;
        self.head(contents, facts, since, step);
        self.used += contents.values.len().div_ceil(2);
        for (value, before) in contents.values.iter().zip(&mut self.values) {
            self.used += bytes(zigzag(value.wrapping_sub(*before)));
            *before = *value;
        }
    }

    fn head(&mut self, contents: &Contents, facts: Key, first: u64, second: u64) {
        if contents.iteration != self.iteration {
            self.used += 1 + leb(contents.iteration);
            self.iteration = contents.iteration;
        }
        if contents.occupant != self.occupant {
            self.used += 1 + leb(contents.occupant.into());
            self.occupant = contents.occupant;
        }
        if first >= 1 << 56 || second >= 1 << 56 {
            self.used += 3;
        }
        self.facts(facts);
        self.used += 1 + bytes(first % (1 << 56)) + bytes(second % (1 << 56));
    }

    fn facts(&mut self, key: Key) {
        let mixed = (key[0] ^ key[3].rotate_left(17))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(key[1] ^ key[2].rotate_left(43))
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.used += 1;
        let own = ((mixed >> 32) * 240) >> 32;
        if [own, own ^ 1]
            .iter()
            .any(|slot| self.slots.get(slot) == Some(&key))
        {
            return;
        }
        if let Some(before) = self.slots.insert(own, key) {
            self.slots.insert(own ^ 1, before);
        }
        let signed = |number: u64| zigzag(number as u32 as i32 as i64 as u64);
        let fields = [
            key[0] << 8 >> 32,
            signed(key[1] >> 32),
            signed(key[1]),
            key[2],
            key[3],
            key[0] >> 56,
        ];
        self.used += 2 + leb(key[0] >> 8 & 0xffff);
        self.used += fields
            .into_iter()
            .filter(|field| *field != 0)
            .map(leb)
            .sum::<usize>();
    }

    fn part(&mut self, part: &Part) {
        self.facts(key(&part.facts, 0));
        if part.facts.kind as u8 >= RecordKind::CompletedSend as u8 {
            self.used += 1 + bytes(zigzag(part.request.wrapping_sub(self.last_completed)));
            self.last_completed = part.request;
            self.used += bytes(self.time.saturating_sub(part.posted));
        } else if part.facts.kind.posts() {
            let gap = self.gap(part.request);
            self.used += leb(zigzag(gap));
        }
    }
}
