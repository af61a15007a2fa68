//! Leaving a job of MPICH without `MPI_Finalize`, as ranks have left before.
//!
//! MPICH's launcher takes the closing of a process' connection (`PMI_FD`) for its death, and then kills all others, whatever
//! their own end was going to be: its status becomes that of a kill. So the connection is kept open for a moment by somebody
//! else, until the launcher has seen how each process ended.

use rustix::fd::BorrowedFd;
use rustix::io::{FdFlags, fcntl_setfd};
use std::process::{Command, Stdio};

/// How long: everybody leaves within some tens of milliseconds where there are cores for all.
const SECONDS: &str = "1";

/// Keeps the launcher's connection open for a moment after this process. Where that is not possible, the launcher's status is
/// not ours to save.
pub fn outlive() {
    let connection = std::env::var("PMI_FD").ok().and_then(|fd| fd.parse::<i32>().ok());
    let Some(connection) = connection else { return };
    // Launchers leave descriptors of one process open in others, and wait for all of them to close.
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let others: Vec<i32> = numbers.filter(|fd| *fd > 2 && *fd != connection).collect();
    for descriptor in others {
        // SAFETY: it was open a moment ago, this process has one thread, and only the descriptor's flag is touched.
        let _ = fcntl_setfd(unsafe { BorrowedFd::borrow_raw(descriptor) }, FdFlags::CLOEXEC);
    }
    let mut sleep = Command::new("sleep");
    sleep.arg(SECONDS).env_remove("LD_PRELOAD");
    sleep
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = sleep.spawn();
}
