//! Starts a child as if the launcher had started it, and leaves as it left. Unsafe code is needed
//! between fork and exec, and for a signal's default effect.

use nix::sys::signal::{SigHandler, SigSet};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use std::ffi::OsString;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// How a child ended.
pub use invivo_proto::control::tree::Ended;

/// What a child gets from its supervisor beside the command itself.
#[derive(Clone, Copy, Debug)]
pub struct Inheritance<'a> {
    /// Its signal mask: the one that the supervisor was started with.
    pub mask: SigSet,
    /// Our descriptors that it keeps. Those of the launcher it keeps anyway.
    pub descriptors: &'a [BorrowedFd<'a>],
    /// It keeps nothing but these and its three standard ones.
    pub nothing_else: bool,
}

/// Starts `command`. The child dies with the calling thread, so that nobody is left behind when the
/// supervisor is killed.
///
/// # Errors
/// As execvp: the program is not there, or cannot be run.
pub fn start(mut command: Command, inheritance: Inheritance<'_>) -> std::io::Result<Pid> {
    let keep: Vec<RawFd> = inheritance
        .descriptors
        .iter()
        .map(AsRawFd::as_raw_fd)
        .collect();
    let close = if inheritance.nothing_else {
        descriptors_but(&keep)?
    } else {
        Vec::new()
    };
    let parent = rustix::process::getpid();
    let mask = inheritance.mask;

    // The application gets SIGCHLD back as the launcher has set it.
    let ignored = expect_children();
    let prepare = move || {
        if ignored {
            set_effect(libc::SIGCHLD, SigHandler::SigIgn);
        }
        mask.thread_set_mask()?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have been killed before the call above: then no death signal comes.
        if rustix::process::getppid() != Some(parent) {
            rustix::process::kill_process(rustix::process::getpid(), Signal::KILL)?;
        }
        // In the child only: the parent's descriptors keep their flags.
        keep.iter().try_for_each(|fd| set_flags(*fd, 0))?;
        close.iter().try_for_each(|fd| close_at_exec(*fd))
    };
    // SAFETY: `prepare` runs between fork and exec. It makes system calls only: it neither
    // allocates nor takes a lock, and an error is built from a number.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn()?;
    // A pid fits: the kernel's are below 2^22.
    Pid::from_raw(child.id() as i32)
        .ok_or_else(|| std::io::Error::other("a child without a number"))
}

/// Lets a command inherit its three standard descriptors and nothing else: what outlives us must
/// not keep the launcher's connection.
///
/// # Errors
/// When what is open cannot be told.
pub fn inherit_nothing(command: &mut Command) -> std::io::Result<()> {
    let close = descriptors_but(&[])?;
    let prepare = move || close.iter().try_for_each(|fd| close_at_exec(*fd));
    // SAFETY: `prepare` runs between fork and exec. It makes system calls only, over a list that
    // was made before: it neither allocates nor takes a lock, and an error is built from a number.
    unsafe { command.pre_exec(prepare) };
    Ok(())
}

