//! Leaves a job whose other processes may have died: out of `MPI_Finalize`, or without it.
//!
//! MPICH's launcher takes the closing of a process' connection (`PMI_FD`) for its death, and then
//! kills all others, whatever their own end was going to be: its status becomes that of a kill. So
//! the connection is kept open for a moment by a child process, until the launcher has seen how
//! each process ended.

use rustix::fd::BorrowedFd;
use rustix::io::{FdFlags, fcntl_setfd};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the connection is kept: everybody leaves within some tens of milliseconds where there
/// are cores for all.
const SECONDS: &str = "1";

/// How long `MPI_Finalize` may go on once the end is requested in it. All ranks are in MPI's own by
/// then, behind the callbacks of programs.
const FINALIZE_MAX: Duration = Duration::from_secs(3);
/// As [`FINALIZE_MAX`], where the end was requested before: the ranks came through since, and are
/// not likely to be killed.
const FINALIZE_MAX_LATER: Duration = Duration::from_secs(30);
/// Polling period of the flag that the end has been requested.
const LOOK: Duration = Duration::from_millis(100);

/// From now on this process exits some time after the end is requested, whatever it is in:
/// some libraries wait in `MPI_Finalize` for processes that were killed, and Intel's launcher then
/// waits for this one.
///
/// # Errors
/// When there is no room for another thread.
pub fn exit_when_asked(end_asked: &Arc<AtomicBool>) -> std::io::Result<()> {
    let end_asked = end_asked.clone();
    let most = if end_asked.load(Ordering::Relaxed) {
        FINALIZE_MAX_LATER
    } else {
        FINALIZE_MAX
    };
    let watch = move || {
        while !end_asked.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
        std::thread::sleep(most);
        // Without what libraries do at exit: the other thread is in one.
        signal_hook::low_level::exit(0)
    };
    std::thread::Builder::new().spawn(watch).map(drop)
}

/// Keeps the launcher's connection open for a moment after this process. Where that is not
/// possible, the launcher's status is not ours to save.
pub fn hold_pmi_open() {
    let connection = std::env::var("PMI_FD")
        .ok()
        .and_then(|fd| fd.parse::<i32>().ok());
    let Some(connection) = connection else { return };
    // Launchers leave descriptors of one process open in others, and wait for all of them to close.
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let others: Vec<i32> = numbers.filter(|fd| *fd > 2 && *fd != connection).collect();
    for descriptor in others {
        // SAFETY: it was open a moment ago, this process has one thread, and only the descriptor's
        // flag is touched.
        let _ = fcntl_setfd(
            unsafe { BorrowedFd::borrow_raw(descriptor) },
            FdFlags::CLOEXEC,
        );
    }
    let mut sleep = Command::new("sleep");
    // It inherits the connection, and must not be taken for a process of the job.
    sleep.arg(SECONDS).env_remove("LD_PRELOAD");
    sleep
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = sleep.spawn();
}
