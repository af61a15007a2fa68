//! Decodes one location's records, each once and in order, from packets over MPI and shared memory.
//!
//! Packets over MPI come whole, late and out of order; pieces from shared memory come before them,
//! instead of them or beside them. How far the location is read is given by two numbers: the
//! sequence number of the next packet and how much of its payload is taken already. What lies
//! before is discarded, what lies behind waits. A record that cannot be decoded spoils the rest of
//! its packet, not the location: the next packet begins with an empty dictionary.

use crate::tap::Tap;
use invivo_proto::ids::RegionId;
use invivo_proto::packet::{Header, PAYLOAD_BYTES, VERSION};
use invivo_proto::record::{Call, Decoded, Decoder, MAX_PARTS, OpenRegion, Part, RecordError};
use std::collections::BTreeMap;

/// Where records go.
pub trait Sink {
    /// What follows was recorded in this epoch.
    fn epoch(&mut self, epoch: u32);
    /// What follows is of this occupant of the location.
    fn occupant(&mut self, occupant: u32);
    /// A call and its parts.
    fn call(&mut self, call: &Call, parts: &[Part]);
    /// More parts of the call before, whose begin and end are given.
    fn more(&mut self, begin: u64, end: u64, parts: &[Part]);
    /// Packets are missing before what follows.
    fn lost(&mut self) {}
    /// A region of the program was entered.
    fn enter(&mut self, _time: u64, _region: RegionId) {}
    /// The region that was entered last was left.
    fn leave(&mut self, _time: u64) {}
    /// These regions are open, and this was not recorded so far.
    fn open(&mut self, _time: u64, _open: &[OpenRegion]) {}
}

/// What shared memory shows of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The packet's number.
    pub sequence: u64,
    /// As in its header.
    pub first_time: u64,
    /// As in its header.
    pub next_request: u64,
    /// As in its header.
    pub epoch: u32,
    /// Calls in all of it, as far as it was committed.
    pub records: u32,
    /// The bytes behind those that were taken before: whole records.
    pub bytes: &'a [u8],
    /// Nothing will be added to the packet.
    pub closed: bool,
}

/// What was taken and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that came over MPI, and were not there already.
    pub packets_mpi: u64,
    /// Pieces taken from shared memory.
    pub packets_shm: u64,
    /// Packets of which some part was malformed.
    pub packets_refused: u64,
    /// Payload bytes taken, each once.
    pub payload_bytes: u64,
    /// Calls given on.
    pub calls: u64,
    /// Calls of malformed packets that could not be read.
    pub unreadable: u64,
    /// Packets that never came.
    pub lost: u64,
}

/// A packet that waits for its predecessors.
struct Waiting {
    header: Header,
    payload: Box<[u8]>,
}

/// The packet that is being taken.
#[derive(Default)]
struct Current {
    at: usize,
    /// Calls given on or counted as unreadable.
    accounted: u64,
    decoder: Option<Decoder>,
    spoiled: bool,
}

/// With what the reading of a packet begins.
#[derive(Clone, Copy)]
struct Begin {
    version: u16,
    first_time: u64,
    next_request: u64,
}

/// The records of one location on their way in.
pub struct Intake {
    next: u64,
    current: Current,
    waiting: BTreeMap<u64, Waiting>,
    waiting_max: usize,
    counts: Counts,
    last: Option<(u64, u64)>,
    /// Room for those of one record.
    parts: Vec<Part>,
    open: Vec<OpenRegion>,
    /// Where all that is taken is written as well.
    tap: Option<Tap>,
}

impl Intake {
    /// For at most so many packets that can have overtaken one which is still on its way.
    pub fn new(waiting_max: usize, tap: Option<Tap>) -> Intake {
        Intake {
            next: 0,
            current: Current::default(),
            waiting: BTreeMap::new(),
            waiting_max,
            counts: Counts::default(),
            last: None,
            parts: vec![Part::default(); MAX_PARTS],
            open: Vec::new(),
            tap,
        }
    }

    /// The number of the packet wanted next, and how many of its bytes are taken.
    pub fn wants(&self) -> (u64, usize) {
        (self.next, self.current.at)
    }

    /// What was taken so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// When the call taken last began, in ticks.
    pub fn last_begin(&self) -> Option<u64> {
        self.last.map(|(begin, _)| begin)
    }

    /// When the call taken last ended, in ticks.
    pub fn last_end(&self) -> Option<u64> {
        self.last.map(|(_, end)| end)
    }

