//! Attributes of the application's world: MPI's own are looked up on the job's world.
//!
//! Those that MPI itself gives to `MPI_COMM_WORLD` are on the job's world only; the application's
//! own are on the application's world, and end with it.

use super::worlds::{application_world, substituted, worlds};
use crate::family::*;
use crate::resolve::pmpi;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

/// The keyval of a mark that the application's world has. MPI copies it to every communicator
/// that is a dup of the world, as it would have copied the predefined attributes.
static MARK: AtomicI32 = AtomicI32::new(KEYVAL_INVALID);

/// Marks the application's world, so that its dups can be recognised.
pub fn start(world: Comm) {
    let mut keyval = KEYVAL_INVALID;
    // SAFETY: both callbacks have the signatures that MPI asks for and live for ever.
    unsafe {
        let created = pmpi::comm_create_keyval(
            copy_mark as *const c_void,
            delete_nothing as *const c_void,
            &mut keyval,
            core::ptr::null_mut(),
        );
        if created == SUCCESS
            && pmpi::comm_set_attr(world, keyval, core::ptr::null_mut()) == SUCCESS
        {
            MARK.store(keyval, Ordering::Relaxed);
        }
    }
}

unsafe extern "C" fn copy_mark(
    _: Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    copied: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes places for the value and the flag.
    unsafe {
        *copied.cast::<*mut c_void>() = core::ptr::null_mut();
        *flag = 1;
    }
    SUCCESS
}

unsafe extern "C" fn delete_nothing(_: Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    SUCCESS
}

fn has_mark(comm: Comm) -> bool {
    let mut flag: c_int = 0;
    let mut value: *mut c_void = core::ptr::null_mut();
    let mark = MARK.load(Ordering::Relaxed);
    // SAFETY: the application just asked this communicator for another attribute, successfully.
    mark != KEYVAL_INVALID
        && unsafe { pmpi::comm_get_attr(comm, mark, (&raw mut value).cast(), &mut flag) } == SUCCESS
        && flag != 0
}

/// Gets an attribute of `comm` by `real`, which gets the communicator that has it and writes
/// `flag`.
///
/// # Safety
/// `flag` is the caller's place for it.
pub unsafe fn get(
    comm: Comm,
    keyval: c_int,
    flag: *mut c_int,
    mut real: impl FnMut(Comm) -> c_int,
) -> c_int {
    if !is_predefined(keyval) {
        return real(substituted(comm));
    }
    let result = real(comm);
    // SAFETY: MPI has written the flag.
    let absent = result == SUCCESS && unsafe { *flag } == 0;
    match worlds() {
        // A dup of the world would have copied it, had the world had it.
        Some(worlds) if absent && comm != worlds.job && is_copied(keyval) && has_mark(comm) => {
            real(worlds.job)
        }
        _ => result,
    }
}

/// Deletes the attributes of the application's world, in `MPI_Finalize` and after those of
/// `MPI_COMM_SELF`.
pub fn end() {
    // MPI deletes the attributes of its own world, and of no other. The application's go with the
    // communicator that has them; nobody uses it any more.
    if let Some(mut world) = application_world() {
        // SAFETY: the communicator is valid, and this is called once.
        unsafe { pmpi::comm_free(&mut world) };
    }
}
