//! The fused call record: one record for one MPI call, where an event tracer writes enter, communication
//! and leave. `wire.md` draws it.
//!
//! A record is a *token* (which facts: function, peer, tag, bytes, communicator), the time since the end of
//! the location's previous record, and the call's duration. Facts that came by recently stand in a small
//! dictionary that writer and reader keep alike, so the token alone repeats them. The dictionary starts
//! empty in every packet: each packet decodes alone.

use crate::ids::{CommLocal, RegionId};
use crate::varint::{self, VarintError, unzigzag, zigzag};

/// Slots of the facts dictionary. 64 keep it within 2 KiB, so both sides stay in the first cache level.
pub const DICTIONARY_SLOTS: usize = 64;
/// Token: the facts follow in full and take their slot in the dictionary. Lower tokens are slots.
const TOKEN_LITERAL: u8 = 64;
/// Token: more parts of the call recorded last (they did not fit beside it).
const TOKEN_CONTINUATION: u8 = 65;

/// Upper bound of a call's bytes, its parts apart: token, kind, region, communicator, peer, tag, bytes twice,
/// time, duration, ordinal, number of parts.
pub const MAX_CALL_BYTES: usize = 2 + 11 * varint::MAX_BYTES;
/// Upper bound of a part's bytes.
pub const MAX_PART_BYTES: usize = 2 + 8 * varint::MAX_BYTES;
/// No record carries more parts; what is beyond follows in continuations.
pub const MAX_PARTS: usize = 256;

/// What a record's facts mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Enter and leave only; `comm` where the call has one.
    #[default]
    Plain = 0,
    /// A message was sent: `peer`, `tag`, `bytes_out`.
    Send = 1,
    /// A message was received: `peer` and `tag` as in the status, `bytes_in`.
    Recv = 2,
    /// A send was posted under the location's next request number.
    PostSend = 3,
    /// A receive was posted under the location's next request number; `bytes_in` is the room for it.
    PostRecv = 4,
    /// A collective: `peer` is the root (or -1), `bytes_out` and `bytes_in` are this rank's share.
    Collective = 5,
    /// A non-blocking collective was posted under the location's next request number.
    PostCollective = 6,
    /// A posted send is complete (as a part only, like the next three).
    CompletedSend = 7,
    /// A posted receive is complete: `peer`, `tag` and `bytes_in` as in the status.
    CompletedRecv = 8,
    /// A posted collective is complete.
    CompletedCollective = 9,
    /// A request ended without its operation: cancelled, or freed while active.
    CompletedNothing = 10,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::Plain,
        Kind::Send,
        Kind::Recv,
        Kind::PostSend,
        Kind::PostRecv,
        Kind::Collective,
        Kind::PostCollective,
        Kind::CompletedSend,
        Kind::CompletedRecv,
        Kind::CompletedCollective,
        Kind::CompletedNothing,
    ];

    /// Whether it takes a request number.
    #[inline(always)]
    pub const fn posts(self) -> bool {
        matches!(self, Kind::PostSend | Kind::PostRecv | Kind::PostCollective)
    }

    /// Whether it completes a request.
    #[inline(always)]
    pub const fn completes(self) -> bool {
        self as u8 >= Kind::CompletedSend as u8
    }

    /// Whether it carries its instance number on its communicator.
    #[inline(always)]
    pub const fn has_ordinal(self) -> bool {
        matches!(self, Kind::Collective | Kind::PostCollective)
    }
}

/// The facts of a call or of one of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts {
    /// What the other fields mean.
    pub kind: Kind,
    /// The function.
    pub region: RegionId,
    /// The communicator, as this rank numbers it.
    pub comm: CommLocal,
    /// Peer or root as a rank *in that communicator*; negative values as in [`crate::mpi::peer`].
    pub peer: i32,
    /// The message's tag.
    pub tag: i32,
    /// Bytes that left this rank.
    pub bytes_out: u64,
    /// Bytes that came to this rank.
    pub bytes_in: u64,
}

impl Facts {
    /// The dictionary slot of these facts.
    #[inline(always)]
    fn slot(&self) -> usize {
        let head = self.kind as u64 | u64::from(self.region.0) << 8 | u64::from(self.comm.0) << 24;
        let peer = u64::from(self.peer as u32) << 32 | u64::from(self.tag as u32);
        let mixed = (head ^ self.bytes_in.rotate_left(17))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(peer ^ self.bytes_out.rotate_left(43))
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 58) as usize
    }
}

