//! What a buffer keeps when not everything fits: the strategy sorts events into levels, and names what goes
//! when no bin is free. It sees levels and events, never bins, and moves no memory itself.

use crate::level::Levels;
use invivo_proto::record::{Call, Part};

/// What is to be stored. Strategies look at what their dimension is about: class, depth, duration, phase, or
/// a sample's ordinal.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A call and what it did.
    Call {
        /// The fused record.
        call: &'a Call,
        /// Its parts.
        parts: &'a [Part],
    },
}

/// What to give up. Whole bins or levels only, so that a removal never reads a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The oldest bin of this level.
    OldestBin(usize),
    /// Every bin of this level. Whether later events still go there is for [`Strategy::level`] to say.
    Level(usize),
    /// Nothing: the event that asks for room is given up itself.
    Nothing,
}

/// A policy of reduction. Enter and leave are one record, so no strategy can part them.
pub trait Strategy: core::fmt::Debug + Send {
    /// How many levels the buffer has; it does not change.
    fn levels(&self) -> usize;

    /// The level of an event; `None` gives it up at once, because its level is closed. Called for every
    /// event: it must be cheap and must not allocate.
    fn level(&self, event: &Event<'_>) -> Option<usize>;

    /// No bin is free, and `wanting` needs one. Asked again until one is free or the answer frees none.
    /// Must not allocate.
    fn make_room(&mut self, wanting: usize, levels: Levels<'_>) -> Removal;
}

/// Keeps the newest complete: one level in order of time, whose oldest bin goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlightRecorder;

impl Strategy for FlightRecorder {
    fn levels(&self) -> usize {
        1
    }

    #[inline]
    fn level(&self, _: &Event<'_>) -> Option<usize> {
        Some(0)
    }

    fn make_room(&mut self, wanting: usize, _: Levels<'_>) -> Removal {
        Removal::OldestBin(wanting)
    }
}
