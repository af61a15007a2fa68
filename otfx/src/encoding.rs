//! The dictionary and the numbers of the bin format, as writer and reader share them.
//! [`crate::BinReader`]'s module draws the format.

use crate::event::{EventClass, VALUES_MAX};
use invivo_proto::ids::{CommLocal, RegionId, SiteId};
use invivo_proto::record::{Facts, RecordKind};

/// Slots of the dictionary. A slot's number is a whole token; as many as the other tokens leave: 32
/// bytes each, they stay in the first cache level. Even, as slots have neighbours.
pub(crate) const SLOTS: usize = 240;

/// Token: facts follow and take their slot.
pub(crate) const LITERAL: u8 = 0xf0;
/// Token: more parts of the call before.
pub(crate) const CONTINUATION: u8 = 0xf1;
/// Token: the highest bytes of the next record's two numbers.
pub(crate) const WIDE: u8 = 0xf2;
/// Token: a record that only its maker understands.
pub(crate) const OPAQUE: u8 = 0xf3;
/// Token: the records behind it belong to this iteration.
pub(crate) const ITERATION: u8 = 0xf4;
/// Token: the records behind it are this occupant's.
pub(crate) const OCCUPANT: u8 = 0xf5;

/// Second byte: the first number counts to the end, not to the begin.
pub(crate) const OVERLAP: u8 = 0x08;
/// Second byte: the third is there.
pub(crate) const EXTENDED: u8 = 0x80;
/// Third byte: the event is clipped.
pub(crate) const CLIPPED: u8 = 0x80;
/// Third byte: the request's number does not follow on.
pub(crate) const GAP: u8 = 0x40;
/// Third byte: number of parts; the largest says that it follows.
pub(crate) const PARTS_BELOW: usize = 0x3f;

/// An upper bound of any record's bytes, its parts and values apart: marks 11 and 6, wide 3, token
/// 1, literal 45, second and third byte 2, times 7 + 8 (both are written as eight bytes), ordinal,
/// request and parts 10 each.
pub(crate) const HEAD_MAX: usize = 128;
/// An upper bound of a part's bytes: literal 46, lengths 1, two numbers of 8.
pub(crate) const PART_MAX: usize = 64;
/// An upper bound of the bytes of all values: one for each two, and the values.
pub(crate) const VALUES_BYTES_MAX: usize = VALUES_MAX / 2 + VALUES_MAX * 8 + 8;

/// Kinds beyond those of [`RecordKind`].
pub(crate) const REGION: u8 = 16;
pub(crate) const SAMPLE: u8 = 17;
pub(crate) const METRIC: u8 = 18;

/// The facts of a record, as the dictionary holds them: kind with [`Key::FILLED`], region (or
/// number of values), communicator (or context, or metric class), depth; peer and tag; bytes out;
/// bytes in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Key(pub [u64; 4]);

impl Key {
    /// An empty slot is zero, which no key is.
    const FILLED: u64 = 0x80;

    #[inline(always)]
    pub fn new(kind: u8, region: u16, comm: u32, depth: u8) -> Key {
        let head = u64::from(kind) | Key::FILLED | u64::from(region) << 8;
        Key([
            head | u64::from(comm) << 24 | u64::from(depth) << 56,
            0,
            0,
            0,
        ])
    }

    #[inline(always)]
    pub fn of(facts: &Facts, depth: u8) -> Key {
        let mut key = Key::new(facts.kind as u8, facts.region.0, facts.comm.0, depth);
        key.0[1] = u64::from(facts.peer as u32) << 32 | u64::from(facts.tag as u32);
        key.0[2] = facts.bytes_out;
        key.0[3] = facts.bytes_in;
        key
    }

    /// Whether both are the same. Word by word: a key is made in registers, and comparing it
    /// through memory in one piece would wait for its four words to get there.
    #[inline(always)]
    pub fn is(&self, other: &Key) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        (a ^ e) | (b ^ f) | (c ^ g) | (d ^ h) == 0
    }

    pub fn is_empty(&self) -> bool {
        self.0[0] == 0
    }

    pub fn kind(&self) -> u8 {
        self.0[0] as u8 & 0x7f
    }

    pub fn region(&self) -> u16 {
        (self.0[0] >> 8) as u16
    }

    pub fn comm(&self) -> u32 {
        (self.0[0] >> 24) as u32
    }

    pub fn depth(&self) -> u8 {
        (self.0[0] >> 56) as u8
    }

    pub fn peer(&self) -> i32 {
        (self.0[1] >> 32) as i32
    }

    pub fn tag(&self) -> i32 {
        self.0[1] as i32
    }

    pub fn facts(&self, kind: RecordKind) -> Facts {
        Facts {
            kind,
            region: RegionId(self.region()),
            comm: CommLocal(self.comm()),
            peer: self.peer(),
            tag: self.tag(),
            bytes_out: self.0[2],
            bytes_in: self.0[3],
            // Buffers do not keep where calls were made.
            site: SiteId::NONE,
        }
    }

    /// Its own slot: below [`SLOTS`].
    #[inline(always)]
    pub fn slot(&self) -> u8 {
        let [head, ends, out, back] = self.0;
        // A multiplicative hash; the high half is scaled to the number of slots without a division.
        let mixed = (head ^ back.rotate_left(17))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(ends ^ out.rotate_left(43))
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        (((mixed >> 32) * SLOTS as u64) >> 32) as u8
    }
}

