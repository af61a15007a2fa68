//! Process sets of sessions (MPI 4), without the tool processes: what a session calls `mpi://WORLD`
//! has the application's processes alone, like its world.

use super::worlds::{application_world, worlds};
use crate::family::*;
use crate::resolve::pmpi;
use crate::resolve::symbols::NextFunction;
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The groups of the application's world and of the job's, kept when the world ends: sessions may
/// outlive it. 0 while the world lives.
static KEPT_GROUPS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// The groups of both worlds.
#[derive(Clone, Copy)]
struct Groups {
    application: Handle,
    job: Handle,
}

/// Takes the tool processes out of the group of a process set.
#[cold]
#[inline(never)]
pub fn without_tools(group: &mut Handle) {
    let [application, job] = KEPT_GROUPS
        .each_ref()
        .map(|group| Handle(group.load(Ordering::Acquire) as RawHandle));
    if job != Handle(0) {
        return without_tools_of(Groups { application, job }, group);
    }

    let Some(mut groups) = groups() else { return };
    without_tools_of(groups, group);
    // SAFETY: both are ours.
    unsafe {
        pmpi::group_free(&mut groups.application);
        pmpi::group_free(&mut groups.job);
    }
}

/// Keeps the groups of both worlds, which are about to end.
pub fn keep_groups() {
    static SESSION_INIT: NextFunction = NextFunction::new(c"PMPI_Session_init");
    if SESSION_INIT.address().is_null() {
        return;
    }
    if let Some(Groups { application, job }) = groups() {
        for (kept, group) in KEPT_GROUPS.iter().zip([application, job]) {
            #[allow(clippy::unnecessary_cast)] // MPICH's handles have 32 bits.
            kept.store(group.0 as usize, Ordering::Release);
        }
    }
}

/// The groups of both worlds, to be freed by the caller.
fn groups() -> Option<Groups> {
    let worlds = worlds()?;
    let (mut application, mut job) = (Handle(0), Handle(0));
    // SAFETY: the worlds are valid until they end.
    unsafe {
        if pmpi::comm_group(worlds.application, &mut application) != SUCCESS {
            return None;
        }
        if pmpi::comm_group(worlds.job, &mut job) != SUCCESS {
            pmpi::group_free(&mut application);
            return None;
        }
    }
    Some(Groups { application, job })
}

fn without_tools_of(groups: Groups, group: &mut Handle) {
    let mut fewer = Handle(0);
    let (mut of_set, mut of_job) = (0, 0);
    // SAFETY: the groups are valid; MPI has just made the set's.
    unsafe {
        pmpi::group_size(*group, &mut of_set);
        pmpi::group_size(groups.job, &mut of_job);

        // A set of so many processes is the whole job's, in the order of the world. MPICH 5 does
        // not put groups of different sessions together, so it is done by numbers. Other sets are
        // the process alone, or Open MPI's, whose groups may be put together.
        let created = if of_set == of_job {
            let ranks = ranks_in(groups.application, groups.job);
            pmpi::group_incl(*group, ranks.len() as c_int, ranks.as_ptr(), &mut fewer)
        } else if cfg!(feature = "family-ompi") {
            pmpi::group_intersection(*group, groups.application, &mut fewer)
        } else {
            ERR_OTHER
        };
        if created == SUCCESS {
            pmpi::group_free(group);
            *group = fewer;
        }
    }
}

/// The ranks in one group of the members of another.
unsafe fn ranks_in(members: Handle, group: Handle) -> Vec<c_int> {
    let mut size = 0;
    // SAFETY: both groups are valid, and both arrays have `size` elements.
    unsafe {
        pmpi::group_size(members, &mut size);
        let numbers: Vec<c_int> = (0..size).collect();
        let mut ranks = numbers.clone();
        pmpi::group_translate_ranks(members, size, numbers.as_ptr(), group, ranks.as_mut_ptr());
        ranks
    }
}

/// Corrects the size of a process set in the information that a session gives about it.
pub unsafe fn without_tools_in_info(session: Handle, name: *const c_char, info: Handle) {
    if application_world().is_none() {
        return;
    }
    const SIZE: &CStr = c"mpi_size";
    let mut group = Handle(0);
    let mut digits = [0 as c_char; 32];
    let (mut size, mut flag): (c_int, c_int) = (0, 0);
    // SAFETY: session, name and info are the caller's, of a call that has succeeded; the buffer has
    // the length that is given, and its closing zero.
    unsafe {
        let room = digits.len() as c_int - 1;
        pmpi::info_get(info, SIZE.as_ptr(), room, digits.as_mut_ptr(), &mut flag);
        if flag == 0 || pmpi::group_from_session_pset(session, name, &mut group) != SUCCESS {
            return;
        }
        without_tools(&mut group);
        if pmpi::group_size(group, &mut size) == SUCCESS {
            libc::snprintf(digits.as_mut_ptr(), digits.len(), c"%d".as_ptr(), size);
            pmpi::info_set(info, SIZE.as_ptr(), digits.as_ptr());
        }
        pmpi::group_free(&mut group);
    }
}
