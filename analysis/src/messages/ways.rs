//! Ways that messages of a rank have gone: the queue of its channel is found without asking who the
//! peer is in the application, nor for the channel itself. Most programs go few of them, over and
//! over.

use super::marks::Side;
use super::posted::Pattern;
use super::waiting::QueueNumber;
use alloc::boxed::Box;
use invivo_proto::ids::CommLocal;

/// Ways that are kept of a rank: both directions of thirty neighbours. They are found by a hash of
/// what names them, and the newest of one place stays.
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
        if self.known != known {
            (self.kept, self.known) = (None, known);
        }
        let kept = self.kept.get_or_insert_with(|| Box::new([NONE; KEPT]));
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
