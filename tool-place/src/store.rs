//! Keeps a location's calls in a buffer of fixed size, within the place's memory budget.
//!
//! What is given up when the buffer is full follows the strategy in force. A location beyond the
//! budget keeps nothing and counts what it does not keep, until a thread ends and leaves its
//! buffer.

use invivo_mpi_link::clock::NodeClock;
use invivo_otfx::{
    AtCap, Attributes, BIN_BYTES_MIN, Buffer, Classes, Dimension, EventCap, EventClass, Frozen,
    Geometry, Pass, Sample, Unfit,
};
use invivo_proto::control::buffers::RecordClass;
use invivo_proto::control::results::Ledger;
use invivo_proto::control::strategy::{
    DEPTH_LEVELS, DURATION_LEVELS, Rule, SAMPLE_LEVELS, Strategy,
};
use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::record::{Call, Part};

/// The part of a buffer, in thousandths, that is left to calls and regions where it keeps samples,
/// too.
const EVENTS_PERMILLE: u16 = 750;

/// Whether buffers keep samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepsSamples {
    /// There were none so far.
    #[default]
    No,
    /// A part of each buffer is theirs.
    Now,
    /// No more come: what is there stays until its room is wanted.
    NoMore,
}

/// A strategy as requested, and as buffers take it.
#[derive(Clone, Debug, Default)]
pub struct Keeping {
    /// As requested.
    pub asked: Strategy,
    /// Whether samples are kept beside the rest.
    pub samples: KeepsSamples,
    of_buffer: invivo_otfx::Strategy,
}

impl Keeping {
    /// By a clock, for durations. With samples a part of the buffer is theirs: they come behind the
    /// calls of their time, and many of one kind must not push out the other. Where the strategy
    /// says nothing of them the newest are kept, as of calls.
    pub fn new(asked: Strategy, clock: &NodeClock, samples: KeepsSamples) -> Keeping {
        let rule = |rule: Rule| invivo_otfx::Rule {
            of: match rule {
                Rule::Class(class) => Classes::of(&[of_class(class)]),
                _ => Classes::ALL,
            },
            by: match rule {
                Rule::Class(_) => Dimension::Class,
                Rule::Depth { kept } => Dimension::Depth {
                    kept,
                    levels: DEPTH_LEVELS,
                },
                Rule::Duration { kept_ns } => Dimension::Duration {
                    // Rounded down: what takes longer than asked for is never claimed.
                    kept_log2: clock.duration_ticks(kept_ns).max(1).ilog2() as u8,
                    levels: DURATION_LEVELS,
                },
                Rule::Iterations { levels, .. } => Dimension::Iteration { levels },
                Rule::Samples => Dimension::Ordinal {
                    levels: SAMPLE_LEVELS,
                },
            },
        };
        let is_of_samples =
            |rule: Rule| matches!(rule, Rule::Samples | Rule::Class(RecordClass::Sample));
        let newest = Rule::Class(RecordClass::Sample);
        let newest =
            (samples != KeepsSamples::No && !asked.rules().any(is_of_samples)).then_some(newest);
        let of_cap = asked.cap_permille().map(|bins_permille| EventCap {
            bins_permille,
            then: AtCap::DropAll,
        });
        let share = (samples == KeepsSamples::Now).then_some(EventCap {
            bins_permille: EVENTS_PERMILLE,
            then: AtCap::Oldest,
        });
        Keeping {
            asked,
            samples,
            of_buffer: invivo_otfx::Strategy {
                rules: newest.into_iter().chain(asked.rules()).map(rule).collect(),
                event_cap: of_cap.or(share),
            },
        }
    }

    fn levels(&self) -> usize {
        self.of_buffer.levels()
    }
}

fn of_class(class: RecordClass) -> EventClass {
    match class {
        RecordClass::Call => EventClass::Call,
        RecordClass::Region => EventClass::Region,
        RecordClass::Sample => EventClass::Sample,
        RecordClass::Metric => EventClass::Metric,
    }
}

/// Left of the process' memory beside the buffers: tables of the analyses, messages, MPI's own, 16
/// MiB.
const SPARE_BYTES: usize = 16 << 20;

/// Memory for buffers: locations get the configured size until it is spent.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    buffer_bytes: usize,
    left_bytes: u64,
    keeping: Keeping,
    recycled: u32,
}

impl Budget {
    /// `buffer_bytes` for one location and `budget_bytes` for all; flight recorders until a
    /// strategy is set.
    pub fn new(buffer_bytes: u64, budget_bytes: u64) -> Budget {
        Budget {
            buffer_bytes: usize::try_from(buffer_bytes).unwrap_or(usize::MAX),
            left_bytes: budget_bytes,
            ..Budget::default()
        }
    }

    /// What new buffers keep; existing ones change by [`Store::keep`].
    ///
    /// # Errors
    /// When a buffer of the configured size cannot work like that; then nothing has changed.
    pub fn keep(&mut self, keeping: &Keeping) -> Result<(), Unfit> {
        self.geometry(keeping.levels())?;
        self.keeping = keeping.clone();
        Ok(())
    }

