//! Drains everything that the rank recorded, from within `MPI_Finalize`.

use crate::clock::{monotonic_ns, sleep_us};
use crate::doorbell;
use crate::family::*;
use crate::lifecycle::{fault, supervisor};
use crate::limits::{DEFINITIONS_POLL_US, DEFINITIONS_WAIT_NS, DRAIN_WAIT_NS};
use crate::process;
use crate::record::call::Call;
use crate::record::{left_call, overflow, packet_pool, send_queue, thread_location};
use crate::resolve::pmpi;
use crate::resolve::predefined::comm_self;
use crate::track::definitions;
use crate::world::{attributes, process_sets};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use invivo_proto::shm::{inside, phase};

/// The `MPI_Finalize` that is being drained.
static FINALIZING: AtomicPtr<Call> = AtomicPtr::new(core::ptr::null_mut());

/// Makes `MPI_Finalize` drain: by an attribute of `MPI_COMM_SELF`.
pub fn drain_in_finalize() {
    // Attributes are deleted in the reverse order of their setting, so that ours, the first, goes
    // after all the application's own callbacks, which may still call MPI.
    let mut keyval = KEYVAL_INVALID;
    // SAFETY: both callbacks have the signatures that MPI asks for and live for ever.
    unsafe {
        pmpi::comm_create_keyval(
            copy_nothing as *const c_void,
            drain_callback as *const c_void,
            &mut keyval,
            core::ptr::null_mut(),
        );
        pmpi::comm_set_attr(comm_self(), keyval, core::ptr::null_mut());
    }
}

unsafe extern "C" fn copy_nothing(
    _: Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a place for the flag.
    unsafe { *flag = 0 };
    SUCCESS
}

unsafe extern "C" fn drain_callback(_: Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    // In this order: what is on its way may still have to ask the world that ends.
    drain();
    process_sets::keep_groups();
    attributes::end();
    SUCCESS
}

/// `MPI_Finalize` begins, and no callback may call it: a call of the thread that is open was left.
pub fn beginning() {
    // Where a tool stands between `MPI_Finalize` and `PMPI_Finalize`, the open call is the former.
    if process::observing()
        && FINALIZING.load(Ordering::Relaxed).is_null()
        && let Some(here) = thread_location::known()
    {
        left_call::end_for_finalize(here);
    }
}

/// Keeps the call of `MPI_Finalize`, whose record is the rank's last.
pub fn finalizing(call: Call) {
    FINALIZING.store(Box::into_raw(Box::new(call)), Ordering::Relaxed);
}

/// Sends everything that this rank recorded to the place. Called once, from within `MPI_Finalize`.
fn drain() {
    let Some(page) = process::page() else { return };
    if !process::observing() {
        return;
    }

    let finalizing = FINALIZING.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if !finalizing.is_null() {
        // SAFETY: a box of ours, taken out once.
        let mut call = unsafe { Box::from_raw(finalizing) };
        // Its record ends here: behind this nothing is recorded.
        call.called();
        call.write();
    }
    if let Some(mut location) = thread_location::current() {
        packet_pool::close(&mut location);
    }

    // Before the wait: other threads must not open packets that nobody would send.
    process::enter_state(process::state::DRAINED);
    fault::stop_watching();
    send_queue::drain(DRAIN_WAIT_NS);
    packet_pool::leave_open_packets();
    let until = monotonic_ns() + DEFINITIONS_WAIT_NS;
    while !definitions::is_flushed() && monotonic_ns() < until {
        sleep_us(DEFINITIONS_POLL_US);
    }
    // Last: the place takes the rank for complete then.
    page.phase.store(phase::DRAINED, Ordering::Release);
    doorbell::ring();
    if supervisor::says_that_place_is_gone() {
        flush_streams();
    }
}

/// Writes out what the program has printed: with the place gone the rank may never leave
/// `MPI_Finalize`.
fn flush_streams() {
    type FlushUnit = unsafe extern "C" fn(*const i32);
    // The Fortran library that the program may have brought along: no unit means all.
    // SAFETY: the function of this name has had this type in each version of libgfortran.
    unsafe {
        let fortran = libc::dlsym(libc::RTLD_DEFAULT, c"_gfortran_flush_i4".as_ptr());
        if !fortran.is_null() {
            core::mem::transmute::<*mut c_void, FlushUnit>(fortran)(core::ptr::null());
        }
        libc::fflush(core::ptr::null_mut());
    }
}

/// The MPI library's `MPI_Finalize` has returned. The thread was in MPI to its end: a pause must
/// not stop it there.
pub fn finalized() {
    if process::state() == process::state::DRAINED {
        show_inside(inside::APPLICATION);
    }
}

/// Ends a world that the program knows nothing of, as `MPI_Finalize` does.
pub fn end_hidden_world() {
    show_inside(inside::MPI);
    // SAFETY: the world was initialised by us and not finalised.
    unsafe { pmpi::finalize() };
    show_inside(inside::APPLICATION);
}

/// Shows on the status page where the calling thread is.
fn show_inside(inside: u32) {
    match thread_location::current() {
        Some(location) => location.status.inside.store(inside, Ordering::Release),
        None => overflow::finalized(),
    }
}
