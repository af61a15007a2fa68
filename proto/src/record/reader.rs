//! Decodes records from any bytes; of malformed ones it reports what is wrong and where.

use super::{
    Call, Context, DICTIONARY_SLOTS, Facts, MAX_PARTS, OPEN_MAX, OpenRegion, Part, REGIONS_END,
    RecordKind, TOKEN_CONTINUATION, TOKEN_ENTER, TOKEN_LEAVE, TOKEN_LITERAL, TOKEN_OCCUPANT,
    TOKEN_OPEN,
};
use crate::ids::{CommLocal, RegionId, SiteId};
use crate::packet;
use crate::varint::{self, VarintError, unzigzag};

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
    /// More open regions than a record may have.
    TooManyOpen(u64),
    /// The number of an MPI function, or of none, where a region of the program must stand.
    NoRegion(u64),
}

impl core::fmt::Display for RecordError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let at = self.offset;
        match self.fault {
            RecordFault::Truncated => write!(f, "record ends early at payload offset {at}"),
            RecordFault::Overflow => {
                write!(f, "number too large for its field at payload offset {at}")
            }
            RecordFault::UnknownToken(token) => {
                write!(f, "unknown token {token} at payload offset {at}")
            }
            RecordFault::UnknownKind(kind) => {
                write!(f, "unknown or misplaced kind {kind} at payload offset {at}")
            }
            RecordFault::EmptySlot(slot) => write!(
                f,
                "dictionary slot {slot} used before it was filled at payload offset {at}"
            ),
            RecordFault::TooManyOpen(open) => {
                write!(
                    f,
                    "{open} open regions in one record, at most {OPEN_MAX} allowed, at payload \
                     offset {at}"
                )
            }
            RecordFault::NoRegion(number) => {
                write!(
                    f,
                    "{number} is no region of a program, at payload offset {at}"
                )
            }
            RecordFault::TooManyParts(parts) => {
                write!(
                    f,
                    "{parts} parts in one record, at most {MAX_PARTS} allowed, at payload offset \
                     {at}"
                )
            }
        }
    }
}

impl core::error::Error for RecordError {}

/// What a record turned out to be. `C` is the call itself, or nothing where that stays in the
/// decoder ([`Decoder::call`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded<C = Call> {
    /// A call with this many parts behind it.
    Call(C, usize),
    /// This many more parts of the location's previous call, whose end is `end`.
    Continuation {
        /// The end of the call.
        end: u64,
        /// How many parts follow.
        parts: usize,
    },
    /// What follows is of the location's occupant of this number.
    Occupant(u32),
    /// A region of the program was entered.
    Enter {
        /// When.
        time: u64,
        /// [`REGIONS_END`] or above.
        region: RegionId,
    },
    /// The region that was entered last, of those that are open, was left.
    Leave {
        /// When.
        time: u64,
    },
    /// So many regions are open, each to be read with [`Decoder::open_region`].
    Open {
        /// At this time.
        time: u64,
        /// Regions that follow, the outermost first.
        count: usize,
    },
}

impl<C> Decoded<C> {
    /// How many parts follow, each to be read with [`Decoder::part`].
    #[inline(always)]
    pub fn parts(&self) -> usize {
        match *self {
            Decoded::Call(_, parts) | Decoded::Continuation { parts, .. } => parts,
            Decoded::Occupant(_)
            | Decoded::Enter { .. }
            | Decoded::Leave { .. }
            | Decoded::Open { .. } => 0,
        }
    }

    /// The same with this call, where it is one.
    #[inline(always)]
    fn with<D>(self, call: D) -> Decoded<D> {
        match self {
            Decoded::Call(_, parts) => Decoded::Call(call, parts),
            Decoded::Continuation { end, parts } => Decoded::Continuation { end, parts },
            Decoded::Occupant(occupant) => Decoded::Occupant(occupant),
            Decoded::Enter { time, region } => Decoded::Enter { time, region },
            Decoded::Leave { time } => Decoded::Leave { time },
            Decoded::Open { time, count } => Decoded::Open { time, count },
        }
    }
}

/// Reads the records of one packet, in as many steps as its bytes arrive in.
#[derive(Clone, Debug)]
pub struct Decoder {
    context: Context<Facts>,
    /// Facts say where calls were made.
    has_sites: bool,
    /// The call read last. It is made where it stays: a processor waits for what is copied right
    /// after its fields were written one by one.
    call: Call,
}

