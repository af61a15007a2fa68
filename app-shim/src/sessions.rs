//! Sessions (MPI 4): what a session calls `mpi://WORLD` has the application's processes alone, like its world; and a
//! program that has sessions and no world is observed all the same.
//!
//! Tools and application meet in the world. So where a session comes first, the shim initialises the world behind it and
//! keeps that to itself: the program hears that MPI is not initialised until it initialises it. What the program has not
//! begun it does not end, so the shim does, at exit.

use crate::family::*;
use crate::{process, real, start};
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The world was initialised by us.
static OURS: AtomicBool = AtomicBool::new(false);
/// The program has initialised it since, as far as it knows.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The program's sessions.
static OPEN: AtomicI32 = AtomicI32::new(0);

/// Whether the world is there and the program does not know.
pub fn world_is_hidden() -> bool {
    OURS.load(Ordering::Relaxed) && !TAKEN.load(Ordering::Relaxed)
}

/// The program initialises a world that is there already. Gives false where there is none of ours.
pub fn take_world() -> bool {
    OURS.load(Ordering::Relaxed) && !TAKEN.swap(true, Ordering::Relaxed)
}

/// A session was opened by a call of `region` that began at `begin`. Gives whether that made observation possible, and
/// the call is recorded.
pub fn opened(region: u16, begin: u64, session: Handle) -> bool {
    OPEN.fetch_add(1, Ordering::Relaxed);
    if process::page().is_none() || process::application_world().is_some() {
        return false;
    }
    let mut flag: c_int = 1;
    let mut provided: c_int = 0;
    // SAFETY: a session is open, so MPI may be asked; both places are ours.
    unsafe {
        if real::initialized(&mut flag) != SUCCESS || flag != 0 {
            return false;
        }
        let (argc, argv) = (core::ptr::null_mut(), core::ptr::null_mut());
        if real::init_thread(argc, argv, level_of(session), &mut provided) != SUCCESS {
            return false;
        }
        OURS.store(true, Ordering::Relaxed);
        libc::atexit(at_exit);
    }
    start::start(region, begin);
    true
}

/// A session was closed.
pub fn closed() {
    OPEN.fetch_sub(1, Ordering::Relaxed);
}

/// The thread level of a session, for the world behind it: another one could change what the program was granted.
unsafe fn level_of(session: Handle) -> c_int {
    let mut info = Handle(0 as RawHandle);
    let mut value = [0 as c_char; 64];
    let mut flag: c_int = 0;
    // SAFETY: the session is open; the value has room for so many characters and the closing zero.
    let value = unsafe {
        if real::session_get_info(session, &mut info) != SUCCESS {
            return THREAD_SINGLE;
        }
        let room = value.len() as c_int - 1;
        real::info_get(
            info,
            c"thread_level".as_ptr(),
            room,
            value.as_mut_ptr(),
            &mut flag,
        );
        real::info_free(&mut info);
        CStr::from_ptr(value.as_ptr())
    };
    match value.to_bytes() {
        b"MPI_THREAD_MULTIPLE" => THREAD_MULTIPLE,
        b"MPI_THREAD_SERIALIZED" => THREAD_SERIALIZED,
        b"MPI_THREAD_FUNNELED" => THREAD_FUNNELED,
        _ => THREAD_SINGLE,
    }
}

/// The group of a process set, without the tools' processes.
pub fn without_tools(group: &mut Handle) {
    let Some(world) = process::application_world() else {
        return;
    };
    let (mut ours, mut both) = (Handle(0 as RawHandle), Handle(0 as RawHandle));
    // SAFETY: the world that stands in is never freed before the end; MPI has just made the other group.
    unsafe {
        if real::comm_group(world, &mut ours) != SUCCESS {
            return;
        }
        if real::group_intersection(*group, ours, &mut both) == SUCCESS {
            real::group_free(group);
            *group = both;
        }
        real::group_free(&mut ours);
    }
}

/// The size that is told of a process set, without the tools' processes.
pub unsafe fn without_tools_in_info(session: Handle, name: *const c_char, info: Handle) {
    if process::application_world().is_none() {
        return;
    }
    const SIZE: &CStr = c"mpi_size";
    let mut group = Handle(0 as RawHandle);
    let mut told = [0 as c_char; 32];
    let (mut size, mut flag): (c_int, c_int) = (0, 0);
    // SAFETY: session, name and info are the caller's, of a call that has succeeded; the buffer has the length that is
    // given, and its closing zero.
    unsafe {
        let room = told.len() as c_int - 1;
        real::info_get(info, SIZE.as_ptr(), room, told.as_mut_ptr(), &mut flag);
        if flag == 0 || real::group_from_session_pset(session, name, &mut group) != SUCCESS {
            return;
        }
        without_tools(&mut group);
        if real::group_size(group, &mut size) == SUCCESS {
            libc::snprintf(told.as_mut_ptr(), told.len(), c"%d".as_ptr(), size);
            real::info_set(info, SIZE.as_ptr(), told.as_ptr());
        }
        real::group_free(&mut group);
    }
}

/// Ends the world that the program knows nothing of. A program that leaves with a session open ends as it would: without.
extern "C" fn at_exit() {
    if world_is_hidden() && OPEN.load(Ordering::Relaxed) == 0 && process::state() != process::state::SILENT {
        // SAFETY: the world was initialised by us and not finalised.
        unsafe { real::finalize() };
    }
}
