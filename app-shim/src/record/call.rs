//! Follows one call from the enter to the leave of its wrapper.
//!
//! While recording is off a call costs two loads of the place's word and its flag *in MPI*; only
//! what has to be followed all the same (requests, communicators, collectives' ordinals) goes on.
//! Each switching on is a new *epoch*. A call that was entered before it and leaves after it is
//! recorded with the moment of the switch as its begin; one that was entered while recording was on
//! is recorded whenever it leaves.

use super::location::{Here, Location, add};
use super::thread_location::current;
use super::{gate, overflow, poll};
use crate::clock::ticks;
use crate::limits::{POLLED_CALLS, SAMPLED_CALLS};
use crate::process;
use core::mem::offset_of;
use core::sync::atomic::{Ordering, compiler_fence};
use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::mpi::peer;
use invivo_proto::record::{self, Facts, RecordKind};
use invivo_proto::shm::{Status, inside, recording};

/// An outermost call of the application, from enter to leave.
pub struct Call {
    pub location: Here,
    /// What the call is about; filled in after the real call.
    pub facts: Facts,
    /// The number of a collective on its communicator.
    pub ordinal: u64,
    begin: u64,
    /// When the real call came back.
    pub end: u64,
    /// Own ticks before the real call; only of sampled calls.
    own: u64,
    /// The place's word as it was on the way in.
    word: u32,
    recorded: bool,
    sampled: bool,
}

impl Call {
    /// Begins a call, or gives nothing where it is to be passed on unseen: before initialisation,
    /// after draining, inside another call, in a forked child.
    #[inline(always)]
    pub fn enter(region: u16) -> Option<Call> {
        if !process::observing() {
            return None;
        }
        let mut location = current().or_else(overflow::enter)?;
        // A tool behind us, MPI itself, or a callback: the outermost call is the one that counts.
        if location.depth != 0 {
            return None;
        }
        location.depth = 1;
        let status = location.status;
        status.inside.store(inside::MPI, Ordering::Relaxed);
        // The processor may still load the gate before the store is seen by others; a commander
        // that closes the gate issues a membarrier in between, so only the compiler must be kept
        // from reordering.
        compiler_fence(Ordering::SeqCst);
        if location.control.gate.load(Ordering::Relaxed) != 0 {
            gate::hold(&location, inside::HELD_AT_ENTER);
        }
        Some(Call::begin(location, region))
    }

    /// Begins the call that made observation possible. No gate is in its way: it is complete
    /// already.
    pub fn initialised(region: u16, begin: u64) -> Option<Call> {
        let mut location = current()?;
        location.depth = 1;
        // The page names this call already, and goes on to do so where it is not recorded.
        let word = location.control.recording.load(Ordering::Acquire);
        let recorded = recording::is_on(word);
        if recorded {
            location.entered += 1;
            location
                .status
                .entered
                .store(location.entered, Ordering::Release);
        }
        Some(Call::new(location, region, word, begin, false))
    }

    /// Begins a call inside another one of the same thread, of which only what has to be followed
    /// is looked at. It has no record, and it does not leave. Nothing where nothing is observed.
    #[cold]
    pub fn inside(region: u16) -> Option<Call> {
        if !process::observing() {
            return None;
        }
        let location = current().or_else(overflow::inside)?;
        Some(Call::new(location, region, 0, 0, false))
    }

    #[inline(always)]
    fn begin(mut location: Here, region: u16) -> Call {
        let (status, control) = (location.status, location.control);
        let word = control.recording.load(Ordering::Acquire);
        let (mut begin, mut sampled) = (0, false);
        if recording::is_on(word) {
            begin = ticks();
            location.entered += 1;
            status.region.store(u32::from(region), Ordering::Relaxed);
            status.entered_at.store(begin, Ordering::Relaxed);
            // Last: who reads the count first and then the region sees a region at least as new.
            status.entered.store(location.entered, Ordering::Release);
            sampled = location.entered.is_multiple_of(SAMPLED_CALLS);
        } else if status.entered_at.load(Ordering::Relaxed) != u64::from(word) {
            location.pass_unseen(word);
        }
        Call::new(location, region, word, begin, sampled)
    }

