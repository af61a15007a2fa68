//! Ways that messages of a rank have gone: the queue of its channel is found without asking who the
//! peer is in the application, nor for the channel itself. Most programs go few of them, over and
//! over.

use super::marks::Side;
use super::posted::Pattern;
use super::waiting::QueueNumber;
use alloc::boxed::Box;
use invivo_proto::ids::CommLocal;

/// Slots for ways of a rank: more than the two directions of thirty neighbours. A hash of what
/// names a way says which; of two that share one the newer stays, and the other is looked up.
const KEPT: usize = 64;

/// One that was gone.
#[derive(Clone, Copy, Debug)]
struct Way {
    with: Pattern,
    side: Side,
    queue: QueueNumber,
}

/// The newest ways of one rank.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    kept: Option<Box<[Way; KEPT]>>,
    /// What [`super::waiting::Waiting::renewed`] was, and how often definitions had come.
    known: (u64, u64),
}

/// No way: it leads nowhere.
const NONE: Way = Way {
    with: Pattern {
        comm: CommLocal::NONE,
        peer: 0,
        tag: 0,
    },
    side: Side::Send,
    queue: QueueNumber::MAX,
};

impl Ways {
    /// The queue, where this way was gone since what is known changed last.
    #[inline]
    pub fn find(&self, with: &Pattern, side: Side, known: (u64, u64)) -> Option<QueueNumber> {
        let way = &self.kept.as_ref()?[slot(with, side)];
        let is_it = self.known == known && way.with == *with && way.side == side;
        (is_it && way.queue != NONE.queue).then_some(way.queue)
    }

    /// It leads to this queue.
    pub fn keep(&mut self, with: &Pattern, side: Side, known: (u64, u64), queue: QueueNumber) {
        let kept = self.kept.get_or_insert_with(|| Box::new([NONE; KEPT]));
        if self.known != known {
            self.known = known;
            kept.fill(NONE);
        }
        kept[slot(with, side)] = Way {
            with: *with,
            side,
            queue,
        };
    }
}

/// Where a way is kept.
#[inline]
fn slot(with: &Pattern, side: Side) -> usize {
    let comm = with.comm.0.rotate_left(20);
    let peer = with.peer.cast_unsigned() << 1 | u32::from(side == Side::Send);
    let mixed = comm ^ peer ^ with.tag.cast_unsigned().rotate_left(10);
    // The high bits of a product depend on all of its factors.
    (mixed.wrapping_mul(0x9e37_79b9) >> 26) as usize % KEPT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(comm: u32, peer: i32, tag: i32) -> Pattern {
        let comm = CommLocal(comm);
        Pattern { comm, peer, tag }
    }

    #[test]
    fn a_way_is_found_until_what_is_known_changes() {
        let (mut ways, one) = (Ways::default(), with(0, 3, 7));
        assert_eq!(ways.find(&one, Side::Send, (0, 0)), None);
        ways.keep(&one, Side::Send, (0, 0), 12);
        assert_eq!(ways.find(&one, Side::Send, (0, 0)), Some(12));
        for (other, side) in [
            (one, Side::Receive),
            (with(1, 3, 7), Side::Send),
            (with(0, 4, 7), Side::Send),
            (with(0, 3, 8), Side::Send),
        ] {
            assert_eq!(ways.find(&other, side, (0, 0)), None, "{other:?}");
        }
        for known in [(1, 0), (0, 1)] {
            assert_eq!(ways.find(&one, Side::Send, known), None);
        }
        // What was kept before is gone for good.
        ways.keep(&with(0, 4, 7), Side::Send, (0, 1), 13);
        assert_eq!(ways.find(&one, Side::Send, (0, 1)), None);
        assert_eq!(ways.find(&with(0, 4, 7), Side::Send, (0, 1)), Some(13));
    }

    #[test]
    fn no_way_is_where_none_was_kept() {
        let mut ways = Ways::default();
        ways.keep(&with(0, 3, 7), Side::Send, (0, 0), 12);
        assert_eq!(ways.find(&NONE.with, NONE.side, (0, 0)), None);
    }

    #[test]
    fn most_ways_to_thirty_neighbours_are_kept() {
        let mut ways = Ways::default();
        let all = (0..30).flat_map(|peer| [Side::Send, Side::Receive].map(|side| (peer, side)));
        for (number, (peer, side)) in (0..).zip(all.clone()) {
            ways.keep(&with(0, peer, 1), side, (0, 0), number);
        }
        let found = (0..).zip(all).filter(|(number, (peer, side))| {
            ways.find(&with(0, *peer, 1), *side, (0, 0)) == Some(*number)
        });
        let found = found.count();
        assert!(found >= 30, "{found} of 60");
    }
}
