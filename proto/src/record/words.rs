//! Facts as four words: how the shim builds, keeps and encodes them.
//!
//! A call's facts go from registers into its record. Fields of their own would be stored one by one
//! and loaded two at a time, and a processor cannot hand on to such a load what still waits to be
//! stored: it stalls for longer than the rest of the encoding takes.

use super::{Facts, REGIONS_END, RecordKind};
use crate::ids::{CommLocal, RegionId, SiteId};

/// The facts of a call or of one of its parts, see [`Facts`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The kind in the lowest four bits, the region in the next twelve, the communicator in the
    /// next 32, the call site in the highest 16: a record whose facts are known compares one word
    /// for all four.
    pub head: u64,
    /// The tag in the lower half, the peer in the upper one.
    pub message: u64,
    /// Bytes that left this rank.
    pub bytes_out: u64,
    /// Bytes that came to this rank.
    pub bytes_in: u64,
}

/// Where the region begins in the head, where the communicator, where the call site.
const REGION_SHIFT: u32 = 4;
const COMM_SHIFT: u32 = 16;
const SITE_SHIFT: u32 = 48;
const KIND: u64 = 0xf;
const REGION: u64 = (REGIONS_END - 1) as u64;

impl Words {
    /// The first word, of a call whose site is not noted.
    #[inline(always)]
    pub const fn head(kind: RecordKind, region: RegionId, comm: CommLocal) -> u64 {
        kind as u64 | (region.0 as u64 & REGION) << REGION_SHIFT | (comm.0 as u64) << COMM_SHIFT
    }

    /// What a call site is in the first word.
    #[inline(always)]
    pub const fn of_site(site: SiteId) -> u64 {
        (site.0 as u64) << SITE_SHIFT
    }

    /// The second word.
    #[inline(always)]
    pub const fn message(peer: i32, tag: i32) -> u64 {
        (peer as u32 as u64) << 32 | tag as u32 as u64
    }

    /// The number of the kind.
    #[inline(always)]
    pub const fn kind(&self) -> u8 {
        (self.head & KIND) as u8
    }

    /// Whether they are of this kind.
    #[inline(always)]
    pub const fn is(&self, kind: RecordKind) -> bool {
        self.kind() == kind as u8
    }

    /// Makes them facts of another kind.
    #[inline(always)]
    pub const fn set_kind(&mut self, kind: RecordKind) {
        self.head = self.head & !KIND | kind as u64;
    }

    /// The function.
    #[inline(always)]
    pub const fn region(&self) -> RegionId {
        RegionId((self.head >> REGION_SHIFT & REGION) as u16)
    }

    /// Makes them facts of another function.
    #[inline(always)]
    pub const fn set_region(&mut self, region: RegionId) {
        let region = (region.0 as u64 & REGION) << REGION_SHIFT;
        self.head = self.head & !(REGION << REGION_SHIFT) | region;
    }

    /// The communicator, as the rank numbers it.
    #[inline(always)]
    pub const fn comm(&self) -> CommLocal {
        CommLocal((self.head >> COMM_SHIFT) as u32)
    }

    /// The call site.
    #[inline(always)]
    pub const fn site(&self) -> SiteId {
        SiteId((self.head >> SITE_SHIFT) as u16)
    }

    /// Makes them facts of a call at another site, given as [`Words::of_site`] has it.
    #[inline(always)]
    pub const fn set_site(&mut self, site: u64) {
        self.head = self.head & !(u64::MAX << SITE_SHIFT) | site;
    }

    /// The peer or the root.
    #[inline(always)]
    pub const fn peer(&self) -> i32 {
        (self.message >> 32) as i32
    }

    /// The tag.
    #[inline(always)]
    pub const fn tag(&self) -> i32 {
        self.message as i32
    }

    /// See [`RecordKind::posts`].
    #[inline(always)]
    pub const fn posts(&self) -> bool {
        self.is(RecordKind::PostSend)
            || self.is(RecordKind::PostRecv)
            || self.is(RecordKind::PostCollective)
    }

    /// See [`RecordKind::completes`].
    #[inline(always)]
    pub const fn completes(&self) -> bool {
        self.kind() >= RecordKind::CompletedSend as u8
    }

    /// See [`RecordKind::has_ordinal`].
    #[inline(always)]
    pub const fn has_ordinal(&self) -> bool {
        self.is(RecordKind::Collective) || self.is(RecordKind::PostCollective)
    }

    /// As fields; nothing where the kind is none.
    pub fn facts(&self) -> Option<Facts> {
        Some(Facts {
            kind: *RecordKind::ALL.get(usize::from(self.kind()))?,
            region: self.region(),
            comm: self.comm(),
            tag: self.tag(),
            peer: self.peer(),
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
            site: self.site(),
        })
    }

    /// The dictionary slot of these facts.
    #[inline(always)]
    pub(super) const fn slot(&self) -> usize {
        self.slot_by(self.head)
    }

    #[inline(always)]
    const fn slot_by(&self, head: u64) -> usize {
        let mixed = (head ^ self.bytes_in.rotate_left(17))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(self.message ^ self.bytes_out.rotate_left(43))
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed >> 58) as usize
    }
}

impl Facts {
    /// The dictionary slot of these facts.
    #[inline(always)]
    pub(super) fn slot(&self) -> usize {
        Words::from(self).slot()
    }

    /// The same in packets without call sites, whose head was another one: a whole byte of the
    /// kind, two of the region, four of the communicator.
    pub(super) fn slot_without_sites(&self) -> usize {
        let head = self.kind as u64 | u64::from(self.region.0) << 8 | u64::from(self.comm.0) << 24;
        Words::from(self).slot_by(head)
    }
}

impl From<&Facts> for Words {
    #[inline(always)]
    fn from(facts: &Facts) -> Words {
        Words {
            head: Words::head(facts.kind, facts.region, facts.comm) | Words::of_site(facts.site),
            message: Words::message(facts.peer, facts.tag),
            bytes_out: facts.bytes_out,
            bytes_in: facts.bytes_in,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_say_what_the_fields_say(
            kind in prop::sample::select(&RecordKind::ALL[..]),
            (region, comm, site) in (0..REGIONS_END, any::<u32>(), any::<u16>()),
            (peer, tag) in any::<(i32, i32)>(),
            (bytes_out, bytes_in) in any::<(u64, u64)>(),
        ) {
            let (region, comm) = (RegionId(region), CommLocal(comm));
            let site = SiteId(site);
            let facts = Facts { kind, region, comm, tag, peer, bytes_out, bytes_in, site };
            let words = Words::from(&facts);
            prop_assert_eq!(words.facts(), Some(facts));
            prop_assert_eq!(words.posts(), kind.posts());
            prop_assert_eq!(words.completes(), kind.completes());
            prop_assert_eq!(words.has_ordinal(), kind.has_ordinal());
            let mut changed = words;
            changed.set_kind(RecordKind::CompletedNothing);
            let other = RegionId(region.0 ^ (REGIONS_END - 1));
            changed.set_region(other);
            changed.set_site(Words::of_site(SiteId(!site.0)));
            let kind = RecordKind::CompletedNothing;
            let expected = Facts { kind, region: other, site: SiteId(!site.0), ..facts };
            prop_assert_eq!(changed.facts(), Some(expected));
        }
    }

    #[test]
    fn a_number_that_is_no_kind_makes_no_facts() {
        let words = Words {
            head: 15,
            ..Words::default()
        };
        assert_eq!(words.facts(), None);
    }
}
