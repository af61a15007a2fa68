//! Reads what [`crate::writer`] writes: the format that [`crate::bin`] draws, from any bytes.

use crate::contents::{BIN_HEAD_BYTES, BinError, Contents, Head};
use crate::encoding::{
    CLIPPED, CONTINUATION, Context, EXTENDED, GAP, ITERATION, Key, LITERAL, METRIC, Marks,
    OCCUPANT, OPAQUE, OVERLAP, PARTS_BELOW, REGION, SAMPLE, SLOTS, WIDE, class, kind,
};
use crate::event::{EventClass, OPAQUE_BYTES_MAX, Pass, VALUES_MAX};
use invivo_proto::ids::RegionId;
use invivo_proto::record::{Call, MAX_PARTS, Part, RecordError, RecordFault};
use invivo_proto::varint::{self, VarintError, unzigzag};

/// The position of a reader in a bin. It does not hold the bytes, so that they may be those of a
/// buffer that is in use; it must be given the same ones each time.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    at: usize,
    context: Context,
}

impl Cursor {
    pub fn new() -> Self {
        Cursor {
            at: 0,
            context: Context::new(),
        }
    }

    pub fn begin(&mut self, bytes: &[u8]) -> Result<(), BinError> {
        let Some((head, _)) = bytes.split_first_chunk::<BIN_HEAD_BYTES>() else {
            self.at = bytes.len();
            return Err(BinError::Short { bytes: bytes.len() });
        };
        self.at = BIN_HEAD_BYTES;
        self.context.begin(word(&head[..8]), word(&head[8..]));
        Ok(())
    }

    /// As [`BinReader::next`].
    pub fn next(&mut self, bytes: &[u8], into: &mut Contents) -> Result<bool, BinError> {
        into.parts.clear();
        into.values.clear();
        into.bytes.clear();
        if self.at >= bytes.len() {
            return Ok(false);
        }
        let mut input = Input { bytes, at: self.at };
        let read = record(&mut self.context, &mut input, into);
        self.finish(bytes, input.at, read).map(|()| true)
    }

    /// Whether everything has been read.
    pub fn at_end(&self, bytes: &[u8]) -> bool {
        self.at >= bytes.len()
    }

    /// Whether more parts of the record before come next.
    pub fn at_continuation(&self, bytes: &[u8]) -> bool {
        bytes.get(self.at) == Some(&CONTINUATION)
    }

    /// Adds these parts, if they come next.
    pub fn continuation(&mut self, bytes: &[u8], into: &mut Contents) -> Result<(), BinError> {
        let mut input = Input {
            bytes,
            at: self.at + 1,
        };
        let read = more_parts(&mut self.context, &mut input, into);
        self.finish(bytes, input.at, read)
    }

    fn finish(
        &mut self,
        bytes: &[u8],
        at: usize,
        read: Result<(), RecordError>,
    ) -> Result<(), BinError> {
        self.at = if read.is_ok() { at } else { bytes.len() };
        read.map_err(BinError::Record)
    }
}

/// Bytes with a place in them.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn fail<T>(&self, fault: RecordFault) -> Result<T, RecordError> {
        Err(RecordError {
            offset: self.at,
            fault,
        })
    }

    #[inline(always)]
    fn byte(&mut self) -> Result<u8, RecordError> {
        let Some(&byte) = self.bytes.get(self.at) else {
            return self.fail(RecordFault::Truncated);
        };
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, length: usize) -> Result<&[u8], RecordError> {
        let Some(bytes) = self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.get(..length))
        else {
            return self.fail(RecordFault::Truncated);
        };
        self.at += length;
        Ok(bytes)
    }

    /// A number of so many bytes, 8 at most.
    #[inline(always)]
    fn number(&mut self, bytes: usize) -> Result<u64, RecordError> {
        // Eight bytes are read at once and masked; only near the end of the bin are they read one
        // by one.
        if let Some(eight) = self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.first_chunk::<8>())
        {
            self.at += bytes;
            let number = u64::from_le_bytes(*eight);
            return Ok(if bytes == 8 {
                number
            } else {
                number & !(u64::MAX << (8 * bytes))
            });
        }

        Ok(word(self.take(bytes)?))
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64, RecordError> {
        varint::get(self.bytes, &mut self.at).map_err(|error| RecordError {
            offset: self.at,
            fault: match error {
                VarintError::Truncated => RecordFault::Truncated,
                VarintError::Overflow => RecordFault::Overflow,
            },
        })
    }

    fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, RecordError> {
        let number = self.varint()?;
        number
            .try_into()
            .or_else(|_| self.fail(RecordFault::Overflow))
    }

    fn signed(&mut self) -> Result<i32, RecordError> {
        let number = unzigzag(self.varint()?);
        number
            .try_into()
            .or_else(|_| self.fail(RecordFault::Overflow))
    }

    /// A length of four bits, of which 8 is the most.
    fn length(&self, four: u8) -> Result<usize, RecordError> {
        if four > 8 {
            return self.fail(RecordFault::Overflow);
        }
        Ok(usize::from(four))
    }
}

