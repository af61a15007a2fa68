//! Splits the world after the MPI library is initialised, and begins to observe.

use super::fault;
use super::finalize;
use super::found_numbers;
use super::refusals::warn;
use super::spinning;
use super::supervisor;
use crate::family::*;
use crate::process;
use crate::record::call::Call;
use crate::record::{send_queue, thread_location};
use crate::resolve::pmpi;
use crate::resolve::predefined::{comm_null, comm_world, errors_return, type_byte};
use crate::track::communicator_ids;
use crate::track::sites::Caller;
use crate::world::{attributes, worlds};
use core::ffi::c_int;
use core::sync::atomic::Ordering;
use invivo_proto::channel::{COLOR_APPLICATION, TAG_WELCOME, WELCOME_BYTES_MAX};
use invivo_proto::shm::{PLACE_UNKNOWN, Page, phase};

/// The communicators that the split makes of MPI's world.
struct Split {
    job: Comm,
    application: Comm,
    tool: Comm,
}

/// Splits the world and begins to observe. `begin` is when the application, at `caller`, called
/// `region`.
pub fn start(region: u16, begin: u64, caller: Caller) {
    let Some(page) = process::page() else { return };
    spinning::start();
    let Some(Split {
        job,
        application,
        tool,
    }) = split(page)
    else {
        page.phase.store(phase::SILENT, Ordering::Release);
        return warn("the world could not be split into application and tools");
    };

    worlds::set_comms(job, application, tool);
    attributes::start(application);
    let mut level: c_int = 0;
    // SAFETY: MPI is initialised; gettid has no preconditions.
    unsafe {
        pmpi::query_thread(&mut level);
        process::MAIN_THREAD.store(libc::gettid(), Ordering::Relaxed);
    }
    process::THREAD_LEVEL.store(level, Ordering::Relaxed);
    process::set_multiple(level >= THREAD_MULTIPLE);

    welcome(page, tool);
    thread_location::start();
    send_queue::start(page.packets.load(Ordering::Relaxed) as usize);
    communicator_ids::start(application);
    finalize::drain_in_finalize();

    // Before the phase: who sees the rank running relies on this call being named.
    if let Some(location) = thread_location::current() {
        location.announce(region, begin);
    }
    page.phase.store(phase::RUNNING, Ordering::Release);
    process::enter_state(process::state::OBSERVING);
    fault::watch();
    if let Some(mut call) = Call::initialised(region, begin, caller) {
        call.called();
        call.leave();
    }
}

/// Splits the world into the application's ranks and the tool processes. Nothing where that fails
/// or gives another number of ranks than was planned.
fn split(page: &Page) -> Option<Split> {
    let job = comm_world();
    let (mut rank, mut size) = (0, 0);
    let (mut tool, mut application) = (comm_null(), comm_null());
    // SAFETY: MPI is initialised; every process of the job does these two collectives next.
    unsafe {
        let failed = pmpi::comm_rank(job, &mut rank)
            | pmpi::comm_dup(job, &mut tool)
            | pmpi::comm_split(job, COLOR_APPLICATION, rank, &mut application)
            | pmpi::comm_size(application, &mut size);
        let planned = page.ranks.load(Ordering::Relaxed);
        if failed != SUCCESS || (planned != 0 && size as u32 != planned) {
            return None;
        }
        if planned == 0 {
            // Nobody knew before how many processes of which node are tools. The ranks are what is
            // left, in the launcher's order.
            pmpi::comm_rank(application, &mut rank);
            page.rank.store(rank as u32, Ordering::Relaxed);
            found_numbers::correct(rank, size);
            // Who it is comes with the welcome.
            page.place.store(PLACE_UNKNOWN, Ordering::Relaxed);
            page.ranks.store(size as u32, Ordering::Release);
        }
        // Our own trouble must not end the application, as MPI's default handler would.
        pmpi::comm_set_errhandler(tool, errors_return());
        pmpi::comm_set_name(application, c"MPI_COMM_WORLD".as_ptr());
    }
    Some(Split {
        job,
        application,
        tool,
    })
}

/// Receives from the place where it awaits the supervisor, and passes it on to the supervisor. Of a
/// place that nobody knew before, it is also how the rank comes to know it.
fn welcome(page: &Page, tool: Comm) {
    let place = match page.place.load(Ordering::Relaxed) {
        PLACE_UNKNOWN => ANY_SOURCE,
        place => place as c_int,
    };
    let mut path = [0u8; WELCOME_BYTES_MAX];
    let mut status = Status::EMPTY;
    // SAFETY: the buffer has the length that is given; the place sends this message to each of its
    // ranks.
    let result = unsafe {
        pmpi::recv(
            path.as_mut_ptr().cast(),
            path.len() as c_int,
            type_byte(),
            place,
            TAG_WELCOME,
            tool,
            &mut status,
        )
    };
    if result == SUCCESS {
        page.place.store(status.source as u32, Ordering::Relaxed);
        let bytes = (status.bytes() as usize).min(path.len());
        supervisor::send(&path[..bytes]);
    }
}
