//! What two bytes say of an endpoint: endpoints are many, and fill whole cache lines without a byte
//! more.

use invivo_proto::control::peer::Clipping;
use invivo_proto::definition::SITES_MAX;
use invivo_proto::ids::SiteId;

/// Bits of a site; the clipping is above them, and above that the side.
const SITE_BITS: u32 = 13;
/// Sites that their rank had no number for.
const OTHERS: u16 = SITES_MAX + 1;
const _: () = assert!(OTHERS < 1 << SITE_BITS);
const SEND: u16 = 1 << 15;

/// The side of a message that an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Send,
    Receive,
}

/// Where its call is made, whether it counts, and of which side it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks(u16);

impl Marks {
    /// A number of a site that no rank gives is one of the other sites.
    #[inline(always)]
    pub fn new(side: Side, site: SiteId, clipping: Clipping) -> Marks {
        let clipping = match clipping {
            Clipping::Whole => 0,
            Clipping::Clipped => 1,
            Clipping::Outside => 2,
        };
        let side = match side {
            Side::Send => SEND,
            Side::Receive => 0,
        };
        Marks(site.0.min(OTHERS) | clipping << SITE_BITS | side)
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
        match (self.0 & !SEND) >> SITE_BITS {
            0 => Clipping::Whole,
            1 => Clipping::Clipped,
            _ => Clipping::Outside,
        }
    }

    /// Which side of a message it is.
    #[inline(always)]
    pub fn side(self) -> Side {
        match self.0 & SEND {
            0 => Side::Receive,
            _ => Side::Send,
        }
    }

    /// The same, and it does not count.
    pub fn outside(self) -> Marks {
        Marks::new(self.side(), self.site(), Clipping::Outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_come_back_and_strange_sites_are_others() {
        for clipping in [Clipping::Whole, Clipping::Clipped, Clipping::Outside] {
            for (side, site) in [Side::Send, Side::Receive]
                .into_iter()
                .flat_map(|side| (0..=u16::MAX).map(move |site| (side, site)))
            {
                let marks = Marks::new(side, SiteId(site), clipping);
                let expected = if site > SITES_MAX { u16::MAX } else { site };
                assert_eq!((marks.site().0, marks.side()), (expected, side));
                assert_eq!(marks.clipping(), clipping);
                assert_eq!(marks.outside().clipping(), Clipping::Outside);
            }
        }
    }
}