/// Up to eight little-endian bytes.
fn word(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(eight)
}

fn record(
    context: &mut Context,
    input: &mut Input<'_>,
    into: &mut Contents,
) -> Result<(), RecordError> {
    let mut token = input.byte()?;
    // The call's head is further up, or in the bin before, which may be gone.
    if token == CONTINUATION {
        into.head = Head::Rest { end: context.time };
        (into.depth, into.clipped) = (0, false);
        into.belongs(context.marks);
        return more_parts(context, input, into);
    }

    if token == OPAQUE {
        return opaque(context, input, into);
    }
    if token == ITERATION {
        context.marks.iteration = input.varint()?;
        token = input.byte()?;
    }
    if token == OCCUPANT {
        context.marks.occupant = input.narrow()?;
        token = input.byte()?;
    }

    // A length has three bits, so numbers of eight bytes carry their highest one in front.
    let mut high = [0; 2];
    if token == WIDE {
        high = [input.byte()?, input.byte()?];
        token = input.byte()?;
    }

    let start = input.at;
    let key = facts(context, input, token)?;
    let Some(class) = class(key.kind()) else {
        return Err(RecordError {
            offset: start,
            fault: RecordFault::UnknownKind(key.kind()),
        });
    };

    let lengths = input.byte()?;
    let third = if lengths & EXTENDED != 0 {
        input.byte()?
    } else {
        0
    };

    let first = input.number(usize::from(lengths & 7))? | u64::from(high[0]) << 56;
    let second = input.number(usize::from(lengths >> 4 & 7))? | u64::from(high[1]) << 56;
    // Without overlap `first` ends at the record's begin, and its duration follows.
    let gap = if lengths & OVERLAP == 0 { second } else { 0 };
    let end = first
        .checked_add(gap)
        .and_then(|since| context.time.checked_add(since));
    let Some(end) = end else {
        return input.fail(RecordFault::Overflow);
    };

    context.time = end;
    let lasts = matches!(class, EventClass::Call | EventClass::Region);
    into.depth = if lasts { key.depth() } else { 0 };
    into.clipped = lasts && third & CLIPPED != 0;
    into.belongs(context.marks);
    match (class, kind(key.kind())) {
        (EventClass::Call, Some(kind)) => {
            let mut call = Call {
                facts: key.facts(kind),
                end,
                duration: second,
                ordinal: 0,
                request: 0,
            };
            if kind.has_ordinal() {
                context.ordinal = context
                    .ordinal
                    .wrapping_add(unzigzag(input.varint()?) as u64);
                call.ordinal = context.ordinal;
            }
            if third & GAP != 0 {
                context.next_request = context
                    .next_request
                    .wrapping_add(unzigzag(input.varint()?) as u64);
            }
            if kind.posts() {
                call.request = context.take_request();
            }
            into.head = Head::Call(call);
            let count = usize::from(third) & PARTS_BELOW;
            let count = if count == PARTS_BELOW {
                input.varint()?
            } else {
                count as u64
            };
            parts(context, input, into, count)
        }
        (EventClass::Region, _) => {
            into.head = Head::Region(Pass {
                region: RegionId(key.region()),
                end,
                duration: second,
            });
            Ok(())
        }
        _ => {
            context.sample = context.sample.wrapping_add(second);
            into.head = if key.kind() == SAMPLE {
                Head::Sample {
                    time: end,
                    ordinal: context.sample,
                    context: key.comm(),
                }
            } else {
                Head::Metric {
                    time: end,
                    metric: key.comm(),
                }
            };
            values(context, input, into, usize::from(key.region()))
        }
    }
}