    /// So many bytes for one location and for all, before the first comes.
    pub fn begin(&mut self, buffer_bytes: u64, budget_bytes: u64) {
        *self = Budget::new(buffer_bytes, budget_bytes);
    }

    /// What new buffers keep.
    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// Whether there is no memory for another buffer, though one is wanted.
    pub fn is_spent(&self) -> bool {
        self.left_bytes < self.buffer_bytes as u64
    }

    /// Buffers that were taken over from threads that had ended.
    pub fn recycled(&self) -> u32 {
        self.recycled
    }

    /// As the buffer would cut itself; and where that needs more bytes, into the smallest bins,
    /// which do with fewer.
    fn geometry(&self, levels: usize) -> Result<Geometry, Unfit> {
        Geometry::of(self.buffer_bytes, levels).or_else(|unfit| {
            let smallest = Geometry::with_bins(self.buffer_bytes, BIN_BYTES_MIN);
            smallest.bears(levels).map_err(|_| unfit)?;
            Ok(smallest)
        })
    }

    fn take(&mut self) -> Option<Box<Buffer>> {
        let left_bytes = self.left_bytes.checked_sub(self.buffer_bytes as u64)?;
        // A size too small for any buffer leaves all locations without one; the ledger shows that.
        let geometry = self.geometry(self.keeping.levels()).ok()?;
        if !there_is_room_for(self.buffer_bytes) {
            // Nor will there be for the next one: the failing allocation is tried only once.
            self.left_bytes = 0;
            return None;
        }
        let buffer = Buffer::with_geometry(geometry, self.keeping.of_buffer.clone()).ok()?;
        self.left_bytes = left_bytes;
        Some(Box::new(buffer))
    }
}

/// Whether the system gives this process so much more memory and some to spare: a limit (`ulimit
/// -v`) must not end the place.
fn there_is_room_for(bytes: usize) -> bool {
    let mut room: Vec<u8> = Vec::new();
    let there_is = room
        .try_reserve_exact(bytes.saturating_add(SPARE_BYTES))
        .is_ok();
    // Without this the compiler may remove an allocation that is never used.
    std::hint::black_box(&room);
    there_is
}

/// Nothing of a buffer is held for a save: it went to another thread, or the save was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// The buffer of one location, if it has one.
#[derive(Debug)]
pub struct Store {
    buffer: Option<Box<Buffer>>,
    /// The function at whose calls iterations end.
    ends_iteration: Option<RegionId>,
    /// Which thread has the location.
    occupant: u32,
    /// What became of calls while there was no buffer, and of those of a buffer that is another's
    /// now.
    apart: Ledger,
    /// The view of a save that is under way.
    frozen: Option<Frozen>,
}

impl Store {
    /// With a buffer, while there is memory for one.
    pub fn new(budget: &mut Budget) -> Store {
        let mut store = Store {
            buffer: None,
            ends_iteration: None,
            occupant: 0,
            apart: Ledger::default(),
            frozen: None,
        };
        store.adopt(budget);
        store
    }

    /// The buffer, if there is one.
    pub fn buffer(&self) -> Option<&Buffer> {
        self.buffer.as_deref()
    }

    /// Which thread has the location.
    pub fn occupant(&self) -> u32 {
        self.occupant
    }

    /// Counts calls that became something else before any came here.
    pub fn recall(&mut self, before: &Ledger) {
        invivo_tbon::coverage::add(&mut self.apart, before);
    }

    /// Calls that found no buffer.
    pub fn not_kept(&self) -> u64 {
        self.apart.dropped_by_place
    }

    /// Takes a buffer, if it has none and there is memory for one.
    pub fn adopt(&mut self, budget: &mut Budget) {
        if self.buffer.is_none() {
            self.buffer = budget.take();
            self.ends_iteration = budget.keeping.asked.iterations_at();
            self.begin_occupant(self.occupant);
        }
    }

    /// What comes from now on is of another thread, to which the location went.
    pub fn begin_occupant(&mut self, occupant: u32) {
        self.occupant = occupant;
        if let Some(buffer) = &mut self.buffer {
            buffer.begin_occupant(occupant);
        }
    }

    /// Gives the buffer's memory back to the budget; what it held counts as reduced.
    pub fn give_back(&mut self, budget: &mut Budget) {
        let Some(buffer) = self.buffer.take() else {
            return;
        };
        // What a save has not read of it yet is lost; the save says so.
        self.frozen = None;
        let of_buffer = buffer_ledger(&buffer);
        // The calls were stored and are gone: to the ledger that is a reduction, not a drop.
        self.apart.reduced += of_buffer.kept + of_buffer.reduced;
        self.apart.reset += of_buffer.reset;
        self.apart.dropped_by_place += of_buffer.dropped_by_place;
        // The memory is free before it is in the budget again.
        drop(buffer);
        budget.left_bytes += budget.buffer_bytes as u64;
        budget.recycled += 1;
    }

