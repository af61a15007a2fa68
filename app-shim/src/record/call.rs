//! Follows one call from the enter to the leave of its wrapper.
//!
//! While nothing changes, a call asks the place's word twice (on the way in together with the gate)
//! and the gate once more on the way out; a difference from what the location is settled for is
//! handled in `settle.rs`, apart. While recording is off, only what has to be followed all the same
//! (requests, communicators, collectives' ordinals) goes on.
//!
//! Everything here is compiled into every wrapper. What a call is about stays in registers: a call
//! must be handed to no function that is not inlined.

use super::location::Here;
use super::stack_bounds::stack_pointer;
use super::thread_location::current;
use super::{gate, left_call, overflow, sample_timers, timed_sample};
use crate::clock::ticks;
use crate::limits::SAMPLED_CALLS;
use crate::process;
use crate::track::sites::{self, Caller};
use core::mem::offset_of;
use core::sync::atomic::{Ordering, compiler_fence};
use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::mpi::peer;
use invivo_proto::record::{RecordKind, Words};
use invivo_proto::shm::{Status, inside, recording};

/// An outermost call of the application, from enter to leave.
pub struct Call {
    pub location: Here,
    /// The function.
    pub region: RegionId,
    /// What the call is about; filled in after the real call, together with its kind.
    pub facts: Words,
    /// The facts' kind. Known where the wrapper is compiled, as what is in a word is not.
    pub kind: RecordKind,
    /// The number of a collective on its communicator.
    pub ordinal: u64,
    /// How many of the location's parts are the call's.
    pub parts: usize,
    /// Who made the call.
    caller: Caller,
    /// Where, as the first word of facts has it; 0 until the real call is back.
    site: u64,
    /// 0 where there will be no record.
    begin: u64,
    /// When the real call came back.
    end: u64,
}

impl Call {
    /// Begins a call, or gives nothing where it is to be passed on unseen: before initialisation,
    /// after draining, inside another call, in a forked child.
    #[inline(always)]
    pub fn enter(region: u16, caller: Caller) -> Option<Call> {
        if !process::observing() {
            return None;
        }
        let mut location = current().or_else(|| overflow::enter(stack_pointer()))?;
        // A tool behind us, MPI itself, or a callback: the outermost call is the one that counts.
        if location.open_at != 0 && !left_call::is_left(location, stack_pointer()) {
            return None;
        }
        let status = location.status;
        location.open();
        // That was of the last call: until the library is called, nobody knows who returns where.
        status.stack.store(0, Ordering::Relaxed);
        status.inside.store(inside::MPI, Ordering::Relaxed);
        // The processor may still load the gate before the store is seen by others; a commander
        // that closes the gate issues a membarrier in between, so only the compiler must be kept
        // from reordering.
        compiler_fence(Ordering::SeqCst);
        let mut words = location.control.gate_and_recording();
        if words != location.settled_for {
            words = location.settle();
        }

        let mut begin = 0;
        if recording::is_on((words >> 32) as u32) {
            begin = ticks();
            let entered = status.entered.load(Ordering::Relaxed) + 1;
            status.region.store(u32::from(region), Ordering::Relaxed);
            status.entered_at.store(begin, Ordering::Relaxed);
            // Last: who reads the count first and then the region sees a region at least as new.
            status.entered.store(entered, Ordering::Release);
            if entered.is_multiple_of(SAMPLED_CALLS) {
                location.sample(begin);
            }
        }
        Some(Call::new(location, region, begin, caller))
    }

    /// Begins the call that made observation possible. No gate is in its way: it is complete
    /// already.
    pub fn initialised(region: u16, begin: u64, caller: Caller) -> Option<Call> {
        let mut location = current()?;
        location.open_at = left_call::NEVER;
        // The page names this call already, and goes on to do so where it is not recorded.
        let is_recorded = location.settle_initialised();
        Some(Call::new(
            location,
            region,
            if is_recorded { begin } else { 0 },
            caller,
        ))
    }