fn set_flags(descriptor: RawFd, flags: i32) -> std::io::Result<()> {
    // SAFETY: fcntl with F_SETFD touches no memory; an invalid number is an error, not a hazard.
    match unsafe { libc::fcntl(descriptor, libc::F_SETFD, flags) } {
        0.. => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Lets a descriptor go at exec. One that another thread has closed since it was listed is gone
/// already.
fn close_at_exec(descriptor: RawFd) -> std::io::Result<()> {
    match set_flags(descriptor, libc::FD_CLOEXEC) {
        Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok(()),
        set => set,
    }
}

/// Makes sure that a child's exit status is kept for `waitid`: the process that started us may have
/// ignored SIGCHLD, which is inherited and makes the kernel drop it. Returns whether it was
/// ignored.
fn expect_children() -> bool {
    matches!(
        set_effect(libc::SIGCHLD, SigHandler::SigDfl),
        Some(SigHandler::SigIgn)
    )
}

/// Sets a signal's effect (default or ignored); returns the one before.
fn set_effect(number: i32, effect: SigHandler) -> Option<SigHandler> {
    let signal = nix::sys::signal::Signal::try_from(number).ok()?;
    // SAFETY: neither effect is a handler that could run code of ours.
    unsafe { nix::sys::signal::signal(signal, effect) }.ok()
}

/// Which of the two one is, after a [`fork`].
#[derive(Clone, Copy, Debug)]
pub enum Fork {
    /// The one that was there before, with its child.
    Parent(Pid),
    /// The child.
    Child,
}

/// Parts the calling process, which must have no other thread, in two. The child is in a process
/// group of its own and is asked to end (SIGTERM) when its parent is gone.
///
/// # Errors
/// When there is no room for another process.
pub fn fork() -> std::io::Result<Fork> {
    // Its end is to be noticed, and is a signal.
    expect_children();
    let parent = rustix::process::getpid();
    // SAFETY: nobody but the calling thread could hold a lock that the child finds locked: there is
    // no other thread.
    match unsafe { nix::unistd::fork() }? {
        nix::unistd::ForkResult::Parent { child } => {
            let child = Pid::from_raw(child.as_raw())
                .ok_or_else(|| std::io::Error::other("a child without a number"))?;
            // The child does the same: whoever comes first. It cannot have become another program
            // by now.
            let _ = rustix::process::setpgid(Some(child), Some(child));
            Ok(Fork::Parent(child))
        }
        nix::unistd::ForkResult::Child => {
            // In the same group it ends with its parent, and without the signal it has other ways
            // to notice.
            let _ = rustix::process::setpgid(None, None);
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
            if rustix::process::getppid() != Some(parent) {
                std::process::exit(1);
            }
            Ok(Fork::Child)
        }
    }
}

/// Becomes `command`, with a signal mask. Returns when that fails.
pub fn become_program(mut command: Command, mask: SigSet) -> std::io::Error {
    // SAFETY: this runs in a process of one thread right before exec, and makes a system call only.
    // It is needed because the library clears the mask before exec.
    unsafe { command.pre_exec(move || Ok(mask.thread_set_mask()?)) };
    command.exec()
}

/// Open descriptors from 3 on that are not in `keep`.
fn descriptors_but(keep: &[RawFd]) -> std::io::Result<Vec<RawFd>> {
    let listing = std::fs::read_dir("/proc/self/fd")?;
    let numbers = listing.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut open: Vec<RawFd> = numbers.filter(|fd| *fd > 2 && !keep.contains(fd)).collect();
    // The listing's own is closed again.
    open.retain(|fd| std::fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_ok());
    Ok(open)
}

/// Takes note of a child's end, or says that it goes on. Its number may belong to another process
/// afterwards.
pub fn ended(child: Pid) -> Option<Ended> {
    ended_with(child, WaitIdOptions::empty())
}

/// The same, where the child keeps its number: signals that come later must not reach another
/// process.
pub fn ended_keeping_number(child: Pid) -> Option<Ended> {
    ended_with(child, WaitIdOptions::NOWAIT)
}

fn ended_with(child: Pid, more: WaitIdOptions) -> Option<Ended> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | more;
    // An error means that there is no such child: nobody but us waits for it, so it cannot happen.
    let status = rustix::process::waitid(WaitId::Pid(child), options).ok()??;
    // A thread of ours may trace the child for its call stack: the kernel reports those stops here
    // as well, whatever the options are.
    if status.trapped() {
        return None;
    }
    Some(match status.exit_status() {
        Some(code) => Ended::Code(code),
        None => Ended::Signal(status.terminating_signal().unwrap_or(libc::SIGKILL)),
    })
}

/// How long a killed child may take: the kernel gives its memory back meanwhile.
const GONE_MAX: Duration = Duration::from_secs(1);
/// Between two polls for whether it is gone.
const GONE_POLL: Duration = Duration::from_millis(2);

/// Ends a child, and with it its hold on what it inherited: MPICH's launcher is to see the
/// connection close before the process that it has started ends, or it may wait for ever for the
/// others.
pub fn end(child: Pid) {
    let _ = rustix::process::kill_process(child, Signal::KILL);
    let since = Instant::now();
    while ended(child).is_none() && since.elapsed() < GONE_MAX {
        std::thread::sleep(GONE_POLL);
    }
}

/// Sends a signal by its number: real-time signals have no names. A child that is gone needs none.
pub fn pass_on(child: Pid, number: i32) {
    // SAFETY: kill touches no memory. The child has not been waited for, so its number is still its
    // own.
    unsafe { libc::kill(child.as_raw_nonzero().get(), number) };
}

/// Sends a signal by its number to the process group that the child leads.
pub fn pass_on_to_group(child: Pid, number: i32) {
    // SAFETY: as above.
    unsafe { libc::kill(-child.as_raw_nonzero().get(), number) };
}

/// What a shell answers for a program that cannot be started.
pub fn failure(error: &std::io::Error) -> (i32, &'static str) {
    match error.kind() {
        std::io::ErrorKind::NotFound => (127, "no such program"),
        std::io::ErrorKind::PermissionDenied => (126, "permission denied"),
        _ => (126, "it cannot be run"),
    }
}

/// A command line as `Command` takes it.
pub fn command(program: &[OsString]) -> Command {
    let (name, arguments) = program
        .split_first()
        .map_or((None, &[][..]), |(name, rest)| (Some(name), rest));
    let mut command = Command::new(name.map(OsString::as_os_str).unwrap_or_default());
    command.args(arguments);
    command
}

/// How long MPICH's launcher is kept from seeing that a process is gone: everybody leaves within
/// some tens of milliseconds where there are cores for all.
const OUTLIVE_SECONDS: &str = "1";

/// Keeps the connection to MPICH's launcher (`PMI_FD`) open for a moment after this process. When
/// it closes without `MPI_Finalize`, the launcher kills all other processes of the job and takes
/// over the status of a kill; this way it sees first how each ended. Where that is not possible,
/// its status is not ours to save.
pub fn hold_pmi_open() {
    let Some(connection) = connection() else {
        return;
    };
    let nothing = std::process::Stdio::null;
    let mut sleep = Command::new("sleep");
    sleep
        .arg(OUTLIVE_SECONDS)
        .env_remove(crate::mpi::preload::PRELOAD);
    // Launchers leave descriptors of one process open in others, and wait for all of them to close.
    for descriptor in descriptors_but(&[connection]).unwrap_or_default() {
        let _ = set_flags(descriptor, libc::FD_CLOEXEC);
    }
    let _ = sleep
        .stdin(nothing())
        .stdout(nothing())
        .stderr(nothing())
        .spawn();
}

/// Whether there is a connection to a launcher of the MPICH family.
pub fn launcher_listens() -> bool {
    connection().is_some()
}

fn connection() -> Option<RawFd> {
    std::env::var("PMI_FD").ok()?.parse().ok()
}

/// Leaves as the child left: with its code, or killed by its signal, so that the launcher sees what
/// it would have seen.
pub fn leave_as(ended: Ended) -> ! {
    let number = match ended {
        Ended::Code(code) => std::process::exit(code),
        Ended::Signal(number) => number,
    };

    let none = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // The child's core is the interesting one; ours would overwrite it.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    let _ = set_effect(number, SigHandler::SigDfl);

    // By number: real-time signals have no names.
    // SAFETY: these three touch nothing but the local set and the calling process' own state.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut set, number);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::raise(number);
    }
    // Still here: the signal does not end processes, or is not ours to raise. As a shell says it:
    std::process::exit(128 + number);
}

#[cfg(test)]
mod tests;
