//! Gives each thread its location at its first call, and parks it when the thread ends.

use super::location::{Here, Location};
use super::stack_bounds::StackBounds;
use super::{left_call, overflow, packet_pool, parked, thread_pointer};
use crate::limits::LOCATIONS;
use crate::process;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};
use invivo_proto::shm::Page;

/// The key of POSIX whose value each thread's location is, and whose destructor sees threads end;
/// none where the program has used all of them up: locations are for life then.
///
/// No destructor of thread-local storage: those of the program run in any order with it, and may
/// call MPI. Keys are destroyed behind all of these; and where another key's destructor calls MPI
/// behind ours, the thread gets a location again, and ours is called again.
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);
const NO_KEY: u32 = u32::MAX;

/// Prepares, once, to see threads end.
pub fn start() {
    parked::start();
    left_call::start();
    let mut key = NO_KEY;
    // SAFETY: `ended` takes what `keep` gives, and is there as long as the process: libraries that
    // are preloaded are never unloaded.
    if unsafe { libc::pthread_key_create(&mut key, Some(ended)) } == 0 {
        KEY.store(key, Ordering::Relaxed);
    }
}

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
        return null_mut();
    };
    // A call that began without a location ends without one.
    if overflow::is_inside() {
        return null_mut();
    }
    // SAFETY: gettid has no preconditions.
    let tid = unsafe { libc::gettid() };
    let location = match parked::take() {
        Some(here) => occupy(here, page, tid),
        None => new(page, tid),
    };
    if location.is_null() {
        return location;
    }
    thread_pointer::set(location);
    let key = KEY.load(Ordering::Relaxed);
    if key != NO_KEY {
        // A thread for which there is no memory keeps its location for good.
        // SAFETY: a key of ours, which is never deleted.
        unsafe { libc::pthread_setspecific(key, location.cast()) };
    }
    location
}

/// A location that no thread had before; null where all are taken.
fn new(page: &'static Page, tid: i32) -> *mut Location {
    let index = page
        .locations
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| {
            ((n as usize) < LOCATIONS).then_some(n + 1)
        });
    let Ok(index) = index else {
        return null_mut();
    };
    let Some(status) = page.status.get(index as usize) else {
        return null_mut();
    };
    // A status page without a thread's id is one that nobody uses: readers look at this first.
    status.tid.store(tid as u32, Ordering::Release);
    let location = Box::new(Location::new(index as u16, tid, &page.control, status));
    // It stays where it is.
    let progress_at = core::ptr::from_ref(&location.until_poll) as u64;
    status.progress_at.store(progress_at, Ordering::Release);
    Box::into_raw(location)
}

/// Hands a parked location to the calling thread.
fn occupy(mut here: Here, page: &Page, tid: i32) -> *mut Location {
    here.occupant = here.occupant.wrapping_add(1);
    here.tid = tid;
    here.stack = StackBounds::UNKNOWN;
    here.regions.leave_all();
    if let Some(occupant) = page.occupants.get(usize::from(here.index)) {
        occupant.store(here.occupant, Ordering::Relaxed);
    }
    here.status.tid.store(tid as u32, Ordering::Release);
    // Behind the end of the rank its packets are the place's.
    if process::observing() {
        packet_pool::name_occupant(&mut here);
    }
    here.pointer()
}

/// The destructor of the key: the thread ends.
unsafe extern "C" fn ended(location: *mut c_void) {
    // A forked child, or a rank that has drained: what is shared is not ours any more.
    if !process::observing() {
        return;
    }
    // SAFETY: what `make` gave this thread, which is in no call of ours any more: threads end
    // outside, or were cancelled.
    let Some(mut here) = (unsafe { Here::of(location.cast()) }) else {
        return;
    };
    // It was cancelled in a call, or left it by a jump: the call ends with the thread.
    if here.open_at != 0 {
        left_call::end_call(here);
    }
    // The first thread's page tells how the rank is: it is nobody else's.
    if here.index == 0 {
        return packet_pool::leave_behind(&mut here);
    }
    thread_pointer::set(null_mut());
    parked::park(here);
}