    /// When the call taken last from the present packet ended, in ticks.
    pub fn taken_until(&self) -> Option<u64> {
        self.current.decoder.as_ref().map(Decoder::time)
    }

    /// Whether packets wait for one that is not here.
    pub fn has_gap(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Calls that are here or in `elsewhere` (packets in shared memory: number and calls) and not
    /// taken.
    pub fn in_flight(&self, elsewhere: impl Iterator<Item = (u64, u32)>) -> u64 {
        let behind = |records: u32, sequence: u64| {
            let taken = if sequence == self.next {
                self.current.accounted
            } else {
                0
            };
            u64::from(records).saturating_sub(taken)
        };
        let there: u64 = elsewhere
            .filter(|(sequence, _)| *sequence >= self.next && !self.waiting.contains_key(sequence))
            .map(|(sequence, records)| behind(records, sequence))
            .sum();
        there
            + self
                .waiting
                .iter()
                .map(|(s, w)| behind(w.header.records, *s))
                .sum::<u64>()
    }

    /// Whether some of the packets below `opened` are neither taken, nor here, nor in `elsewhere`:
    /// between the two processes, or lost.
    pub fn is_between(&self, opened: u64, elsewhere: impl Iterator<Item = u64>) -> bool {
        let known = elsewhere
            .filter(|&sequence| sequence >= self.next && !self.waiting.contains_key(&sequence));
        opened.saturating_sub(self.next) > (known.count() + self.waiting.len()) as u64
    }

    /// Takes a packet that came over MPI, or keeps it until its predecessors are taken.
    ///
    /// # Errors
    /// The first malformed record of those that could be read now.
    pub fn packet(
        &mut self,
        header: &Header,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), RecordError> {
        // Taken from shared memory already, or received twice.
        if header.sequence < self.next || self.waiting.contains_key(&header.sequence) {
            return Ok(());
        }
        self.counts.packets_mpi += 1;
        if header.sequence > self.next {
            self.waiting.insert(
                header.sequence,
                Waiting {
                    header: *header,
                    payload: payload.into(),
                },
            );
            if self.waiting.len() <= self.waiting_max {
                return Ok(());
            }
            // Its sender cannot have that many on their way: what is missing was lost.
            return self.give_up(sink);
        }
        // The first error is reported, but what waited is taken all the same.
        let first = self.whole(header, payload, sink);
        first.and(self.follow(sink))
    }

    /// Takes what shared memory shows of the packet wanted next. Other packets are not looked at.
    ///
    /// # Errors
    /// The first malformed record.
    pub fn piece(&mut self, piece: &Piece<'_>, sink: &mut impl Sink) -> Result<(), RecordError> {
        if piece.sequence != self.next {
            return Ok(());
        }
        // A closed packet without new bytes still has to be closed below; it is no piece.
        if !piece.bytes.is_empty() {
            self.counts.packets_shm += 1;
        }
        sink.epoch(piece.epoch);
        let begin = Begin {
            // A rank and its place are of one release.
            version: VERSION,
            first_time: piece.first_time,
            next_request: piece.next_request,
        };
        let read = self.read(begin, piece.bytes, sink);
        if self.current.spoiled {
            self.account_unreadable(piece.records);
        }
        if !piece.closed {
            return read;
        }
        self.close(piece.records);
        read.and(self.follow(sink))
    }

    /// The packets before this one never come: goes on with it, if it is not taken already.
    pub fn skip_to(&mut self, sequence: u64) {
        if sequence <= self.next {
            return;
        }
        self.counts.lost += sequence - self.next;
        if let Some(tap) = &mut self.tap {
            tap.close(self.next);
        }
        self.next = sequence;
        self.current = Current::default();
    }

    /// The packet wanted next never comes: goes on with the one that waits first, or with the next
    /// number.
    ///
    /// # Errors
    /// The first malformed record of what waited.
    pub fn give_up(&mut self, sink: &mut impl Sink) -> Result<(), RecordError> {
        // The lost packet's calls are found later as the gap in the ledger; here only packets
        // count.
        let next = self.waiting.keys().next().copied().unwrap_or(self.next + 1);
        self.counts.lost += next - self.next;
        if let Some(tap) = &mut self.tap {
            tap.close(self.next);
        }
        self.next = next;
        self.current = Current::default();
        sink.lost();
        self.follow(sink)
    }

    /// Takes the packets that waited for the one just closed.
    fn follow(&mut self, sink: &mut impl Sink) -> Result<(), RecordError> {
        let mut result = Ok(());
        while let Some(Waiting { header, payload }) = self.waiting.remove(&self.next) {
            result = result.and(self.whole(&header, &payload, sink));
        }
        result
    }

    /// Takes what is left of the packet wanted next, and closes it.
    fn whole(
        &mut self,
        header: &Header,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), RecordError> {
        // A packet shorter than what shared memory showed of it holds nothing new.
        let rest = payload.get(self.current.at..).unwrap_or_default();
        sink.epoch(header.epoch);
        let begin = Begin {
            version: header.version,
            first_time: header.first_time,
            next_request: header.next_request,
        };
        let read = self.read(begin, rest, sink);
        self.close(header.records);
        read
    }

    /// Calls that the packet has by its own account and that were not read are unreadable.
    fn account_unreadable(&mut self, records: u32) {
        let missing = u64::from(records).saturating_sub(self.current.accounted);
        self.current.accounted += missing;
        self.counts.unreadable += missing;
    }

    fn close(&mut self, records: u32) {
        self.account_unreadable(records);
        if let Some(tap) = &mut self.tap {
            tap.close(self.next);
        }
        self.next += 1;
        self.current = Current::default();
    }

    /// Reads records that follow those taken before.
    fn read(
        &mut self,
        begin: Begin,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), RecordError> {
        if self.current.spoiled || bytes.is_empty() {
            return Ok(());
        }
        debug_assert!(self.current.at + bytes.len() <= PAYLOAD_BYTES);
        let Begin {
            version,
            first_time,
            next_request,
        } = begin;

        // One decoder for all pieces of a packet: its dictionary and its time go on from piece to
        // piece.
        let decoder = self
            .current
            .decoder
            .get_or_insert_with(|| Decoder::of_version(version, first_time, next_request));
        let calls_before = self.counts.calls;
        let (mut at, mut taken) = (0, 0);
        let mut result = Ok(());
        while taken < bytes.len() {
            match record(decoder, bytes, &mut at, &mut self.parts, &mut self.open) {
                Ok(Decoded::Call((), parts)) => {
                    let call = decoder.call();
                    sink.call(call, &self.parts[..parts]);
                    self.last = Some((call.end.saturating_sub(call.duration), call.end));
                    self.current.accounted += 1;
                    self.counts.calls += 1;
                }
                Ok(Decoded::Occupant(occupant)) => sink.occupant(occupant),
                Ok(Decoded::Enter { time, region }) => sink.enter(time, region),
                Ok(Decoded::Leave { time }) => sink.leave(time),
                Ok(Decoded::Open { time, .. }) => sink.open(time, &self.open),
                Ok(Decoded::Continuation { end, parts }) => {
                    // Of a call that was lost only the end is known.
                    let begin = self
                        .last
                        .filter(|last| last.1 == end)
                        .map_or(end, |last| last.0);
                    sink.more(begin, end, &self.parts[..parts]);
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            // Behind the whole record: a record that fails half way is not counted as taken.
            taken = at;
        }
        if let Some(tap) = &mut self.tap {
            let calls = self.counts.calls - calls_before;
            tap.add(
                first_time,
                next_request,
                &bytes[..taken],
                calls,
                decoder.time(),
            );
        }
        // Also behind an error: what is left of the packet is never offered again.
        let before = self.current.at;
        self.current.at += bytes.len();
        self.counts.payload_bytes += taken as u64;
        result.map_err(|error| {
            self.current.spoiled = true;
            self.counts.packets_refused += 1;
            RecordError {
                offset: before + error.offset,
                ..error
            }
        })
    }
}

/// Reads one record with its parts, or with the regions that it says to be open.
#[inline(always)]
fn record(
    decoder: &mut Decoder,
    bytes: &[u8],
    at: &mut usize,
    parts: &mut [Part],
    open: &mut Vec<OpenRegion>,
) -> Result<Decoded<()>, RecordError> {
    let decoded = decoder.read(bytes, at)?;
    for part in &mut parts[..decoded.parts()] {
        decoder.read_part(bytes, at, part)?;
    }
    if let Decoded::Open { count, .. } = decoded {
        open.clear();
        for _ in 0..count {
            open.push(decoder.open_region(bytes, at)?);
        }
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests;