    /// Begins a call inside another one of the same thread, of which only what has to be followed
    /// is looked at. It has no record, and it does not leave. Nothing where nothing is observed.
    #[cold]
    pub fn inside(region: u16) -> Option<Call> {
        if !process::observing() {
            return None;
        }
        let location = current().or_else(overflow::inside)?;
        Some(Call::new(location, region, 0, Caller::NONE))
    }

    #[inline(always)]
    fn new(location: Here, region: u16, begin: u64, caller: Caller) -> Call {
        let region = RegionId(region);
        Call {
            location,
            region,
            facts: Words {
                head: Words::head(RecordKind::Plain, region, CommLocal::NONE),
                message: Words::message(peer::NONE, 0),
                bytes_out: 0,
                bytes_in: 0,
            },
            kind: RecordKind::Plain,
            ordinal: 0,
            parts: 0,
            caller,
            site: 0,
            begin,
            end: begin,
        }
    }

    /// Notes where the wrapper's frame lies, right before the real call.
    #[inline(always)]
    pub fn calling(&self) {
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
    }

    /// Takes the time right after the real call, and decides whether there will be a record.
    #[inline(always)]
    pub fn called(&mut self) {
        let word = self.location.control.recording.load(Ordering::Acquire);
        if word != (self.location.settled_for >> 32) as u32 {
            (self.begin, self.end) = self.location.switched(word, self.region, self.begin);
        } else if self.recorded() {
            self.end = ticks();
        }
        if self.recorded() && self.location.control.without_sites.load(Ordering::Relaxed) == 0 {
            self.site = sites::bits(self.caller);
            self.facts.head |= self.site;
        }
    }

    /// Where the call was made, as [`Words::of_site`] has it.
    #[inline(always)]
    pub fn site(&self) -> u64 {
        self.site
    }

    /// The first word of facts of this call.
    #[inline(always)]
    pub fn head(&self, kind: RecordKind, comm: CommLocal) -> u64 {
        Words::head(kind, self.region, comm) | self.site
    }

    /// Whether there will be a record. Known once the real call is back.
    #[inline(always)]
    pub fn recorded(&self) -> bool {
        self.begin != 0
    }

    /// When the call began, in ticks; 0 for a call that is not recorded.
    #[inline(always)]
    pub fn begin_ticks(&self) -> u64 {
        self.begin
    }

    /// Writes the record and returns to the application, unless the gate is closed.
    #[inline(always)]
    pub fn leave(mut self) {
        #[cfg(feature = "ballast")]
        for weight in 0..30 {
            core::hint::black_box(weight);
        }
        self.write();
        let mut location = self.location;
        // While the page still says that the thread is in MPI: polling calls MPI.
        location.until_poll -= 1;
        if location.until_poll == 0 {
            location.poll(self.end);
        }
        location
            .status
            .inside
            .store(inside::APPLICATION, Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        let control = location.control;
        if control.gate.load(Ordering::Relaxed) | control.errand.load(Ordering::Relaxed) != 0 {
            asked(location);
        }
        // Behind the gate: a signal handler that calls MPI while the thread is held makes an inner
        // call.
        location.open_at = 0;
    }

    /// Whether its function is not selected. What others are understood by is recorded all the
    /// same: messages, requests that are posted or completed.
    #[inline(always)]
    fn is_left_out(&self) -> bool {
        matches!(self.kind, RecordKind::Plain | RecordKind::Collective)
            && self.parts == 0
            && self.location.control.off.has(self.region)
    }

    /// Writes the record, if there is to be one.
    #[inline(always)]
    pub fn write(&mut self) {
        if self.recorded() {
            if self.is_left_out() {
                return self.location.leave_out();
            }
            let times = (self.begin, self.end);
            self.location
                .record(self.kind, self.facts, times, self.ordinal, self.parts);
        }
    }
}

/// On the way out of a call: the gate is closed, or there is something to be done for the sampler.
#[cold]
#[inline(never)]
fn asked(location: Here) {
    let control = location.control;
    if control.errand.load(Ordering::Relaxed) != 0
        && let Some(page) = process::page()
    {
        sample_timers::run_errand(page, timed_sample::on_signal);
    }
    if control.gate.load(Ordering::Relaxed) != 0 {
        gate::hold(&location, inside::HELD_AT_LEAVE);
    }
}
