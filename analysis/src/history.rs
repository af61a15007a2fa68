//! Keeps what was counted in pieces of the run, so that any interval can be asked for later.
//!
//! The last minute is kept in pieces of a second, whose edges are the same wherever job time is
//! known. What is older is kept in pieces that become twice as wide whenever the run outgrows them,
//! so that all of it is resolved evenly, to a sixty-fourth of its length or finer. The answer to an
//! interval is the sum of all pieces that it touches, and says where these begin and end. Nothing
//! is subtracted: the longest call of an interval is known as well as the sum of all.
//!
//! Where pieces have many rows, there are fewer of them, two thirds of which are of the last time:
//! memory does not grow with the run.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use invivo_proto::control::profile::Past;

/// Width of a piece, in ns: a second. Wider ones are this times a power of two.
pub const PIECE_NS: u64 = 1 << 30;
/// Pieces of this width that are kept.
pub const RECENT: usize = 64;
/// Pieces of the time before, at most.
pub const EARLIER: u64 = 128;

/// What is counted. Sums of pieces do not depend on how these are put together.
pub trait Counted: Default {
    /// Adds what was counted in other pieces.
    fn add(&mut self, from: &Self);
    /// How much memory it takes, in rows.
    fn rows(&self) -> usize;
}

/// A piece of the run. Times in job time, ns.
#[derive(Clone, Debug)]
struct Piece<T> {
    from_ns: u64,
    to_ns: u64,
    counted: T,
}

/// The pieces of a run so far.
#[derive(Clone, Debug)]
pub struct History<T> {
    /// All pieces together.
    whole: T,
    /// The oldest first, and all of them before the recent ones.
    earlier: VecDeque<Piece<T>>,
    recent: VecDeque<Piece<T>>,
    /// Pieces of the earlier time begin in different widths of the run.
    width_ns: u64,
    rows: usize,
    rows_max: usize,
    /// Where the piece begins that is not over: the first one with all time before it.
    from_ns: u64,
    /// Where the run begins, as far as widths go: the first time that was told.
    begin_ns: Option<u64>,
}

/// The pieces of which an answer is: those that an interval touches, or all together as one.
#[derive(Clone, Debug)]
pub struct Within<'a, T> {
    /// Where the first one begins, and the last one ends; nothing where there is none, or where no
    /// interval was asked for.
    pub of: Option<Past>,
    pub pieces: Vec<&'a T>,
    /// The piece that is not over belongs to it.
    pub with_now: bool,
}

impl<T: Counted> History<T> {
    /// Of a run, with so many rows of pieces at most, if a single piece has no more.
    pub fn new(rows_max: usize) -> History<T> {
        History {
            whole: T::default(),
            earlier: VecDeque::new(),
            recent: VecDeque::new(),
            width_ns: PIECE_NS,
            rows: 0,
            rows_max,
            from_ns: 0,
            begin_ns: None,
        }
    }

    /// All pieces.
    pub fn all(&self) -> Within<'_, T> {
        Within {
            of: None,
            pieces: Vec::from([&self.whole]),
            with_now: true,
        }
    }

    /// Forgets everything: the run begins at `at_ns`.
    pub fn forget(&mut self, at_ns: u64) {
        *self = History {
            from_ns: at_ns,
            begin_ns: Some(at_ns),
            ..History::new(self.rows_max)
        };
    }

    /// Time has passed: whether a piece is over. The first one is over when the second is in which
    /// this was told first.
    #[inline]
    pub fn is_due(&mut self, now_ns: u64) -> bool {
        let begin_ns = *self.begin_ns.get_or_insert(now_ns);
        now_ns / PIECE_NS > self.from_ns.max(begin_ns) / PIECE_NS
    }

    /// A piece is over, in which this was counted. It ends with its second, a moment ago.
    pub fn end_piece(&mut self, now_ns: u64, counted: T) {
        let from_ns = self.from_ns;
        let to_ns = (now_ns / PIECE_NS * PIECE_NS).max(from_ns);
        self.whole.add(&counted);
        self.rows += counted.rows();
        self.recent.push_back(Piece {
            from_ns,
            to_ns,
            counted,
        });
        self.from_ns = to_ns;
        if self.recent.len() > RECENT {
            self.age();
        }
        // Some turns leave fewer pieces, and all together one. A third of them stay for the earlier
        // time, for as long as there are some.
        while self.rows > self.rows_max && self.recent.len() + self.earlier.len() > 1 {
            match self.earlier.len() > 1 && self.earlier.len() >= self.recent.len() / 2 {
                true => self.widen(),
                false => self.age(),
            }
        }
    }

    /// The oldest of the recent pieces becomes one of the earlier time.
    fn age(&mut self) {
        let Some(piece) = self.recent.pop_front() else {
            return;
        };
        let begin_ns = self.begin_ns.unwrap_or(0);
        let last_ns = piece.from_ns.max(begin_ns);
        self.join(piece);
        while last_ns / self.width_ns - begin_ns / self.width_ns >= EARLIER {
            self.widen();
        }
    }

    /// Adds a piece behind the earlier ones, or to the last of them.
    fn join(&mut self, piece: Piece<T>) {
        let begin_ns = self.begin_ns.unwrap_or(0);
        let number = |of: &Piece<T>| of.from_ns.max(begin_ns) / self.width_ns;
        let last = self.earlier.back_mut();
        match last.filter(|last| number(last) == number(&piece)) {
            Some(last) => {
                self.rows -= last.counted.rows() + piece.counted.rows();
                last.counted.add(&piece.counted);
                last.to_ns = piece.to_ns;
                self.rows += last.counted.rows();
            }
            None => self.earlier.push_back(piece),
        }
    }

    /// Earlier pieces become twice as wide.
    #[cold]
    fn widen(&mut self) {
        self.width_ns *= 2;
        for piece in core::mem::take(&mut self.earlier) {
            self.join(piece);
        }
    }

    /// The pieces that an interval touches, at `now_ns`.
    pub fn within(&self, past: Past, now_ns: u64) -> Within<'_, T> {
        let touches = |from_ns, to_ns| from_ns < past.to_ns && to_ns > past.from_ns;
        let all = self.earlier.iter().chain(&self.recent);
        let all = all.filter(|piece| touches(piece.from_ns, piece.to_ns));
        let with_now = touches(self.from_ns, now_ns);
        let mut of = None;
        let pieces = all.map(|piece| {
            let (from_ns, to_ns) = (piece.from_ns, piece.to_ns);
            cover(&mut of, Some(Past { from_ns, to_ns }));
            &piece.counted
        });
        let pieces = pieces.collect();
        if with_now {
            let (from_ns, to_ns) = (self.from_ns, now_ns);
            cover(&mut of, Some(Past { from_ns, to_ns }));
        }
        Within {
            of,
            pieces,
            with_now,
        }
    }
}

/// Makes a time so long that it has the other one in it.
pub fn cover(into: &mut Option<Past>, from: Option<Past>) {
    let Some(from) = from else { return };
    let into = into.get_or_insert(from);
    into.from_ns = into.from_ns.min(from.from_ns);
    into.to_ns = into.to_ns.max(from.to_ns);
}

#[cfg(test)]
mod tests;
