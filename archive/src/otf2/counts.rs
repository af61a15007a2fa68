//! What is counted while events are written.

/// What was written of a location beside its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub calls: u64,
    /// Visits of regions of the program.
    pub visits: u64,
    pub samples: u64,
    /// Calls and visits that were longer.
    pub clipped: u64,
    /// As [`Exported::moved`], and so on.
    pub moved: u64,
    pub without_communicator: u64,
    pub without_operation: u64,
    pub posted_before: u64,
    pub unmatched: u64,
    /// The times of the first event and of the last.
    pub span: Option<(u64, u64)>,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Exported {
    pub locations: u64,
    pub events: u64,
    /// Calls whose events are there.
    pub calls: u64,
    /// Visits of regions of the program whose events are there.
    pub visits: u64,
    /// Samples whose events are there.
    pub samples: u64,
    /// Events that lay before the one before them by some ns, and were put at its time.
    pub moved: u64,
    /// Messages and collectives on communicators that are not known: their calls are there, and
    /// they are not.
    pub without_communicator: u64,
    /// Collectives that OTF2 has no operation for: their calls are there, and they are not.
    pub without_operation: u64,
    /// Completions of operations that were posted before the first call that is there.
    pub posted_before: u64,
    /// Posts, completions, blocking operations and members of collectives that are left out, as a
    /// side of what they belong to is not there.
    pub unmatched: u64,
}

impl Exported {
    /// Adds a location.
    pub(super) fn add(&mut self, events: u64, counts: &Counts) {
        self.locations += 1;
        self.events += events;
        self.calls += counts.calls;
        self.visits += counts.visits;
        self.samples += counts.samples;
        self.moved += counts.moved;
        self.without_communicator += counts.without_communicator;
        self.without_operation += counts.without_operation;
        self.posted_before += counts.posted_before;
        self.unmatched += counts.unmatched;
    }
}
