//! Follows overflow threads: those that come when all locations are taken.
//!
//! Their calls are counted and not recorded. What other ranks rely on is followed all the same:
//! communicators, requests, ordinals. And a pause has to know that one of them is in MPI.
//!
//! Each borrows a location without packets and without a status page of its own, and gives it back
//! when it ends. Where a location becomes free meanwhile, its next call takes that.

use super::left_call;
use super::location::{Here, Location};
use super::stack_bounds::StackBounds;
use crate::process;
use crate::spin_lock::SpinLock;
use core::cell::Cell;
use core::sync::atomic::Ordering;
use invivo_proto::packet::DropReason;
use invivo_proto::shm::{Page, Status, recording};

/// Locations that nobody borrows.
static FREE: SpinLock<Vec<Here>> = SpinLock::new(Vec::new());

/// The location that the thread borrows.
struct Borrowed(Cell<Option<Here>>);

impl Drop for Borrowed {
    fn drop(&mut self) {
        let Some(mut here) = self.0.take() else {
            return;
        };
        here.stack = StackBounds::UNKNOWN;
        if here.open_at != 0 {
            here.open_at = 0;
            out_of_mpi();
        }
        FREE.with(|free| free.push(here));
    }
}

thread_local! {
    static BORROWED: Borrowed = const { Borrowed(Cell::new(None)) };
}

/// The rank's page, and the last status page, which belongs to all overflow threads together: it
/// counts how many are in MPI, and their calls.
fn pages() -> Option<(&'static Page, &'static Status)> {
    let page = process::page()?;
    Some((page, page.status.last()?))
}

/// The calling thread's location, borrowed first where necessary; nothing for a thread that is
/// ending.
#[cold]
#[inline(never)]
fn borrowed() -> Option<Here> {
    let (page, _) = pages()?;
    let keep = |own: &Borrowed| {
        let here = own.0.get().or_else(|| FREE.with(Vec::pop));
        let mut here = here.unwrap_or_else(|| Location::overflow(page));
        // Another thread may have had it before.
        // SAFETY: gettid has no preconditions.
        here.tid = unsafe { libc::gettid() };
        own.0.set(Some(here));
        here
    };
    BORROWED.try_with(keep).ok()
}

/// The location with which a call begins whose wrapper's frame is at `now`; nothing for an inner
/// call.
#[cold]
#[inline(never)]
pub fn enter(now: usize) -> Option<Here> {
    let (page, shared) = pages()?;
    let here = borrowed();
    if let Some(here) = here.filter(|here| here.open_at != 0) {
        if !left_call::is_left(here, now) {
            return None;
        }
        out_of_mpi();
    }
    // Counted like a call with a location whose record was dropped, so that the sums agree.
    if recording::is_on(page.control.recording.load(Ordering::Relaxed)) {
        shared.entered.fetch_add(1, Ordering::Relaxed);
        shared.dropped[DropReason::NoLocation as usize].fetch_add(1, Ordering::Relaxed);
    }
    let mut here = here?;
    // So that this call's leave polls, which counts the thread out of MPI.
    here.until_poll = 1;
    into_mpi();
    Some(here)
}

/// The location of the call that the thread is in.
#[cold]
pub fn inside() -> Option<Here> {
    borrowed()
}

/// Whether the calling thread is in a call that it began without a location of its own.
pub fn is_inside() -> bool {
    let inside = |own: &Borrowed| own.0.get().is_some_and(|here| here.open_at != 0);
    BORROWED.try_with(inside).unwrap_or(false)
}

/// Counts the thread into MPI. It may still be held at the gate, which counts it out again.
#[cold]
pub fn into_mpi() {
    if let Some((_, shared)) = pages() {
        shared.inside.fetch_add(1, Ordering::SeqCst);
    }
}

/// Counts the thread out of MPI: it goes back to the application, or is about to be held.
#[cold]
pub fn out_of_mpi() {
    if let Some((_, shared)) = pages() {
        shared.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts the calling thread out of MPI, if it was counted: `MPI_Finalize` has returned to it.
pub fn finalized() {
    let leave = |own: &Borrowed| {
        let inside = own.0.get().filter(|here| here.open_at != 0);
        if let Some(mut here) = inside {
            here.open_at = 0;
            out_of_mpi();
        }
    };
    // A thread that is ending has given back what it borrowed.
    let _ = BORROWED.try_with(leave);
}