    /// Whether the buffer, if there is one, can keep something else.
    ///
    /// # Errors
    /// Why not.
    pub fn bears(&self, keeping: &Keeping) -> Result<(), Unfit> {
        let buffer = self.buffer.as_deref();
        buffer.map_or(Ok(()), |buffer| {
            buffer.fill().geometry.bears(keeping.levels())
        })
    }

    /// Keeps something else from now on.
    ///
    /// # Errors
    /// When the buffer cannot; then nothing has changed.
    pub fn keep(&mut self, keeping: &Keeping) -> Result<(), Unfit> {
        if let Some(buffer) = &mut self.buffer {
            buffer.set_strategy(keeping.of_buffer.clone())?;
        }
        self.ends_iteration = keeping.asked.iterations_at();
        Ok(())
    }

    /// Other samples begin, with this strategy; calls and regions stay as they are.
    ///
    /// # Errors
    /// When the buffer cannot; then nothing has changed.
    pub fn begin_samples(&mut self, keeping: &Keeping) -> Result<(), Unfit> {
        let buffer = self.buffer.as_mut();
        buffer.map_or(Ok(()), |buffer| {
            buffer.begin_samples(keeping.of_buffer.clone())
        })
    }

    /// Calls and regions keep to the part that is theirs in this, or to none.
    pub fn share(&mut self, keeping: &Keeping) {
        if let Some(buffer) = &mut self.buffer {
            buffer.set_event_cap(keeping.of_buffer.event_cap);
        }
    }

    /// Stores a call and its parts.
    #[inline]
    pub fn call(&mut self, call: &Call, parts: &[Part], attributes: Attributes) {
        let Some(buffer) = &mut self.buffer else {
            self.apart.dropped_by_place += 1;
            return;
        };
        buffer.store_call(call, parts, attributes);
        // Collectives on other communicators do not end an iteration of the whole program.
        if self.ends_iteration == Some(call.facts.region)
            && matches!(call.facts.comm, CommLocal::WORLD | CommLocal::NONE)
        {
            buffer.begin_iteration(call.end);
        }
    }

    /// Stores a visit of a region. Without a buffer its table has it all the same.
    #[inline]
    pub fn region(&mut self, pass: &Pass, attributes: Attributes) {
        if let Some(buffer) = &mut self.buffer {
            buffer.store_region(pass, attributes);
        }
    }

    /// Stores a sample.
    pub fn sample(&mut self, sample: &Sample<'_>) {
        if let Some(buffer) = &mut self.buffer {
            buffer.store_sample(sample);
        }
    }

    /// Stores more parts of the call before.
    pub fn more(&mut self, parts: &[Part]) {
        if let Some(buffer) = &mut self.buffer {
            buffer.store_more(parts);
        }
    }

    /// How often the frequency of samples is halved, where there is a buffer and its strategy thins
    /// them.
    pub fn halvings(&self) -> Option<u32> {
        let buffer = self
            .buffer
            .as_deref()
            .filter(|buffer| buffer.thins_samples())?;
        Some(buffer.halvings())
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.reset();
        }
    }

    /// Holds what the buffer holds, for a save that takes its time, without bins that end before
    /// `since`; the bytes that are held. Nothing without a buffer.
    pub fn freeze(&mut self, since: u64) -> Option<u64> {
        self.thaw();
        let buffer = self.buffer.as_deref_mut()?;
        // The only view that may be out is the one above.
        let mut view = buffer.freeze().ok()?;
        view.skip_before(buffer, since);
        let bytes = view.bytes_left(buffer);
        self.frozen = Some(view);
        Some(bytes)
    }

    /// Appends the next bin that is held, and says which chain it is of; nothing behind the last.
    ///
    /// # Errors
    /// When nothing is held any more.
    pub fn next_bin(&mut self, into: &mut Vec<u8>) -> Result<Option<u32>, Gone> {
        match (&mut self.frozen, self.buffer.as_deref_mut()) {
            (Some(view), Some(buffer)) => Ok(view.next_bin(buffer, into)),
            _ => Err(Gone),
        }
    }

    /// Lets go of what a save holds.
    pub fn thaw(&mut self) {
        if let (Some(view), Some(buffer)) = (self.frozen.take(), self.buffer.as_deref_mut()) {
            buffer.thaw(view);
        }
    }

    /// What became of the calls so far.
    pub fn taken(&self) -> Ledger {
        let mut ledger = self
            .buffer
            .as_deref()
            .map(buffer_ledger)
            .unwrap_or_default();
        invivo_tbon::coverage::add(&mut ledger, &self.apart);
        ledger
    }
}

/// Of calls alone: the ledgers of ranks count no other records.
fn buffer_ledger(buffer: &Buffer) -> Ledger {
    let invivo_otfx::Ledger {
        kept,
        reduced,
        dropped,
        reset,
        ..
    } = buffer.ledger_of(EventClass::Call);
    Ledger {
        kept,
        reduced,
        reset,
        dropped_by_place: dropped,
        ..Ledger::default()
    }
}

#[cfg(test)]
mod tests;