/// One call: what the wrapper knew at its leave. Times in ticks of the node's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// What was called with which facts.
    pub facts: Facts,
    /// When it left.
    pub end: u64,
    /// How long it took.
    pub duration: u64,
    /// The instance number of a collective on its communicator, else 0.
    pub ordinal: u64,
    /// The request number, where `facts.kind` posts, else 0.
    pub request: u64,
}

/// Something else that a call did: a message of `MPI_Sendrecv`, a request that `MPI_Startall` posted or that
/// `MPI_Waitall` completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// What was done; a completion repeats its operation's region and facts.
    pub facts: Facts,
    /// The request number where the kind posts or completes, else 0.
    pub request: u64,
    /// When a completed operation was posted, else 0.
    pub posted: u64,
}

/// The state that writer and reader keep alike.
#[derive(Clone, Debug)]
struct Context {
    time: u64,
    next_request: u64,
    last_completed: u64,
    ordinal: u64,
    dictionary: [Facts; DICTIONARY_SLOTS],
}

impl Context {
    fn new(base_time: u64, next_request: u64) -> Self {
        Context {
            time: base_time,
            next_request,
            last_completed: next_request,
            ordinal: 0,
            dictionary: [Facts::default(); DICTIONARY_SLOTS],
        }
    }
}

/// Writes records into one packet.
#[derive(Clone, Debug)]
pub struct Encoder(Context);

impl Encoder {
    /// Begins a packet. `base_time` and `next_request` go into its header.
    pub fn new(base_time: u64, next_request: u64) -> Self {
        Encoder(Context::new(base_time, next_request))
    }

    /// Begins the next packet in place, without moving the dictionary's two kilobytes.
    pub fn restart(&mut self, base_time: u64) {
        self.0.time = base_time;
        self.0.last_completed = self.0.next_request;
        self.0.ordinal = 0;
        self.0.dictionary.fill(Facts::default());
    }

    /// The number that the next posted request gets.
    #[inline(always)]
    pub fn next_request(&self) -> u64 {
        self.0.next_request
    }

    /// The end of the call written last.
    pub fn time(&self) -> u64 {
        self.0.time
    }

    /// Gives a request number away without a record (its record was dropped), so that numbers stay unique.
    #[inline(always)]
    pub fn skip_request(&mut self) {
        self.0.next_request = self.0.next_request.wrapping_add(1);
    }

    /// Writes a call and announces `parts` parts behind it; returns the address behind. `call.request` is
    /// ignored: a posting kind takes [`Encoder::next_request`]. The end is never before the previous one.
    ///
    /// # Safety
    /// [`MAX_CALL_BYTES`] bytes from `out` on must be writable.
    #[inline]
    pub unsafe fn call(&mut self, out: *mut u8, call: &Call, parts: usize) -> *mut u8 {
        let since = call.end.saturating_sub(self.0.time);
        self.0.time += since;
        // SAFETY: MAX_CALL_BYTES counts every field written here and in `facts`; the caller has room for them.
        unsafe {
            let mut out = self.facts(out, &call.facts, parts != 0);
            out = varint::put(out, since);
            out = varint::put(out, call.duration);
            if call.facts.kind.has_ordinal() {
                out = varint::put(out, zigzag(call.ordinal.wrapping_sub(self.0.ordinal) as i64));
                self.0.ordinal = call.ordinal;
            }
            if call.facts.kind.posts() {
                self.0.next_request = self.0.next_request.wrapping_add(1);
            }
            if parts != 0 {
                out = varint::put(out, parts as u64);
            }
            out
        }
    }

    /// Writes one of the parts that [`Encoder::call`] or [`Encoder::continuation`] announced.
    ///
    /// # Safety
    /// [`MAX_PART_BYTES`] bytes from `out` on must be writable.
    #[inline]
    pub unsafe fn part(&mut self, out: *mut u8, part: &Part) -> *mut u8 {
        // SAFETY: MAX_PART_BYTES counts every field written here and in `facts`; the caller has room for them.
        unsafe {
            let mut out = self.facts(out, &part.facts, false);
            if part.facts.kind.completes() {
                out = varint::put(
                    out,
                    zigzag(part.request.wrapping_sub(self.0.last_completed) as i64),
                );
                self.0.last_completed = part.request;
                out = varint::put(out, self.0.time.saturating_sub(part.posted));
            } else if part.facts.kind.posts() {
                self.0.next_request = self.0.next_request.wrapping_add(1);
            }
            out
        }
    }

