//! One location: its intake and its buffer. Calls that lie outside of what is recorded go nowhere, those at a cut are
//! clipped; then they go to the buffer, within the place's budget, and to the analyses, which need none.

use crate::analyses::OneSink;
use crate::cuts::{Cuts, Verdict};
use crate::intake::{Intake, Sink};
use crate::traffic::When;
use invivo_mpi_link::BUFFERS_MAX;
use invivo_otfx::{Attributes, Buffer, FlightRecorder};
use invivo_proto::control::peer::Standing;
use invivo_proto::control::results::Ledger;
use invivo_proto::packet::Losses;
use invivo_proto::record::{Call, Part};

/// Memory for buffers: locations get the configured size until it is spent.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    buffer_bytes: usize,
    left_bytes: u64,
}

impl Budget {
    /// So many bytes for one location, and so many for all.
    pub fn new(buffer_bytes: u64, budget_bytes: u64) -> Budget {
        Budget {
            buffer_bytes: usize::try_from(buffer_bytes).unwrap_or(usize::MAX),
            left_bytes: budget_bytes,
        }
    }

    /// A buffer, while there is memory for one.
    fn take(&mut self) -> Option<Buffer> {
        let left_bytes = self.left_bytes.checked_sub(self.buffer_bytes as u64)?;
        // Too small a size for any buffer leaves all locations without one, which the ledger tells.
        let buffer = Buffer::new(self.buffer_bytes, Box::new(FlightRecorder)).ok()?;
        self.left_bytes = left_bytes;
        Some(buffer)
    }
}

/// Where a location's calls are kept.
pub enum Store {
    /// In its buffer.
    Buffer(Box<Buffer>),
    /// Nowhere, for want of memory; so many were not stored.
    Nowhere(u64),
}

/// See the module's head.
pub struct Location {
    /// What came.
    pub intake: Intake,
    /// What is kept.
    pub store: Store,
    /// The loss ledger of the newest packet that came over MPI.
    pub losses: Losses,
    /// Since when its next packet is missing, in ns.
    pub missing_since_ns: Option<u64>,
    /// What went nowhere.
    pub cut_off: CutOff,
    /// Losses that the order of messages knows of.
    pub lost_known: u64,
}

/// What a location's cuts have done to its calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct CutOff {
    /// Calls that lay outside of what is recorded.
    calls: u64,
    /// Resets that the buffer has made.
    resets: u64,
    /// What the call read last is: what follows of it is the same.
    last: Standing,
    /// The epoch of what is being read.
    epoch: u32,
}

impl CutOff {
    #[inline]
    fn when(&self, begin: u64, end: u64) -> When {
        When {
            begin,
            end,
            epoch: self.epoch,
            standing: self.last,
        }
    }
}

impl Location {
    /// A new location of a rank with so many packets. All of them may overtake one, and those that lie in our
    /// receive buffers, which are handed over in any order, as well: their slots may be in use again.
    pub fn new(packets: usize, budget: &mut Budget) -> Location {
        Location {
            intake: Intake::new(packets + BUFFERS_MAX),
            store: budget
                .take()
                .map_or(Store::Nowhere(0), |buffer| Store::Buffer(Box::new(buffer))),
            losses: Losses::default(),
            missing_since_ns: None,
            cut_off: CutOff::default(),
            lost_known: 0,
        }
    }

    /// Forgets what is kept, if a reset has taken effect that the buffer has not seen.
    pub fn forget_to(&mut self, resets: u64) {
        forget_to(&mut self.store, &mut self.cut_off, resets);
    }

    /// What became of the calls that were taken.
    pub fn taken(&self) -> Ledger {
        let dropped_by_place = self.intake.counts().unreadable;
        let outside = self.cut_off.calls;
        match &self.store {
            Store::Buffer(buffer) => {
                let invivo_otfx::Ledger {
                    kept, reduced, reset, ..
                } = buffer.ledger();
                Ledger {
                    kept,
                    reduced,
                    reset: reset + outside,
                    dropped_by_place,
                    ..Ledger::default()
                }
            }
            Store::Nowhere(calls) => Ledger {
                dropped_by_place: dropped_by_place + calls,
                reset: outside,
                ..Ledger::default()
            },
        }
    }

