//! Gives each thread its location at its first call, and closes its packet when it ends.

use super::location::{Here, Location};
use super::{packet_pool, thread_pointer};
use crate::limits::LOCATIONS;
use crate::process;
use core::cell::Cell;
use core::sync::atomic::Ordering;

/// The calling thread's location, made where necessary; nothing where all are taken.
#[inline(always)]
pub fn current() -> Option<Here> {
    let location = thread_pointer::get();
    let location = if location.is_null() { make() } else { location };
    // SAFETY: null, or the leaked box that `make` gave this thread.
    unsafe { Here::of(location) }
}

/// The calling thread's location if it has one, for those that may not make it: signal handlers.
pub fn known() -> Option<Here> {
    // SAFETY: null, or the leaked box that `make` gave this thread.
    unsafe { Here::of(thread_pointer::get()) }
}

#[cold]
#[inline(never)]
fn make() -> *mut Location {
    let Some(page) = process::page() else {
        return core::ptr::null_mut();
    };
    let index = page
        .locations
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| {
            ((n as usize) < LOCATIONS).then_some(n + 1)
        });
    let Ok(index) = index else {
        return core::ptr::null_mut();
    };
    let Some(status) = page.status.get(index as usize) else {
        return core::ptr::null_mut();
    };

    // SAFETY: gettid has no preconditions.
    let tid = unsafe { libc::gettid() };
    // A status page without a thread's id is one that nobody uses: readers look at this first.
    status.tid.store(tid as u32, Ordering::Release);
    let location = Box::new(Location::new(index as u16, tid, &page.control, status));
    let location = Box::into_raw(location);
    thread_pointer::set(location);
    // A thread that is ending already keeps what it opens now.
    let _ = OWN.try_with(|own| own.0.set(location));
    location
}

/// The location that ends with its thread.
struct Own(Cell<*mut Location>);

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: null, or this thread's, which is in no call of ours any more: threads end
        // outside, or were cancelled.
        if let Some(location) = unsafe { self.0.get().as_mut() } {
            packet_pool::leave_behind(location);
        }
    }
}

thread_local! {
    static OWN: Own = const { Own(Cell::new(core::ptr::null_mut())) };
}
