//! The buffer of one location: arena, levels, strategy, and the ledger of what it lost.
//!
//! ```text
//! store    a record goes into its level's open bin
//! new_bin  ... or into a new one
//! room     which bins go for that
//! frozen   a view of what was there at one moment
//! report   what the buffer tells of itself
//! ```

mod frozen;
mod new_bin;
mod reduction;
mod report;
mod store;

pub use frozen::{AlreadyFrozen, Frozen};
pub use report::{Fill, LevelStatus};

use crate::arena::{Arena, BinId};
use crate::event::EventClass;
use crate::geometry::{Geometry, Unfit};
use crate::iterations::Summaries;
use crate::ledger::{Losses, REASONS, Reason};
use crate::level::{Chain, Level};
use crate::strategy::{Dimension, Sorter, Strategy};
use alloc::boxed::Box;
use alloc::vec::Vec;
use invivo_proto::record::Part;

/// Keeps the records of one location in memory of fixed size. Records must come in order of their
/// ends; one that ends before its predecessor in the same level is stored as ending with it.
#[derive(Debug)]
pub struct Buffer {
    arena: Arena,
    /// In the order in which they go.
    levels: Vec<Level>,
    /// Levels of earlier strategies, which go before all others, in this order.
    former: Vec<Chain>,
    /// Losses of levels that are not told apart any more.
    earlier: Losses,
    strategy: Strategy,
    sorter: Sorter,
    stored: u64,
    gone: [u64; REASONS],
    parts_reduced: u64,
    reductions: u64,
    last: Last,
    /// The iteration that is under way, or 0.
    iteration: u64,
    iterations: u64,
    /// Which thread has the location.
    occupant: u32,
    summaries: Option<Box<Summaries>>,
    halvings: u32,
    events_dropped_at: Option<u64>,
    /// Bins taken before this one belong to the frozen view that is out.
    frozen_before: Option<u64>,
    /// Frozen views so far.
    views: u32,
}

/// Where the record stored last begins: its further parts go there.
#[derive(Clone, Copy, Debug)]
enum Last {
    /// It was no call, or has been given up; its parts go with it.
    Gone,
    /// Its head is in this bin.
    Call { level: usize, bin: BinId },
    /// It is kept, but no more parts can follow on.
    Over,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// It is in the buffer, with all parts that were given.
    pub kept: bool,
    /// Other records that had to go for it.
    pub given_up: u64,
}

const KEPT: Stored = Stored {
    kept: true,
    given_up: 0,
};

/// A record on its way into a bin.
struct Item {
    level: usize,
    class: EventClass,
    end: u64,
    /// The number of the first request that it posts.
    request: Option<u64>,
}

impl Buffer {
    /// Allocates at most `bytes` for records, all of it now. Beside it stand 64 bytes for each bin,
    /// 10 KiB for each level, and 40 KiB for summaries where the strategy sorts by iterations.
    /// Nothing is allocated later, unless the strategy changes.
    ///
    /// # Errors
    /// When `bytes` is below [`Geometry::bytes_min`] of the strategy's levels, or there are too
    /// many of these.
    pub fn new(bytes: usize, strategy: impl Into<Strategy>) -> Result<Self, Unfit> {
        let strategy = strategy.into();
        let geometry = Geometry::of(bytes, strategy.levels())?;
        Buffer::with_geometry(geometry, strategy)
    }

    /// As [`Buffer::new`], with bins of one's own choice.
    ///
    /// # Errors
    /// When the strategy does not fit them.
    pub fn with_geometry(geometry: Geometry, strategy: Strategy) -> Result<Self, Unfit> {
        geometry.bears(strategy.levels())?;
        Ok(Buffer {
            arena: Arena::new(geometry),
            levels: strategy.labels().into_iter().map(Level::new).collect(),
            former: Vec::new(),
            earlier: Losses::default(),
            sorter: Sorter::new(&strategy),
            summaries: summaries(&strategy),
            strategy,
            stored: 0,
            gone: [0; REASONS],
            parts_reduced: 0,
            reductions: 0,
            last: Last::Gone,
            iteration: 0,
            iterations: 0,
            occupant: 0,
            halvings: 0,
            events_dropped_at: None,
            frozen_before: None,
            views: 0,
        })
    }

    /// The next iteration begins, and the one under way ends. What ends from now on belongs to it.
    pub fn begin_iteration(&mut self, now: u64) {
        self.end_iteration(now);
        self.iterations += 1;
        self.iteration = self.iterations;
        if let Some(summaries) = &mut self.summaries {
            summaries.begin(now);
        }
    }

    /// The iteration under way ends; what ends from now on belongs to none.
    pub fn end_iteration(&mut self, now: u64) {
        if let Some(summaries) = &mut self.summaries
            && self.iteration != 0
        {
            summaries.end(self.iteration, now);
        }
        self.iteration = 0;
    }

    /// What is stored from now on is of another thread, to which the location went.
    pub fn begin_occupant(&mut self, occupant: u32) {
        self.occupant = occupant;
    }

    /// Forgets everything, in time that does not depend on how much there is (unless a frozen view
    /// is out). Levels that were closed open again; ordinals, numbers of iterations and the
    /// occupant go on.
    pub fn reset(&mut self) {
        self.last = Last::Gone;
        // Whole chains go back to the free list, so the cost does not depend on the number of
        // records.
        for index in 0..self.former.len() {
            self.remove_former(index, Reason::Reset);
        }

        for index in 0..self.levels.len() {
            self.remove_level(index, Reason::Reset);
            self.levels[index].closed = false;
            self.levels[index].writer.restart();
        }

        self.halvings = 0;
        self.events_dropped_at = None;
        // The numbers of iterations go on, their summaries do not.
        self.summaries = summaries(&self.strategy);
    }
}

fn summaries(strategy: &Strategy) -> Option<Box<Summaries>> {
    let by_iteration =
        |rule: &crate::strategy::Rule| matches!(rule.by, Dimension::Iteration { .. });
    strategy
        .rules
        .iter()
        .any(by_iteration)
        .then(|| Box::new(Summaries::new()))
}

/// The number of the first request that these post.
fn first_posted(parts: &[Part]) -> Option<u64> {
    parts
        .iter()
        .find(|part| part.facts.kind.posts())
        .map(|part| part.request)
}
