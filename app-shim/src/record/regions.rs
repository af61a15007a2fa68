//! Follows a thread into the program's regions and out of them, and records it.
//!
//! Followed also while nothing is recorded, so that whoever switches recording on knows where each
//! thread is. A region that is left by a jump (`longjmp`, the end of the thread) never says so: it
//! has ended as soon as a function is entered or left whose frame lies above that of its own.
//!
//! None of this calls MPI: a hook may be anywhere in the program. And none is in the way of a
//! signal handler that has regions of its own: it finds us busy, and its regions are left out.

use super::back_pressure::next_packet_outside;
use super::location::{Here, Location, add};
use super::open_regions::{MARKED, Open};
use super::packet_pool;
use super::stack_bounds::{StackBounds, stack_pointer};
use crate::clock::ticks;
use crate::errno::keeping_errno;
use crate::limits::{INLINED_RECURSION_MAX, REGIONS_WITHOUT_TRY, SAMPLED_REGIONS};
use core::sync::atomic::{Ordering, compiler_fence};
use invivo_proto::ids::RegionId;
use invivo_proto::record::{OPEN_BYTES_MAX, OPEN_MAX};
use invivo_proto::shm::{recording, region_loss};

/// Lets `what` change the regions of a thread, unless it is in MPI (what a callback does is part of
/// the call), or a signal has interrupted us here.
#[inline(always)]
pub fn change(mut here: Here, what: impl FnOnce(&mut Location)) {
    let now = stack_pointer();
    if here.open_at != 0 || (here.regions.busy_at != 0 && !was_jumped_out_of(here, now)) {
        return;
    }
    here.regions.busy_at = now;
    compiler_fence(Ordering::SeqCst);
    here.regions.until_sample -= 1;
    if here.regions.until_sample == 0 {
        sampled(here, what);
    } else {
        what(&mut here);
    }
    compiler_fence(Ordering::SeqCst);
    here.regions.busy_at = 0;
}

/// Whether a handler of the program has jumped out of us where we were busy: what calls us now lies
/// further out on the thread's own stack. A handler that comes back lies further in, or elsewhere.
#[cold]
#[inline(never)]
fn was_jumped_out_of(mut here: Here, now: usize) -> bool {
    if !here.stack.is_known() {
        here.stack = StackBounds::of_this_thread();
    }
    now >= here.regions.busy_at && here.stack.holds(now, 0)
}

/// The same, timed.
#[cold]
fn sampled(mut here: Here, what: impl FnOnce(&mut Location)) {
    here.regions.until_sample = SAMPLED_REGIONS;
    let begin = ticks();
    what(&mut here);
    let took = ticks().saturating_sub(begin);
    add(&here.status.region_ticks, took * u64::from(SAMPLED_REGIONS));
}

impl Location {
    /// Enters a region, of a function whose frame is this.
    #[inline(always)]
    pub fn enter_region(&mut self, region: RegionId, frame: usize) {
        let now = self.region_time();
        let was_left = self.end_left(frame, now);
        let is_same = |innermost: &Open| {
            innermost.frame == frame && innermost.region == region && !innermost.is_marked
        };
        if self.regions.innermost().is_some_and(is_same) {
            self.end_repeated(was_left, is_same, now);
        }
        if self.regions.depth >= OPEN_MAX {
            self.regions.deeper += 1;
            self.count_lost(region_loss::TOO_DEEP, 1);
            return;
        }
        if now == 0 {
            self.regions.is_told = false;
        } else if self.is_ready(now) {
            // SAFETY: there is room for a call, which takes more.
            let out = unsafe { self.encoder.enter(self.packet.out(), now, region) };
            self.packet.commit(out, 0);
        }
        let depth = self.regions.depth;
        let around = self.regions.innermost().map_or(MARKED, |open| open.frame);
        if let Some(open) = self.regions.open.get_mut(depth) {
            *open = Open {
                begin: now,
                // Of a mark that of the function that it is in: it is left with it.
                frame: frame.min(around),
                is_marked: frame == MARKED,
                region,
                passed: 0,
            };
            self.regions.depth = depth + 1;
        }
    }

    /// Leaves a region, of a function whose frame is this, or that of its caller: compilers make a
    /// jump of a call at the end of a function.
    #[inline(always)]
    pub fn leave_region(&mut self, region: RegionId, frame: usize) {
        let now = self.region_time();
        if self.regions.deeper != 0 && self.is_deeper(frame) {
            self.regions.deeper -= 1;
            return;
        }
        let is_it = |innermost: &Open| innermost.region == region;
        // What a program marks it ends by its name, also where it forgets an end further in.
        let is_marked = frame == MARKED;
        let is_plain = |innermost: &Open| is_it(innermost) && (innermost.passed == 0 || is_marked);
        if self.regions.innermost().is_some_and(is_plain) {
            self.end_innermost(now);
        } else if !self.is_end_of_passed(region, is_marked) {
            self.end_further_out(now, is_it);
        }
    }

    /// Whether a frame lies deeper than the regions that are noted one by one.
    #[cold]
    #[inline(never)]
    fn is_deeper(&mut self, frame: usize) -> bool {
        let innermost = self.regions.innermost();
        let is_so = frame == MARKED || innermost.is_none_or(|innermost| frame <= innermost.frame);
        if !is_so {
            self.regions.deeper = 0;
        }
        is_so
    }

