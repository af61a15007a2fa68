//! Initialises the world for programs that open sessions (MPI 4) and no world, so that they are
//! observed, too.
//!
//! Tools and application meet in the world. So where a session comes first, the shim initialises
//! the world before it and keeps that to itself: the program hears that MPI is not initialised
//! until it initialises it. What the program has not begun it does not end, so the shim does, at
//! exit.

use super::finalize;
use crate::family::*;
use crate::process;
use crate::resolve::pmpi;
use crate::resolve::predefined::info_null;
use crate::world::worlds::application_world;
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Whether the shim has initialised the world.
static WORLD_IS_OURS: AtomicBool = AtomicBool::new(false);
/// Whether the program has initialised it since, as far as it knows.
static WORLD_IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// How many sessions the program has open.
static OPEN: AtomicI32 = AtomicI32::new(0);

/// Whether the world is there and the program does not know.
pub fn world_is_hidden() -> bool {
    WORLD_IS_OURS.load(Ordering::Relaxed) && !WORLD_IS_TAKEN.load(Ordering::Relaxed)
}

/// Lets the program initialise a world that the shim has initialised already. False where there is
/// no such world, or the program has it.
pub fn take_world() -> bool {
    WORLD_IS_OURS.load(Ordering::Relaxed) && !WORLD_IS_TAKEN.swap(true, Ordering::Relaxed)
}

/// Initialises the world before a session that is about to be opened with this information, unless
/// there is one. Gives whether it did.
pub fn make_world(info: Handle) -> bool {
    if process::page().is_none() || application_world().is_some() {
        return false;
    }

    // As in the tool processes: what MPI does for the world and for the session is the same, and in
    // the same order, everywhere then.
    let mut flag: c_int = 1;
    let mut provided: c_int = 0;
    let (argc, argv) = (core::ptr::null_mut(), core::ptr::null_mut());
    // SAFETY: MPI may be asked at any time whether it is initialised; the places are ours.
    unsafe {
        if pmpi::initialized(&mut flag) != SUCCESS || flag != 0 {
            return false;
        }
        // The level that the session would have had: another one could change what the program is
        // granted.
        if pmpi::init_thread(argc, argv, level(info), &mut provided) != SUCCESS {
            return false;
        }
        WORLD_IS_OURS.store(true, Ordering::Relaxed);
        libc::atexit(at_exit);
    }
    true
}

/// Prepares for a session beside a world, whatever the level of either: its threads may be in MPI
/// while others are, which the world's level does not say.
pub fn beside_the_world() {
    process::set_multiple(true);
}

/// Counts a session that was opened.
pub fn opened() {
    OPEN.fetch_add(1, Ordering::Relaxed);
}

/// Counts a session that was closed.
pub fn closed() {
    OPEN.fetch_sub(1, Ordering::Relaxed);
}

/// The thread level of a session that is opened with this information.
unsafe fn level(info: Handle) -> c_int {
    let mut value = [0 as c_char; 64];
    let mut flag: c_int = 0;
    let room = value.len() as c_int - 1;
    // SAFETY: the caller's information, or none; the value has room for so many characters and the
    // closing zero.
    let value = unsafe {
        if info != info_null() {
            pmpi::info_get(
                info,
                c"thread_level".as_ptr(),
                room,
                value.as_mut_ptr(),
                &mut flag,
            );
        }
        CStr::from_ptr(value.as_ptr())
    };
    match value.to_bytes() {
        b"MPI_THREAD_MULTIPLE" => THREAD_MULTIPLE,
        b"MPI_THREAD_SERIALIZED" => THREAD_SERIALIZED,
        b"MPI_THREAD_FUNNELED" => THREAD_FUNNELED,
        _ if sessions_are_multiple() => THREAD_MULTIPLE,
        _ => THREAD_SINGLE,
    }
}

/// Whether every session has the highest level, whatever is requested: so it is in MPICH 4.0, the
/// first that has sessions.
fn sessions_are_multiple() -> bool {
    let (mut version, mut subversion): (c_int, c_int) = (0, 0);
    // SAFETY: MPI may be asked for its version at any time.
    let known = unsafe { pmpi::get_version(&mut version, &mut subversion) } == SUCCESS;
    cfg!(feature = "family-mpich") && known && (version, subversion) == (4, 0)
}

/// Ends the world that the program knows nothing of. A program that leaves with a session open ends
/// as it would without Invivo: MPI is not finalised.
extern "C" fn at_exit() {
    if world_is_hidden()
        && OPEN.load(Ordering::Relaxed) == 0
        && process::state() != process::state::SILENT
    {
        finalize::end_hidden_world();
    }
}