/// The first version of packets whose facts have call sites.
const SITES_SINCE: u16 = 3;

impl Decoder {
    /// Begins a packet of today's version with what its header says.
    pub fn new(base_time: u64, next_request: u64) -> Self {
        Decoder::of_version(packet::VERSION, base_time, next_request)
    }

    /// Begins a packet of this version.
    pub fn of_version(version: u16, base_time: u64, next_request: u64) -> Self {
        Decoder {
            context: Context::new(base_time, next_request),
            has_sites: version >= SITES_SINCE,
            call: Call::default(),
        }
    }

    /// The end of the call read last.
    pub fn time(&self) -> u64 {
        self.context.time
    }

    /// The call read last.
    #[inline(always)]
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// As [`Decoder::read`], with a copy of the call.
    #[inline]
    pub fn record(&mut self, bytes: &[u8], at: &mut usize) -> Result<Decoded, RecordError> {
        self.read(bytes, at).map(|decoded| decoded.with(self.call))
    }

    /// Reads the record at `*at` and moves `*at` behind it; its parts must be read next, each with
    /// [`Decoder::part`]. After an error neither `*at` nor the decoder may be used for this packet
    /// again.
    #[inline(always)]
    pub fn read(&mut self, bytes: &[u8], at: &mut usize) -> Result<Decoded<()>, RecordError> {
        let start = *at;
        let token = next(bytes, at)?;
        if token == TOKEN_CONTINUATION {
            let parts = self.parts(bytes, at)?;
            return Ok(Decoded::Continuation {
                end: self.context.time,
                parts,
            });
        }

        if token == TOKEN_OCCUPANT {
            return Ok(Decoded::Occupant(narrow(bytes, at)?));
        }

        if let TOKEN_ENTER | TOKEN_LEAVE | TOKEN_OPEN = token {
            let time = self.pass(bytes, at)?;
            return match token {
                TOKEN_ENTER => Ok(Decoded::Enter {
                    time,
                    region: program_region(bytes, at)?,
                }),
                TOKEN_LEAVE => Ok(Decoded::Leave { time }),
                _ => open(bytes, at, time),
            };
        }

        let slot = self.facts(bytes, at, token & 0x7f)?;
        self.call.facts = self.context.dictionary[slot];
        let kind = self.call.facts.kind;
        // A completion is a part of the call that completed it, never a record of its own.
        if kind.completes() {
            return Err(RecordError {
                offset: start,
                fault: RecordFault::UnknownKind(kind as u8),
            });
        }

        self.call.end = self.pass(bytes, at)?;
        self.call.duration = number(bytes, at)?;
        self.call.ordinal = 0;
        if kind.has_ordinal() {
            self.context.ordinal = self
                .context
                .ordinal
                .wrapping_add(unzigzag(number(bytes, at)?) as u64);
            self.call.ordinal = self.context.ordinal;
        }

        self.call.request = if kind.posts() { self.take_request() } else { 0 };
        let parts = if token & 0x80 != 0 {
            self.parts(bytes, at)?
        } else {
            0
        };

        Ok(Decoded::Call((), parts))
    }

    /// Reads one announced open region.
    #[inline]
    pub fn open_region(&self, bytes: &[u8], at: &mut usize) -> Result<OpenRegion, RecordError> {
        Ok(OpenRegion {
            region: program_region(bytes, at)?,
            begin: self.context.time.saturating_sub(number(bytes, at)?),
        })
    }

    /// Reads how much time has passed since the record before; gives the time now.
    #[inline(always)]
    fn pass(&mut self, bytes: &[u8], at: &mut usize) -> Result<u64, RecordError> {
        let offset = *at;
        let since = number(bytes, at)?;
        // Times are differences: one damaged number would spoil all that follow.
        self.context.time = self.context.time.checked_add(since).ok_or(RecordError {
            offset,
            fault: RecordFault::Overflow,
        })?;
        Ok(self.context.time)
    }

    /// Reads one announced part.
    #[inline]
    pub fn part(&mut self, bytes: &[u8], at: &mut usize) -> Result<Part, RecordError> {
        let mut part = Part::default();
        self.read_part(bytes, at, &mut part)?;
        Ok(part)
    }