    /// Announces `parts` more parts of the call written last, perhaps in an earlier packet.
    ///
    /// # Safety
    /// [`MAX_CALL_BYTES`] bytes from `out` on must be writable.
    pub unsafe fn continuation(&mut self, out: *mut u8, parts: usize) -> *mut u8 {
        // SAFETY: one token and one varint, far below MAX_CALL_BYTES.
        unsafe {
            out.write(TOKEN_CONTINUATION);
            varint::put(out.add(1), parts as u64)
        }
    }

    /// # Safety
    /// Two bytes and six varints from `out` on must be writable.
    #[inline(always)]
    unsafe fn facts(&mut self, mut out: *mut u8, facts: &Facts, with_parts: bool) -> *mut u8 {
        let slot = facts.slot();
        // `slot` has six bits; the mask lets the compiler see it.
        let known = &mut self.0.dictionary[slot & (DICTIONARY_SLOTS - 1)];
        // SAFETY: the caller vouches for the room.
        unsafe {
            if *known == *facts && facts.region.0 != 0 {
                out.write(slot as u8 | u8::from(with_parts) << 7);
                return out.add(1);
            }
            *known = *facts;
            out.write(TOKEN_LITERAL | u8::from(with_parts) << 7);
            out.add(1).write(facts.kind as u8);
            out = varint::put(out.add(2), u64::from(facts.region.0));
            out = varint::put(out, u64::from(facts.comm.0));
            out = varint::put(out, zigzag(i64::from(facts.peer)));
            out = varint::put(out, zigzag(i64::from(facts.tag)));
            out = varint::put(out, facts.bytes_out);
            varint::put(out, facts.bytes_in)
        }
    }
}

/// Why bytes are no record, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// Offset in the packet's payload.
    pub offset: usize,
    /// What is wrong there.
    pub fault: RecordFault,
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFault {
    /// The bytes end inside a record.
    Truncated,
    /// A number has more bits than its field.
    Overflow,
    /// A token of a version that this program does not know.
    UnknownToken(u8),
    /// A kind of a version that this program does not know, or one that cannot stand here.
    UnknownKind(u8),
    /// The token names facts that were not given before.
    EmptySlot(u8),
    /// More parts than a record may have.
    TooManyParts(u64),
}

impl core::fmt::Display for RecordError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let at = self.offset;
        match self.fault {
            RecordFault::Truncated => write!(f, "record ends early at payload offset {at}"),
            RecordFault::Overflow => write!(f, "number too large for its field at payload offset {at}"),
            RecordFault::UnknownToken(token) => write!(f, "unknown token {token} at payload offset {at}"),
            RecordFault::UnknownKind(kind) => {
                write!(f, "unknown or misplaced kind {kind} at payload offset {at}")
            }
            RecordFault::EmptySlot(slot) => write!(
                f,
                "dictionary slot {slot} used before it was filled at payload offset {at}"
            ),
            RecordFault::TooManyParts(parts) => {
                write!(
                    f,
                    "{parts} parts in one record, at most {MAX_PARTS} allowed, at payload offset {at}"
                )
            }
        }
    }
}

impl core::error::Error for RecordError {}

/// What a record turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A call with this many parts behind it.
    Call(Call, usize),
    /// This many more parts of the location's previous call, whose end is `end`.
    Continuation {
        /// The end of the call.
        end: u64,
        /// How many parts follow.
        parts: usize,
    },
}

/// Reads the records of one packet, in as many steps as its bytes arrive in.
#[derive(Clone, Debug)]
pub struct Decoder(Context);

impl Decoder {
    /// Begins a packet with what its header says.
    pub fn new(base_time: u64, next_request: u64) -> Self {
        Decoder(Context::new(base_time, next_request))
    }

    /// The end of the call read last.
    pub fn time(&self) -> u64 {
        self.0.time
    }

    /// Reads the record at `*at` and moves `*at` behind it; its parts must be read next, each with
    /// [`Decoder::part`]. After an error neither `*at` nor the decoder may be used for this packet again.
    #[inline]
    pub fn record(&mut self, bytes: &[u8], at: &mut usize) -> Result<Decoded, RecordError> {
        let start = *at;
        let token = next(bytes, at)?;
        if token == TOKEN_CONTINUATION {
            let parts = self.parts(bytes, at)?;
            return Ok(Decoded::Continuation {
                end: self.0.time,
                parts,
            });
        }
        let facts = self.facts(bytes, at, token & 0x7f)?;
        if facts.kind.completes() {
            return Err(RecordError {
                offset: start,
                fault: RecordFault::UnknownKind(facts.kind as u8),
            });
        }
        let since = number(bytes, at)?;
        self.0.time = self.0.time.checked_add(since).ok_or(RecordError {
            offset: start,
            fault: RecordFault::Overflow,
        })?;
        let mut call = Call {
            facts,
            end: self.0.time,
            duration: number(bytes, at)?,
            ordinal: 0,
            request: 0,
        };
        if facts.kind.has_ordinal() {
            self.0.ordinal = self.0.ordinal.wrapping_add(unzigzag(number(bytes, at)?) as u64);
            call.ordinal = self.0.ordinal;
        }
        if facts.kind.posts() {
            call.request = self.take_request();
        }
        let parts = if token & 0x80 != 0 {
            self.parts(bytes, at)?
        } else {
            0
        };
        Ok(Decoded::Call(call, parts))
    }