    /// Leaves the marked region that was entered last.
    pub fn leave_marked(&mut self) {
        if self.pass_end(|_| true) {
            return;
        }
        let now = self.region_time();
        if self.regions.deeper != 0 {
            self.regions.deeper -= 1;
            return;
        }
        self.end_further_out(now, |open| open.is_marked);
    }

    /// Ends the innermost region that is meant, and what lies within; where none is, nothing.
    #[cold]
    #[inline(never)]
    fn end_further_out(&mut self, now: u64, is_meant: impl Fn(&Open) -> bool) {
        let open = self.regions.open.get(..self.regions.depth);
        let Some(at) = open.and_then(|open| open.iter().rposition(is_meant)) else {
            // Outside of all regions: it was entered before anything was observed. And where the
            // selection has changed, it may not have been recorded then.
            let is_wrong =
                self.regions.depth != 0 && self.control.has_selection.load(Ordering::Relaxed) == 0;
            self.count_lost(region_loss::REPAIRED, u64::from(is_wrong));
            return;
        };
        self.regions.deeper = 0;
        while self.regions.depth > at + 1 {
            self.count_lost(region_loss::REPAIRED, 1);
            self.end_innermost(now);
        }
        self.end_innermost(now);
    }

    /// Ends the regions that were left without a word, where something happens in this frame; says
    /// whether there were any.
    #[inline(always)]
    fn end_left(&mut self, frame: usize, now: u64) -> bool {
        let is_left = |innermost: &Open| frame > innermost.frame && frame != MARKED;
        let any = self.regions.innermost().is_some_and(is_left);
        if any {
            self.end_left_slowly(frame, now);
        }
        any
    }

    /// A function is entered once more in the frame of the innermost region, which is its own: it
    /// was left by a jump and is called again. Or it is a call of itself that the compiler has
    /// inlined, which goes a few calls deep, and leaves none within without a word.
    #[cold]
    #[inline(never)]
    fn end_repeated(&mut self, was_left: bool, is_same: impl Fn(&Open) -> bool, now: u64) {
        let open = self.regions.open.get(..self.regions.depth);
        let repeated = open.map_or(0, |open| {
            open.iter().rev().take_while(|open| is_same(open)).count()
        });
        let left = match was_left {
            true => 1,
            false if repeated > INLINED_RECURSION_MAX => repeated,
            false => 0,
        };
        for _ in 0..left {
            self.count_lost(region_loss::REPAIRED, 1);
            self.end_innermost(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_left_slowly(&mut self, frame: usize, now: u64) {
        self.regions.deeper = 0;
        while let Some(innermost) = self.regions.innermost()
            && frame > innermost.frame
        {
            self.count_lost(region_loss::REPAIRED, 1);
            self.end_innermost(now);
        }
    }

    fn count_lost(&self, why: usize, regions: u64) {
        if let Some(count) = self.status.region_losses.get(why) {
            add(count, regions);
        }
    }

    #[inline(always)]
    fn end_innermost(&mut self, now: u64) {
        if now == 0 {
            self.regions.is_told = false;
        } else if self.is_ready(now) {
            // SAFETY: there is room for a call, which takes more.
            let out = unsafe { self.encoder.leave(self.packet.out(), now) };
            self.packet.commit(out, 0);
        }
        self.regions.depth = self.regions.depth.saturating_sub(1);
    }

    /// The time, or 0 where nothing is recorded.
    #[inline(always)]
    fn region_time(&mut self) -> u64 {
        let word = self.control.recording.load(Ordering::Acquire);
        let is_settled = word == (self.settled_for >> 32) as u32;
        if self.control.without_regions.load(Ordering::Relaxed) != 0 || !recording::is_on(word) {
            return 0;
        }
        if !is_settled {
            self.settle_outside(recording::epoch(word));
        }
        ticks()
    }

    /// Recording was switched on since the last call: what follows is of this epoch.
    #[cold]
    #[inline(never)]
    fn settle_outside(&mut self, epoch: u32) {
        if epoch != self.epoch {
            keeping_errno(|| packet_pool::leave_behind(self));
            self.epoch = epoch;
        }
    }

    /// Whether an event can be written into the open packet now, from which the place knows what
    /// is open. Where it cannot, it is dropped.
    #[inline(always)]
    fn is_ready(&mut self, now: u64) -> bool {
        (self.regions.is_told && self.packet.has_room(0)) || self.tell_open(now)
    }

    #[cold]
    #[inline(never)]
    fn tell_open(&mut self, now: u64) -> bool {
        let has_room = self.packet.has_room(OPEN_BYTES_MAX)
            || (self.regions.until_try == 0 && keeping_errno(|| next_packet_outside(self, now)));
        if !has_room {
            let until_try = self.regions.until_try.checked_sub(1);
            self.regions.until_try = until_try.unwrap_or(REGIONS_WITHOUT_TRY);
            self.regions.is_told = false;
            self.count_lost(region_loss::DROPPED, 1);
            return false;
        }
        // Behind the opening of a packet it has been said.
        if !self.regions.is_told {
            self.regions.tell(&mut self.encoder, &mut self.packet, now);
        }
        true
    }
}