#[inline(always)]
fn facts(context: &mut Context, input: &mut Input<'_>, token: u8) -> Result<Key, RecordError> {
    let fault = |offset, fault| Err(RecordError { offset, fault });
    let offset = input.at - 1;
    if usize::from(token) < SLOTS {
        let key = *context.key(token);
        if key.is_empty() {
            return fault(offset, RecordFault::EmptySlot(token));
        }
        return Ok(key);
    }

    if token != LITERAL {
        return fault(offset, RecordFault::UnknownToken(token));
    }
    let (kind, present) = (input.byte()?, input.byte()?);
    // Checked before anything is learned: the writer never puts an unknown kind into the
    // dictionary.
    let known = kind <= invivo_proto::record::RecordKind::CompletedNothing as u8
        || matches!(kind, REGION | SAMPLE | METRIC);
    if !known || present >> 6 != 0 {
        return fault(offset, RecordFault::UnknownKind(kind));
    }

    let region = input.narrow()?;
    let comm = if present & 1 != 0 { input.narrow()? } else { 0 };
    let peer = if present & 2 != 0 { input.signed()? } else { 0 };
    let tag = if present & 4 != 0 { input.signed()? } else { 0 };
    let out = if present & 8 != 0 { input.varint()? } else { 0 };
    let back = if present & 16 != 0 {
        input.varint()?
    } else {
        0
    };

    let depth = if present & 32 != 0 {
        input.narrow()?
    } else {
        0
    };

    let mut key = Key::new(kind, region, comm, depth);
    key.0[1] = u64::from(peer as u32) << 32 | u64::from(tag as u32);
    (key.0[2], key.0[3]) = (out, back);
    context.learn(&key);
    Ok(key)
}

fn more_parts(
    context: &mut Context,
    input: &mut Input<'_>,
    into: &mut Contents,
) -> Result<(), RecordError> {
    let count = input.varint()?;
    parts(context, input, into, count)
}

fn parts(
    context: &mut Context,
    input: &mut Input<'_>,
    into: &mut Contents,
    count: u64,
) -> Result<(), RecordError> {
    // Before the loop: a damaged count must not make the reader allocate.
    if count > MAX_PARTS as u64 {
        return input.fail(RecordFault::TooManyParts(count));
    }

    for _ in 0..count {
        let token = input.byte()?;
        let key = facts(context, input, token)?;
        let Some(kind) = kind(key.kind()) else {
            return input.fail(RecordFault::UnknownKind(key.kind()));
        };
        let mut part = Part {
            facts: key.facts(kind),
            request: 0,
            posted: 0,
        };
        if kind.completes() {
            let lengths = input.byte()?;
            let (request, age) = (input.length(lengths & 15)?, input.length(lengths >> 4)?);
            let request = unzigzag(input.number(request)?) as u64;
            context.last_completed = context.last_completed.wrapping_add(request);
            part.request = context.last_completed;
            part.posted = context.time.saturating_sub(input.number(age)?);
        } else if kind.posts() {
            context.next_request = context
                .next_request
                .wrapping_add(unzigzag(input.varint()?) as u64);
            part.request = context.take_request();
        }
        into.parts.push(part);
    }

    Ok(())
}

fn values(
    context: &mut Context,
    input: &mut Input<'_>,
    into: &mut Contents,
    count: usize,
) -> Result<(), RecordError> {
    if count > VALUES_MAX {
        return input.fail(RecordFault::TooManyParts(count as u64));
    }

    let mut lengths = 0;
    for (index, before) in context.values[..count].iter_mut().enumerate() {
        lengths = if index % 2 == 0 {
            input.byte()?
        } else {
            lengths >> 4
        };
        let length = input.length(lengths & 15)?;
        *before = before.wrapping_add(unzigzag(input.number(length)?) as u64);
        into.values.push(*before);
    }

    Ok(())
}

fn opaque(
    context: &mut Context,
    input: &mut Input<'_>,
    into: &mut Contents,
) -> Result<(), RecordError> {
    let class = input.byte()?;
    let Some(&class) = EventClass::ALL.get(usize::from(class)) else {
        return input.fail(RecordFault::UnknownKind(class));
    };

    let length = word(input.take(2)?) as usize;
    let (time, ordinal) = (word(input.take(8)?), word(input.take(8)?));
    // Records of one level never end before the one in front of them.
    if length > OPAQUE_BYTES_MAX || time < context.time {
        return input.fail(RecordFault::Overflow);
    }

    into.bytes.extend_from_slice(input.take(length)?);
    context.time = time;
    into.head = Head::Opaque {
        class,
        time,
        ordinal,
    };

    (into.depth, into.clipped) = (0, false);
    into.belongs(Marks::default());
    Ok(())
}