    /// Reads one announced part.
    #[inline]
    pub fn part(&mut self, bytes: &[u8], at: &mut usize) -> Result<Part, RecordError> {
        let token = next(bytes, at)?;
        let facts = self.facts(bytes, at, token)?;
        let mut part = Part {
            facts,
            request: 0,
            posted: 0,
        };
        if facts.kind.completes() {
            self.0.last_completed = self
                .0
                .last_completed
                .wrapping_add(unzigzag(number(bytes, at)?) as u64);
            part.request = self.0.last_completed;
            part.posted = self.0.time.saturating_sub(number(bytes, at)?);
        } else if facts.kind.posts() {
            part.request = self.take_request();
        }
        Ok(part)
    }

    fn take_request(&mut self) -> u64 {
        let request = self.0.next_request;
        self.0.next_request = request.wrapping_add(1);
        request
    }

    fn parts(&self, bytes: &[u8], at: &mut usize) -> Result<usize, RecordError> {
        let offset = *at;
        let parts = number(bytes, at)?;
        if parts > MAX_PARTS as u64 {
            return Err(RecordError {
                offset,
                fault: RecordFault::TooManyParts(parts),
            });
        }
        Ok(parts as usize)
    }

    #[inline(always)]
    fn facts(&mut self, bytes: &[u8], at: &mut usize, token: u8) -> Result<Facts, RecordError> {
        let offset = *at - 1;
        if usize::from(token) < DICTIONARY_SLOTS {
            let facts = self.0.dictionary[usize::from(token)];
            // Region 0 is no function: the slot was never filled.
            if facts.region.0 == 0 {
                return Err(RecordError {
                    offset,
                    fault: RecordFault::EmptySlot(token),
                });
            }
            return Ok(facts);
        }
        if token != TOKEN_LITERAL {
            return Err(RecordError {
                offset,
                fault: RecordFault::UnknownToken(token),
            });
        }
        let kind = next(bytes, at)?;
        let Some(&kind) = Kind::ALL.get(usize::from(kind)) else {
            return Err(RecordError {
                offset: *at - 1,
                fault: RecordFault::UnknownKind(kind),
            });
        };
        let facts = Facts {
            kind,
            region: RegionId(narrow(bytes, at)?),
            comm: CommLocal(narrow(bytes, at)?),
            peer: narrow_signed(bytes, at)?,
            tag: narrow_signed(bytes, at)?,
            bytes_out: number(bytes, at)?,
            bytes_in: number(bytes, at)?,
        };
        self.0.dictionary[facts.slot() & (DICTIONARY_SLOTS - 1)] = facts;
        Ok(facts)
    }
}

#[inline(always)]
fn next(bytes: &[u8], at: &mut usize) -> Result<u8, RecordError> {
    let byte = *bytes.get(*at).ok_or(RecordError {
        offset: *at,
        fault: RecordFault::Truncated,
    })?;
    *at += 1;
    Ok(byte)
}

#[inline(always)]
fn number(bytes: &[u8], at: &mut usize) -> Result<u64, RecordError> {
    varint::get(bytes, at).map_err(|error| RecordError {
        offset: *at,
        fault: match error {
            VarintError::Truncated => RecordFault::Truncated,
            VarintError::Overflow => RecordFault::Overflow,
        },
    })
}

#[inline(always)]
fn narrow<T: TryFrom<u64>>(bytes: &[u8], at: &mut usize) -> Result<T, RecordError> {
    let offset = *at;
    number(bytes, at)?.try_into().map_err(|_| RecordError {
        offset,
        fault: RecordFault::Overflow,
    })
}

#[inline(always)]
fn narrow_signed(bytes: &[u8], at: &mut usize) -> Result<i32, RecordError> {
    let offset = *at;
    unzigzag(number(bytes, at)?).try_into().map_err(|_| RecordError {
        offset,
        fault: RecordFault::Overflow,
    })
}
