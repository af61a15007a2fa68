//! Maps the rank's shared memory, before the MPI library is initialised.

use super::refusals::{refuse_another_family, refuse_library, refuse_without_supervisor, warn};
use super::spinning;
use super::supervisor;
use super::supervisor_fds::{self, SupervisorFds};
use crate::process;
use crate::resolve::library;
use core::ffi::c_int;
use core::sync::atomic::Ordering;
use invivo_proto::channel::{ENV_DESCRIPTORS, ENV_HANDOVER};
use invivo_proto::shm::Region;

/// `MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED`.
const MEMBARRIER_REGISTER: c_int = 1 << 2;
/// The file name by which the shim finds itself in `LD_PRELOAD`.
const SHIM_FILE: &str = "libinvivo_shim.so";

/// Attaches this process to its supervisor. Without a supervisor nothing is observed and nothing is
/// said: the library was loaded by somebody who knows.
pub fn attach() {
    let Ok(descriptors) = std::env::var(ENV_DESCRIPTORS) else {
        return;
    };
    refuse_another_family();
    #[cfg(target_arch = "x86_64")]
    if !crate::resolve::restored_symbols::restore()
        && let Some(library) = library::file()
    {
        refuse_library(library);
    }

    let mut numbers = descriptors
        .split(',')
        .map(|number| number.parse::<c_int>().ok());
    let mut next = || numbers.next().flatten();
    let given = (|| Some((next()?, next()?, next()?)))();
    spinning::wanted(next() == Some(1));
    let entries_before = given.map_or(0, |(_, _, before)| before as usize);
    let handover = std::env::var(ENV_HANDOVER).ok();

    // This process is the one that is observed; programs that it starts are not.
    // SAFETY: the program is in MPI_Init, which it must not call while other threads change the
    // environment.
    unsafe {
        std::env::remove_var(ENV_DESCRIPTORS);
        std::env::remove_var(ENV_HANDOVER);
        if let Ok(preload) = std::env::var("LD_PRELOAD") {
            match without_shim(&preload, entries_before) {
                rest if rest.is_empty() => std::env::remove_var("LD_PRELOAD"),
                rest => std::env::set_var("LD_PRELOAD", rest),
            }
        }
    }

    let numbers = given.map(|(memory, control, _)| (memory, control));
    match supervisor_fds::find(numbers, handover.as_deref()) {
        Some(descriptors) => take_over(descriptors),
        None => refuse_without_supervisor(),
    }
}

/// Maps the memory and keeps the socket.
fn take_over(SupervisorFds { memory, socket }: SupervisorFds) {
    // SAFETY: both descriptors were given to this process by its supervisor; mapping and flags
    // touch only them.
    unsafe {
        libc::fcntl(memory, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(socket, libc::F_SETFD, libc::FD_CLOEXEC);
        supervisor::set_socket(socket);

        let mut stat: libc::stat = core::mem::zeroed();
        if libc::fstat(memory, &mut stat) != 0 {
            return warn("the rank's shared memory is not there");
        }
        let bytes = stat.st_size as usize;
        // Its pages are there: the supervisor has allocated them. Mapped at once, or each of them
        // would stop the first call that writes to it for microseconds.
        let base = libc::mmap(
            core::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_POPULATE,
            memory,
            0,
        );
        libc::close(memory);
        if base == libc::MAP_FAILED {
            return warn("the rank's shared memory cannot be mapped");
        }

        match Region::attach(base.cast(), bytes) {
            Ok(region) => {
                // The first process to come is the rank: one that inherited the same memory (a
                // launcher's child that initialises MPI as well) is not observed.
                let taken = region.page().pid.compare_exchange(
                    0,
                    libc::getpid() as u32,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                if taken.is_ok() {
                    process::set_region(region);
                }
            }
            Err(why) => warn(&why.to_string()),
        }

        // Whoever closes the gate issues a membarrier, which reaches registered processes only; see
        // `Call::enter`.
        libc::syscall(libc::SYS_membarrier, MEMBARRIER_REGISTER, 0, 0);
        libc::pthread_atfork(None, None, Some(in_forked_child));
    }
}

/// Silences a forked child, which shares the memory but is not the rank.
unsafe extern "C" fn in_forked_child() {
    process::enter_state(process::state::SILENT);
}

/// The list of preloaded libraries without the shim, and without as many entries right before it.
fn without_shim(preload: &str, before: usize) -> String {
    let mut rest: Vec<&str> = Vec::new();
    for entry in preload.split([':', ' ']).filter(|entry| !entry.is_empty()) {
        if entry.ends_with(SHIM_FILE) {
            rest.truncate(rest.len().saturating_sub(before));
        } else {
            rest.push(entry);
        }
    }
    rest.join(":")
}