    /// Reads one announced part, to where it stays.
    #[inline]
    pub fn read_part(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        part: &mut Part,
    ) -> Result<(), RecordError> {
        let token = next(bytes, at)?;
        let slot = self.facts(bytes, at, token)?;
        part.facts = self.context.dictionary[slot];
        (part.request, part.posted) = (0, 0);
        let kind = part.facts.kind;
        if kind.completes() {
            self.context.last_completed = self
                .context
                .last_completed
                .wrapping_add(unzigzag(number(bytes, at)?) as u64);
            part.request = self.context.last_completed;
            // The age counts from the end of the call that the part belongs to.
            part.posted = self.context.time.saturating_sub(number(bytes, at)?);
        } else if kind.posts() {
            part.request = self.take_request();
        }

        Ok(())
    }

    fn take_request(&mut self) -> u64 {
        let request = self.context.next_request;
        self.context.next_request = request.wrapping_add(1);
        request
    }

    fn parts(&self, bytes: &[u8], at: &mut usize) -> Result<usize, RecordError> {
        let offset = *at;
        let parts = number(bytes, at)?;
        // Callers make room by this number, so it is checked before they do.
        if parts > MAX_PARTS as u64 {
            return Err(RecordError {
                offset,
                fault: RecordFault::TooManyParts(parts),
            });
        }
        Ok(parts as usize)
    }

    /// Where in the dictionary the facts are.
    #[inline(always)]
    fn facts(&mut self, bytes: &[u8], at: &mut usize, token: u8) -> Result<usize, RecordError> {
        let offset = *at - 1;
        if usize::from(token) < DICTIONARY_SLOTS {
            // Region 0 is no function: the slot was never filled.
            if self.context.dictionary[usize::from(token)].region.0 == 0 {
                return Err(RecordError {
                    offset,
                    fault: RecordFault::EmptySlot(token),
                });
            }
            return Ok(usize::from(token));
        }

        if token != TOKEN_LITERAL {
            return Err(RecordError {
                offset,
                fault: RecordFault::UnknownToken(token),
            });
        }

        let kind = next(bytes, at)?;
        let Some(&kind) = RecordKind::ALL.get(usize::from(kind)) else {
            return Err(RecordError {
                offset: *at - 1,
                fault: RecordFault::UnknownKind(kind),
            });
        };

        let mut facts = Facts {
            kind,
            region: region(bytes, at)?,
            comm: CommLocal(narrow(bytes, at)?),
            peer: narrow_signed(bytes, at)?,
            tag: narrow_signed(bytes, at)?,
            bytes_out: number(bytes, at)?,
            bytes_in: number(bytes, at)?,
            site: SiteId::NONE,
        };
        let slot = if self.has_sites {
            facts.site = SiteId(narrow(bytes, at)?);
            facts.slot()
        } else {
            facts.slot_without_sites()
        };

        let slot = slot & (DICTIONARY_SLOTS - 1);
        self.context.dictionary[slot] = facts;
        Ok(slot)
    }
}

/// A region for which facts have room.
#[inline(always)]
fn region(bytes: &[u8], at: &mut usize) -> Result<RegionId, RecordError> {
    let offset = *at;
    match narrow(bytes, at)? {
        region if region < REGIONS_END => Ok(RegionId(region)),
        _ => Err(RecordError {
            offset,
            fault: RecordFault::Overflow,
        }),
    }
}

/// A region of the program.
#[inline(always)]
fn program_region(bytes: &[u8], at: &mut usize) -> Result<RegionId, RecordError> {
    let offset = *at;
    let region = narrow(bytes, at)?;
    if region < REGIONS_END {
        return Err(RecordError {
            offset,
            fault: RecordFault::NoRegion(u64::from(region)),
        });
    }
    Ok(RegionId(region))
}

/// What stands before the open regions.
fn open(bytes: &[u8], at: &mut usize, time: u64) -> Result<Decoded<()>, RecordError> {
    let offset = *at;
    let count = number(bytes, at)?;
    // Callers make room by this number, so it is checked before they do.
    if count > OPEN_MAX as u64 {
        return Err(RecordError {
            offset,
            fault: RecordFault::TooManyOpen(count),
        });
    }
    Ok(Decoded::Open {
        time,
        count: count as usize,
    })
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
    unzigzag(number(bytes, at)?)
        .try_into()
        .map_err(|_| RecordError {
            offset,
            fault: RecordFault::Overflow,
        })
}
