//! Notices that a call was left by a jump: an error handler or another callback of the program has
//! thrown an exception through MPI, or has called `longjmp`, so that the call's leave never came.
//!
//! Looked at only where a call begins while another one is open, which is rare. That one's frames
//! are gone, and it was left, where
//! - the stack has been given back below its wrapper's frame: the present call's is not deeper;
//! - or something else has been written over the address that the MPI library was to return to.
//!
//! While neither is so the call counts as open: what is called then may be called by a callback. So
//! a call that was left may be noticed only some calls later, and none that goes on is ever taken
//! for one that was left. Only the thread's own stack is judged: a handler on an alternate stack,
//! and fibers, have frames elsewhere.

use super::location::Here;
use super::stack_bounds::StackBounds;
use crate::clock::ticks;
use crate::limits::{RETURN_ADDRESS_BYTES, WRAPPER_FRAME_BYTES};
use crate::process;
use crate::resolve::objects;
use crate::world::callback_time;
use core::sync::atomic::{AtomicUsize, Ordering};
use invivo_proto::ids::{CommLocal, RegionId};
use invivo_proto::mpi::peer;
use invivo_proto::record::{RecordKind, Words};
use invivo_proto::shm::inside;

/// In the place of a frame: of a call that no callback can leave.
pub const NEVER: usize = usize::MAX;

/// Where the kernel lets functions return to that a tracer watches (the page `[uprobes]`, the
/// highest of all): while it does, nothing is known of who was to return where.
const TRACED: core::ops::Range<usize> = 0x7fff_ffff_e000..0x8000_0000_0000;

/// The code of the shim: its first address, and the one behind it.
static CODE: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Prepares, once.
pub fn start() {
    if let Some((begin, end)) = objects::code_around(start as *const () as usize) {
        CODE[0].store(begin, Ordering::Relaxed);
        CODE[1].store(end, Ordering::Relaxed);
    }
}

/// Whether the call that is open was left, where another one begins whose wrapper's frame is at
/// `now`. If so it has ended, and the other one may begin.
#[cold]
#[inline(never)]
pub fn is_left(mut here: Here, now: usize) -> bool {
    if !here.stack.is_known() {
        here.stack = StackBounds::of_this_thread();
    }
    let open = here.open_at;
    if !here.stack.holds(open, 0) {
        return false;
    }
    let is_given_back = here.stack.holds(now, 0) && now >= open;
    if !is_given_back && returns_to_wrapper(&here) || is_on_alternate_stack() {
        return false;
    }
    count_left(here);
    true
}

/// Ends the call that is open, if there is one, for a call that nothing but a jump leaves within
/// another one: `MPI_Finalize`.
#[cold]
pub fn end_for_finalize(here: Here) {
    if here.open_at != 0 {
        count_left(here);
    }
}

/// Whether a handler of a signal runs: its stack may even lie within the thread's.
fn is_on_alternate_stack() -> bool {
    // SAFETY: reads the thread's setting into a place of ours.
    unsafe {
        let mut now: libc::stack_t = core::mem::zeroed();
        libc::sigaltstack(core::ptr::null(), &mut now) != 0 || now.ss_flags & libc::SS_ONSTACK != 0
    }
}

/// Whether the MPI library still returns to the wrapper of the call that is open, as far as the
/// stack shows. Also while that cannot be told.
fn returns_to_wrapper(here: &Here) -> bool {
    let called_at = here.status.stack.load(Ordering::Relaxed) as usize;
    // Another call's, where the open one has not called the library yet.
    let is_of_it = here
        .open_at
        .checked_sub(called_at)
        .is_some_and(|frame| frame <= WRAPPER_FRAME_BYTES);
    let [begin, end] = CODE.each_ref().map(|at| at.load(Ordering::Relaxed));
    if !is_of_it || end == 0 || !here.stack.holds(called_at, RETURN_ADDRESS_BYTES) {
        return true;
    }
    // Right below, or below the arguments that do not fit into registers.
    (1..=RETURN_ADDRESS_BYTES / size_of::<usize>()).any(|back| {
        let at = (called_at as *const usize).wrapping_sub(back);
        // SAFETY: in the thread's own stack, below a frame that was there: mapped, and plain bytes.
        // The stack pointer keeps to multiples of eight.
        let word = unsafe { at.read_volatile() };
        (begin..end).contains(&word) || TRACED.contains(&word)
    })
}

fn count_left(here: Here) {
    if let Some(page) = process::page() {
        page.left_calls.fetch_add(1, Ordering::Relaxed);
    }
    end_call(here);
}

/// Ends a call whose leave does not come: with the last callback in it, if there was one, which is
/// what leaves calls; else now.
pub fn end_call(mut here: Here) {
    let status = here.status;
    let begin = status.entered_at.load(Ordering::Relaxed);
    let region = RegionId(status.region.load(Ordering::Relaxed) as u16);
    // Region 0 is of a call that is not recorded. And where records are behind the begin, that of
    // the call is written already. Of threads without a location the call is counted as dropped.
    if !here.is_overflow && region.0 != 0 && here.encoder.time() <= begin {
        let facts = Words {
            head: Words::head(RecordKind::Plain, region, CommLocal::NONE),
            message: Words::message(peer::NONE, 0),
            bytes_out: 0,
            bytes_in: 0,
        };
        let end = Some(callback_time::last())
            .filter(|called| *called > begin)
            .unwrap_or_else(ticks);
        here.record(RecordKind::Plain, facts, (begin, end), 0, 0);
    }
    here.open_at = 0;
    here.is_sampled = false;
    status.inside.store(inside::APPLICATION, Ordering::Release);
}
