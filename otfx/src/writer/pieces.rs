//! Encodes the pieces of a record: heads, parts, values, numbers. The writer decides where they go.

use crate::encoding::{
    CLIPPED, Context, EXTENDED, GAP, HEAD_MAX, ITERATION, Key, LITERAL, Marks, OCCUPANT, OVERLAP,
    PART_MAX, PARTS_BELOW, VALUES_BYTES_MAX, WIDE, bytes_of,
};
use invivo_proto::record::Part;
use invivo_proto::varint::zigzag;

/// The fields of a record beside its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    /// The record's end.
    pub end: u64,
    /// How long it took; of samples the ordinal.
    pub second: u64,
    /// The instance number of a collective.
    pub ordinal: Option<u64>,
    /// The number of the request that it posts.
    pub request: Option<u64>,
    pub marks: Marks,
    pub clipped: bool,
}

/// Encodes any head; returns its bytes.
#[inline]
pub fn head(
    context: &mut Context,
    out: &mut [u8; HEAD_MAX],
    key: Key,
    body: &Body,
    first: u64,
    overlap: u8,
    parts: usize,
) -> usize {
    let mut at = 0;
    if body.marks != context.marks {
        // Marks come first: they set the state for all records behind them.
        at = marks(context, out, body.marks);
    }

    if (first | body.second) >> 56 != 0 {
        out[at..at + 3].copy_from_slice(&[WIDE, (first >> 56) as u8, (body.second >> 56) as u8]);
        at += 3;
    }

    if let Some(slot) = context.find(&key) {
        out[at] = slot;
        at += 1;
    } else {
        context.learn(&key);
        at = literal(out, at, &key);
    }

    // The highest bytes went into the WIDE mark.
    let (first, second) = (first & u64::MAX >> 8, body.second & u64::MAX >> 8);
    let (first_bytes, second_bytes) = (bytes_of(first), bytes_of(second));
    let gap = body
        .request
        .map_or(0, |request| request.wrapping_sub(context.take_request()));
    let extended = parts != 0 || body.clipped || gap != 0;
    out[at] = first_bytes as u8 | overlap | (second_bytes as u8) << 4 | u8::from(extended) << 7;
    at += 1;
    debug_assert_eq!(EXTENDED, 1 << 7);
    if extended {
        let count = parts.min(PARTS_BELOW) as u8;
        let clipped = if body.clipped { CLIPPED } else { 0 };
        out[at] = count | clipped | if gap != 0 { GAP } else { 0 };
        at += 1;
    }

    out[at..at + 8].copy_from_slice(&first.to_le_bytes());
    at += first_bytes;
    out[at..at + 8].copy_from_slice(&second.to_le_bytes());
    at += second_bytes;
    if let Some(ordinal) = body.ordinal {
        at = put_varint(
            out,
            at,
            zigzag(ordinal.wrapping_sub(context.ordinal) as i64),
        );
        context.ordinal = ordinal;
    }

    if gap != 0 {
        context.next_request = context.next_request.wrapping_add(gap);
        at = put_varint(out, at, zigzag(gap as i64));
    }

    if parts >= PARTS_BELOW {
        at = put_varint(out, at, parts as u64);
    }
    at
}

/// Encodes any part; returns its bytes.
#[inline]
pub fn part(context: &mut Context, out: &mut [u8; PART_MAX], part: &Part) -> usize {
    let key = Key::of(&part.facts, 0);
    let mut at = 1;
    if let Some(slot) = context.find(&key) {
        out[0] = slot;
    } else {
        context.learn(&key);
        at = literal(out, 0, &key);
    }

    if part.facts.kind.completes() {
        let request = zigzag(part.request.wrapping_sub(context.last_completed) as i64);
        context.last_completed = part.request;
        let age = context.time.saturating_sub(part.posted);
        let (request_bytes, age_bytes) = (bytes_of(request), bytes_of(age));
        out[at] = request_bytes as u8 | (age_bytes as u8) << 4;
        at += 1;
        out[at..at + 8].copy_from_slice(&request.to_le_bytes());
        at += request_bytes;
        out[at..at + 8].copy_from_slice(&age.to_le_bytes());
        at += age_bytes;
    } else if part.facts.kind.posts() {
        let gap = part.request.wrapping_sub(context.take_request());
        context.next_request = context.next_request.wrapping_add(gap);
        at = put_varint(out, at, zigzag(gap as i64));
    }

    at
}

/// Values in pairs: two lengths in a byte, then the two differences from the values before; how
/// many bytes.
#[inline]
pub fn values(context: &mut Context, out: &mut [u8; VALUES_BYTES_MAX], values: &[u64]) -> usize {
    let mut at = 0;
    for (pair, before) in values.chunks(2).zip(context.values.chunks_mut(2)) {
        let lengths = at;
        out[lengths] = 0;
        at += 1;
        for (index, (value, before)) in pair.iter().zip(before).enumerate() {
            let change = zigzag(value.wrapping_sub(*before) as i64);
            *before = *value;
            let bytes = bytes_of(change);
            out[lengths] |= (bytes as u8) << (4 * index);
            out[at..at + 8].copy_from_slice(&change.to_le_bytes());
            at += bytes;
        }
    }

    at
}

#[cold]
fn marks(context: &mut Context, out: &mut [u8; HEAD_MAX], marks: Marks) -> usize {
    let before = core::mem::replace(&mut context.marks, marks);
    let mut at = 0;
    if marks.iteration != before.iteration {
        out[at] = ITERATION;
        at = put_varint(out, at + 1, marks.iteration);
    }
    if marks.occupant != before.occupant {
        out[at] = OCCUPANT;
        at = put_varint(out, at + 1, marks.occupant.into());
    }
    at
}

/// Token, kind, which fields are not zero, region, these fields.
#[inline(never)]
fn literal(out: &mut [u8], at: usize, key: &Key) -> usize {
    let fields = [
        u64::from(key.comm()),
        zigzag(i64::from(key.peer())),
        zigzag(i64::from(key.tag())),
        key.0[2],
        key.0[3],
        u64::from(key.depth()),
    ];
    out[at] = LITERAL;
    out[at + 1] = key.kind();
    let mut present = 0;
    let mut end = put_varint(out, at + 3, u64::from(key.region()));
    for (index, field) in fields.into_iter().enumerate() {
        if field != 0 {
            present |= 1 << index;
            end = put_varint(out, end, field);
        }
    }

    // Known only now; its byte was left free above.
    out[at + 2] = present;
    end
}

/// The first number of a record that ends `since` ticks after the one before and took so long: to
/// its begin, or to its end where the two overlap.
#[inline(always)]
pub fn gap(since: u64, duration: u64) -> (u64, u8) {
    match since.checked_sub(duration) {
        Some(gap) => (gap, 0),
        None => (since, OVERLAP),
    }
}

#[inline(always)]
pub fn put_varint(out: &mut [u8], mut at: usize, mut value: u64) -> usize {
    while value >= 0x80 {
        out[at] = value as u8 | 0x80;
        at += 1;
        value >>= 7;
    }
    out[at] = value as u8;
    at + 1
}