/// The kind with this number.
pub(crate) fn kind(number: u8) -> Option<RecordKind> {
    const ALL: [RecordKind; 11] = [
        RecordKind::Plain,
        RecordKind::Send,
        RecordKind::Recv,
        RecordKind::PostSend,
        RecordKind::PostRecv,
        RecordKind::Collective,
        RecordKind::PostCollective,
        RecordKind::CompletedSend,
        RecordKind::CompletedRecv,
        RecordKind::CompletedCollective,
        RecordKind::CompletedNothing,
    ];
    ALL.get(usize::from(number)).copied()
}

/// The class of records of a kind; none of completions, which are parts, and of unknown ones.
pub(crate) fn class(number: u8) -> Option<EventClass> {
    match number {
        REGION => Some(EventClass::Region),
        SAMPLE => Some(EventClass::Sample),
        METRIC => Some(EventClass::Metric),
        _ => kind(number)
            .filter(|kind| !kind.completes())
            .map(|_| EventClass::Call),
    }
}

/// What stays the same from record to record, and takes a mark where it changes. All is 0 at a
/// bin's begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The iteration that the record ends in.
    pub iteration: u64,
    /// Which of the location's threads, one after the other, it is of.
    pub occupant: u32,
}

/// The state that both sides keep alike.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// The end of the record before.
    pub time: u64,
    /// The number of the next posted request, if it follows on.
    pub next_request: u64,
    pub last_completed: u64,
    /// Of the collective before.
    pub ordinal: u64,
    /// Of the sample before.
    pub sample: u64,
    pub marks: Marks,
    /// Of the sample or metric before.
    pub values: [u64; VALUES_MAX],
    /// The dictionary; what lies behind its slots spares checks.
    keys: [Key; 256],
}

impl Context {
    pub fn new() -> Self {
        Context {
            time: 0,
            next_request: 0,
            last_completed: 0,
            ordinal: 0,
            sample: 0,
            marks: Marks::default(),
            values: [0; VALUES_MAX],
            keys: [Key::default(); 256],
        }
    }

    /// Begins a bin, in place.
    pub fn begin(&mut self, base_time: u64, next_request: u64) {
        self.time = base_time;
        self.next_request = next_request;
        self.last_completed = next_request;
        self.ordinal = 0;
        self.sample = 0;
        self.marks = Marks::default();
        self.values.fill(0);
        // Every bin starts with an empty dictionary, so that it decodes alone.
        self.keys[..SLOTS].fill(Key::default());
    }

    /// What a slot holds.
    #[inline(always)]
    pub fn key(&self, slot: u8) -> &Key {
        &self.keys[usize::from(slot)]
    }

    /// The slot in which a key is, if it is in the dictionary: its own one, or the neighbour of
    /// that.
    #[inline(always)]
    pub fn find(&self, key: &Key) -> Option<u8> {
        let own = key.slot();
        if self.key(own).is(key) {
            return Some(own);
        }
        // Slots are paired by their lowest bit: two entries, no probing.
        let beside = own ^ 1;
        self.key(beside).is(key).then_some(beside)
    }

    /// Takes a key into its own slot; what was there goes to the neighbour. So two keys of one slot
    /// stay both, and what has not come for long goes first.
    #[inline(always)]
    pub fn learn(&mut self, key: &Key) {
        let own = key.slot();
        let before = *self.key(own);
        if !before.is_empty() {
            self.keys[usize::from(own ^ 1)] = before;
        }
        self.keys[usize::from(own)] = *key;
    }

    #[inline(always)]
    pub fn take_request(&mut self) -> u64 {
        let request = self.next_request;
        self.next_request = request.wrapping_add(1);
        request
    }
}

/// Bytes of a number without its leading zeros: none of 0.
#[inline(always)]
pub(crate) fn bytes_of(number: u64) -> usize {
    // The lowest bit of the number turned round lies in its highest byte: without a branch, and by
    // an instruction that is fast on every processor (counting leading zeros is not, unless one is
    // asked for that older ones do not have).
    let zeros = (number.swap_bytes() | 1 << 63).trailing_zeros() as usize >> 3;
    8 - zeros - usize::from(number == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_has_the_bytes_that_are_not_leading_zeros(number: u64, shift in 0u32..65) {
            let number = number.checked_shr(shift).unwrap_or(0);
            let naive = number.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).count();
            prop_assert_eq!(bytes_of(number), naive);
        }
    }
}
