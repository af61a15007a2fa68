//! Sessions (MPI 4): what a session calls `mpi://WORLD` has the application's processes alone, like
//! its world; and a program that has sessions and no world is observed all the same.
//!
//! Tools and application meet in the world. So where a session comes first, the shim initialises
//! the world before it and keeps that to itself: the program hears that MPI is not initialised
//! until it initialises it. What the program has not begun it does not end, so the shim does, at
//! exit.

use crate::family::*;
use crate::next::Next;
use crate::{process, real, start};
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

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

/// A session is about to be opened, with this information. Where there is no world yet, it is made
/// first, as in the tools' processes: what MPI does of the one for the other is the same everywhere
/// then. Gives whether it was.
pub fn make_world(info: Handle) -> bool {
    if process::page().is_none() || process::application_world().is_some() {
        return false;
    }
    let mut flag: c_int = 1;
    let mut provided: c_int = 0;
    let (argc, argv) = (core::ptr::null_mut(), core::ptr::null_mut());
    // SAFETY: MPI may be asked at any time whether it is initialised; the places are ours.
    unsafe {
        if real::initialized(&mut flag) != SUCCESS || flag != 0 {
            return false;
        }
        // The level that the session would have had: another one could change what the program is
        // granted.
        if real::init_thread(argc, argv, level(info), &mut provided) != SUCCESS {
            return false;
        }
        OURS.store(true, Ordering::Relaxed);
        libc::atexit(at_exit);
    }
    true
}

/// A session is about to be opened beside a world, whatever the level of either: its threads may be
/// in MPI while others are, which the world's level does not tell.
pub fn beside_the_world() {
    process::MULTIPLE.store(true, Ordering::Relaxed);
}

/// A session was opened.
pub fn opened() {
    OPEN.fetch_add(1, Ordering::Relaxed);
}

/// A session was closed.
pub fn closed() {
    OPEN.fetch_sub(1, Ordering::Relaxed);
}

/// The thread level that a session gets which is opened with this information.
unsafe fn level(info: Handle) -> c_int {
    let mut value = [0 as c_char; 64];
    let mut flag: c_int = 0;
    let room = value.len() as c_int - 1;
    // SAFETY: the caller's information, or none; the value has room for so many characters and the
    // closing zero.
    let value = unsafe {
        if info != info_null() {
            real::info_get(
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

/// MPICH 4.0, the first that has sessions, gives every one the highest level, whatever is asked
/// for.
fn sessions_are_multiple() -> bool {
    let (mut version, mut subversion): (c_int, c_int) = (0, 0);
    // SAFETY: MPI may be asked for its version at any time.
    let known = unsafe { real::get_version(&mut version, &mut subversion) } == SUCCESS;
    cfg!(feature = "family-mpich") && known && (version, subversion) == (4, 0)
}

/// The group of a process set, without the tools' processes: those of the whole job, in the order
/// of the world. (MPICH 5 does not put groups of different sessions together, so it is done by
/// numbers.) Other sets are the process alone, or Open MPI's, whose groups may be put together.
pub fn without_tools(group: &mut Handle) {
    let kept = GROUPS.each_ref().map(|group| group.load(Ordering::Acquire));
    if kept[1] != 0 {
        return without_tools_by(kept.map(|group| Handle(group as RawHandle)), group);
    }
    let Some(mut groups) = groups() else { return };
    without_tools_by(groups, group);
    // SAFETY: both are ours.
    unsafe {
        real::group_free(&mut groups[0]);
        real::group_free(&mut groups[1]);
    }
}

/// The groups of the application's world and of the whole job, kept when the world ends: sessions
/// may outlive it.
static GROUPS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// The world is about to end.
pub fn keep_groups() {
    static SESSION_INIT: Next = Next::new(c"PMPI_Session_init");
    if SESSION_INIT.address().is_null() {
        return;
    }
    for (kept, group) in GROUPS.iter().zip(groups().into_iter().flatten()) {
        #[allow(clippy::unnecessary_cast)] // MPICH's handles have 32 bits.
        kept.store(group.0 as usize, Ordering::Release);
    }
}

/// The groups of the application's world and of the whole job.
fn groups() -> Option<[Handle; 2]> {
    let worlds = process::worlds()?;
    let (mut ours, mut everybody) = (Handle(0 as RawHandle), Handle(0 as RawHandle));
    // SAFETY: the worlds are valid until they end.
    unsafe {
        if real::comm_group(worlds.ours, &mut ours) != SUCCESS {
            return None;
        }
        if real::comm_group(worlds.known, &mut everybody) != SUCCESS {
            real::group_free(&mut ours);
            return None;
        }
    }
    Some([ours, everybody])
}

fn without_tools_by([ours, everybody]: [Handle; 2], group: &mut Handle) {
    let mut fewer = Handle(0 as RawHandle);
    let (mut of_set, mut of_world) = (0, 0);
    // SAFETY: the groups are valid; MPI has just made the set's.
    unsafe {
        real::group_size(*group, &mut of_set);
        real::group_size(everybody, &mut of_world);
        let made = if of_set == of_world {
            let ranks = ranks_in(ours, everybody);
            real::group_incl(*group, ranks.len() as c_int, ranks.as_ptr(), &mut fewer)
        } else if cfg!(feature = "family-ompi") {
            real::group_intersection(*group, ours, &mut fewer)
        } else {
            ERR_OTHER
        };
        if made == SUCCESS {
            real::group_free(group);
            *group = fewer;
        }
    }
}

/// The ranks in one group of the members of another.
unsafe fn ranks_in(members: Handle, group: Handle) -> Vec<c_int> {
    let mut size = 0;
    // SAFETY: both groups are valid, and both arrays have `size` elements.
    unsafe {
        real::group_size(members, &mut size);
        let numbers: Vec<c_int> = (0..size).collect();
        let mut ranks = numbers.clone();
        real::group_translate_ranks(members, size, numbers.as_ptr(), group, ranks.as_mut_ptr());
        ranks
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
    // SAFETY: session, name and info are the caller's, of a call that has succeeded; the buffer has
    // the length that is given, and its closing zero.
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

/// Ends the world that the program knows nothing of. A program that leaves with a session open ends
/// as it would: without.
extern "C" fn at_exit() {
    if world_is_hidden()
        && OPEN.load(Ordering::Relaxed) == 0
        && process::state() != process::state::SILENT
    {
        start::end_hidden_world();
    }
}