    #[inline(always)]
    fn new(location: Here, region: u16, word: u32, begin: u64, sampled: bool) -> Call {
        Call {
            facts: Facts {
                kind: RecordKind::Plain,
                region: RegionId(region),
                comm: CommLocal::NONE,
                peer: peer::NONE,
                tag: 0,
                bytes_out: 0,
                bytes_in: 0,
            },
            location,
            ordinal: 0,
            begin,
            end: begin,
            own: 0,
            word,
            recorded: recording::is_on(word),
            sampled,
        }
    }

    /// Notes where the wrapper's frame lies, right before the real call.
    #[inline(always)]
    pub fn calling(&mut self) {
        let status: *const Status = self.location.status;
        // Whoever unwinds the stack of a blocked thread from outside begins at these two: the
        // unwind tables of the shim say how the frame lies.
        // SAFETY: writes two registers into two words of the page, which are there for it and
        // atomic, so that they may be written through a shared reference; whole words on their
        // boundaries are written at once.
        unsafe {
            core::arch::asm!(
                "mov [{status} + {stack}], rsp",
                "mov [{status} + {frame}], rbp",
                status = in(reg) status,
                stack = const offset_of!(Status, stack),
                frame = const offset_of!(Status, frame),
                options(nostack, preserves_flags),
            );
        }
        if self.sampled {
            self.own = ticks() - self.begin;
        }
    }

    /// Takes the time right after the real call, and decides whether there will be a record.
    #[inline(always)]
    pub fn called(&mut self) {
        let word = self.location.control.recording.load(Ordering::Acquire);
        if self.recorded {
            self.end = ticks();
        } else if word != self.word {
            // Switched on during the call, or on and off again.
            (self.begin, self.end) = recorded_from_now(&mut self.location, self.facts.region);
            self.recorded = true;
        } else {
            return;
        }
        let epoch = recording::epoch(word);
        // A record is of the epoch in which its call returns.
        if epoch != self.location.epoch {
            self.location.begin_epoch(epoch);
        }
    }

    /// Whether there will be a record. Known once the real call is back.
    #[inline(always)]
    pub fn recorded(&self) -> bool {
        self.recorded
    }

    /// When the call began, in ticks; 0 for a call that is not recorded.
    pub fn begin_ticks(&self) -> u64 {
        self.begin
    }

    /// Writes the record and returns to the application, unless the gate is closed.
    #[inline(always)]
    pub fn leave(mut self) {
        #[cfg(feature = "ballast")]
        for weight in 0..46 {
            core::hint::black_box(weight);
        }
        self.write();
        let mut location = self.location;
        // While the page still says that the thread is in MPI: polling calls MPI.
        location.since_polled += 1;
        if location.since_polled >= POLLED_CALLS {
            location.since_polled = 0;
            location.update_frequency();
            poll::poll(&location);
        }
        location
            .status
            .inside
            .store(inside::APPLICATION, Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        if location.control.gate.load(Ordering::Relaxed) != 0 {
            gate::hold(&location, inside::HELD_AT_LEAVE);
        }
        // Behind the gate: a signal handler that calls MPI while the thread is held makes an inner
        // call.
        location.depth = 0;
    }

    /// Writes the record, if there is to be one.
    #[inline(always)]
    pub fn write(&mut self) {
        let parts = self.location.parts.len();
        if self.recorded {
            let call = record::Call {
                facts: self.facts,
                end: self.end,
                duration: self.end - self.begin,
                ordinal: self.ordinal,
                request: 0,
            };
            self.location.record(&call, parts);
        }
        if parts != 0 {
            self.location.parts.clear();
        }
        if self.sampled {
            add(
                &self.location.status.overhead_ticks,
                self.own + (ticks() - self.end),
            );
            add(&self.location.status.overhead_samples, 1);
        }
    }
}

/// The begin and the end of a call during which recording was switched on: it counts as entered
/// now, and begins for us where recording did. (Not a method: a call whose address nobody takes
/// stays in registers.)
#[cold]
#[inline(never)]
fn recorded_from_now(location: &mut Location, region: RegionId) -> (u64, u64) {
    let end = ticks();
    let begin = location
        .control
        .recording_since
        .load(Ordering::Relaxed)
        .min(end);
    location.entered += 1;
    let status = location.status;
    status.region.store(u32::from(region.0), Ordering::Relaxed);
    status.entered_at.store(begin, Ordering::Relaxed);
    status.entered.store(location.entered, Ordering::Release);
    (begin, end)
}