    /// Books with what cannot be seen. A packet between the two processes, or one that never came, says nothing
    /// of what it holds: that is told by what is missing, as in flight or as dropped. Where every packet is
    /// accounted for, nothing is added, and the books balance or they do not.
    pub fn balanced(&self, mut ledger: Ledger, packets_between: bool) -> Ledger {
        let missing = match invivo_tbon::coverage::balance(&ledger) {
            Err(imbalance) => ledger.entered.saturating_sub(imbalance.accounted),
            Ok(()) => 0,
        };
        if self.intake.counts().lost != 0 {
            ledger.dropped_by_place += missing;
        } else if packets_between {
            ledger.in_flight += missing;
        }
        ledger
    }

    /// Bytes of its buffer.
    pub fn buffer_bytes(&self) -> u64 {
        match &self.store {
            Store::Buffer(buffer) => buffer.arena_bytes() as u64,
            Store::Nowhere(_) => 0,
        }
    }
}

/// A location's calls on their way to both.
pub struct Both<'a> {
    /// What is recorded, and where it is cut.
    pub cuts: &'a mut Cuts,
    /// What goes nowhere.
    pub cut_off: &'a mut CutOff,
    /// The buffer.
    pub store: &'a mut Store,
    /// The analyses.
    pub analyses: OneSink<'a>,
}

impl Both<'_> {
    #[inline]
    fn give(&mut self, call: &Call, parts: &[Part], clipped: bool) {
        match self.store {
            Store::Buffer(buffer) => {
                let attributes = Attributes {
                    clipped,
                    ..Attributes::default()
                };
                buffer.store_call(call, parts, attributes);
            }
            Store::Nowhere(calls) => *calls += 1,
        }
        self.analyses.call(call, parts, clipped);
    }
}

impl Sink for Both<'_> {
    fn epoch(&mut self, epoch: u32) {
        self.cut_off.epoch = epoch;
    }

    #[inline]
    fn call(&mut self, call: &Call, parts: &[Part]) {
        let begin = call.end.saturating_sub(call.duration);
        let verdict = self.cuts.judge(begin, call.end);
        // The call may be the first behind a reset.
        if self.cut_off.resets != self.cuts.resets() {
            forget_to(self.store, self.cut_off, self.cuts.resets());
            self.analyses
                .forget_to(self.cuts.resets(), self.cuts.reset_job_ns());
        }
        self.cut_off.last = match verdict {
            Verdict::Whole => Standing::Whole,
            Verdict::Clipped { .. } => Standing::Clipped,
            Verdict::Outside => Standing::Outside,
        };
        match verdict {
            Verdict::Whole => self.give(call, parts, false),
            Verdict::Clipped { begin, end } => {
                let part = Call {
                    end,
                    duration: end - begin,
                    ..*call
                };
                self.give(&part, parts, true);
            }
            Verdict::Outside => {
                self.cut_off.calls += 1;
            }
        }
        self.analyses
            .messages(self.cut_off.when(begin, call.end), Some(call), parts);
    }

    fn more(&mut self, begin: u64, end: u64, parts: &[Part]) {
        if self.cut_off.last != Standing::Outside {
            if let Store::Buffer(buffer) = self.store {
                buffer.store_more(parts);
            }
            self.analyses.more(parts);
        }
        self.analyses.messages(self.cut_off.when(begin, end), None, parts);
    }
}

fn forget_to(store: &mut Store, cut_off: &mut CutOff, resets: u64) {
    if cut_off.resets != resets {
        cut_off.resets = resets;
        if let Store::Buffer(buffer) = store {
            buffer.reset();
        }
    }
}
