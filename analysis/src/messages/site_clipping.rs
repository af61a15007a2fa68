//! A call site, and whether the call counts, in two bytes: endpoints are many, and fill whole cache
//! lines without a byte more.

use invivo_proto::control::peer::Clipping;
use invivo_proto::definition::SITES_MAX;
use invivo_proto::ids::SiteId;

/// Bits of a site; the clipping is above them.
const SITE_BITS: u32 = 14;
/// Sites that their rank had no number for.
const OTHERS: u16 = SITES_MAX + 1;
const _: () = assert!(OTHERS < 1 << SITE_BITS);

/// Both of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteClipping(u16);

impl SiteClipping {
    /// A number that no rank gives is one of the other sites.
    #[inline(always)]
    pub fn new(site: SiteId, clipping: Clipping) -> SiteClipping {
        let clipping = match clipping {
            Clipping::Whole => 0,
            Clipping::Clipped => 1,
            Clipping::Outside => 2,
        };
        SiteClipping(site.0.min(OTHERS) | clipping << SITE_BITS)
    }

    /// Where the call is made.
    pub fn site(self) -> SiteId {
        match self.0 & ((1 << SITE_BITS) - 1) {
            OTHERS => SiteId::OTHERS,
            site => SiteId(site),
        }
    }

    /// Whether it counts.
    #[inline(always)]
    pub fn clipping(self) -> Clipping {
        match self.0 >> SITE_BITS {
            0 => Clipping::Whole,
            1 => Clipping::Clipped,
            _ => Clipping::Outside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_come_back_and_strange_sites_are_others() {
        for clipping in [Clipping::Whole, Clipping::Clipped, Clipping::Outside] {
            for site in 0..=u16::MAX {
                let both = SiteClipping::new(SiteId(site), clipping);
                let expected = if site > SITES_MAX { u16::MAX } else { site };
                assert_eq!((both.site().0, both.clipping()), (expected, clipping));
            }
        }
    }
}
