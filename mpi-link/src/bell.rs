//! Wakes a tool process that rests for long, and finds out who can be woken so.
//!
//! `SIGURG` is sent, whose default is to be ignored, through a descriptor of the process: another
//! one that is given its number later is never rung. A handler puts a byte into a socket, which
//! ends the rest. Who rings first puts what it has to say where it will be looked for, so that
//! nothing is missed.

use crate::signals::ENDS;
use invivo_proto::control::whereabouts::Whereabouts;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
};
use signal_hook::consts::SIGURG;
use signal_hook::low_level::pipe;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Bytes taken at once: one for each ring since the last look.
const RINGS: usize = 64;
/// Processes that are remembered: a tool process rings at its parent and at its children on the
/// node.
const RUNG_MAX: usize = 256;

/// This process' bell.
pub struct Bell {
    rung: UnixStream,
}

impl Bell {
    /// The bell, hung up at the first call; nothing where the kernel refuses.
    pub fn own() -> Option<&'static Bell> {
        static OWN: OnceLock<Option<Bell>> = OnceLock::new();
        OWN.get_or_init(|| Bell::hang_up().ok()).as_ref()
    }

    fn hang_up() -> std::io::Result<Bell> {
        let (rung, ringer) = UnixStream::pair()?;
        rung.set_nonblocking(true)?;
        // Sends without waiting: a full socket has rung already.
        pipe::register(SIGURG, ringer.try_clone()?)?;
        // The end, too, ends a rest, also where it is requested right before.
        for signal in ENDS {
            pipe::register(signal, ringer.try_clone()?)?;
        }
        Ok(Bell { rung })
    }

    /// Readable once it was rung.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.rung.as_fd()
    }

    /// Whether it was rung since the last call.
    pub fn was_rung(&self) -> bool {
        let mut bytes = [0; RINGS];
        let mut was_rung = false;
        while (&self.rung).read(&mut bytes).is_ok_and(|read| read != 0) {
            was_rung = true;
        }
        was_rung
    }
}

/// Whom to ring at.
enum Neighbour {
    Process(OwnedFd),
    /// Its number is all that there is: the kernel is older than Linux 5.3, or does not let us.
    Number(Pid),
    Gone,
}

impl Neighbour {
    fn of(pid: u32) -> Neighbour {
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            return Neighbour::Gone;
        };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => Neighbour::Process(process),
            Err(Errno::SRCH) => Neighbour::Gone,
            Err(_) => Neighbour::Number(pid),
        }
    }
}

/// Rings at a process. One that is gone is no reason for anything: who waits for it will notice.
pub fn ring(pid: u32) {
    static RUNG: Mutex<BTreeMap<u32, Neighbour>> = Mutex::new(BTreeMap::new());
    let mut rung = RUNG.lock().unwrap_or_else(PoisonError::into_inner);
    // More are none of ours.
    if rung.len() >= RUNG_MAX && !rung.contains_key(&pid) {
        return;
    }
    // Opened once, while it is known to be there: its number may be another's later.
    let _ = match rung.entry(pid).or_insert_with(|| Neighbour::of(pid)) {
        Neighbour::Process(process) => pidfd_send_signal(process, Signal::URG),
        Neighbour::Number(pid) => kill_process(*pid, Signal::URG),
        Neighbour::Gone => Ok(()),
    };
}

/// Where this process runs.
pub fn whereabouts() -> Whereabouts {
    let system = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let system = system.trim().replace('-', "");
    let system = u128::from_str_radix(&system, 16).unwrap_or(0);
    #[cfg(feature = "test-hooks")]
    let system = invivo_proto::clock::skew::here().system(system);
    Whereabouts {
        system,
        // A kernel without such namespaces has one clock; no inode has this number.
        time_space: namespace("self", "time").unwrap_or(1),
        pid_space: namespace("self", "pid").unwrap_or(0),
        pid: Bell::own().map_or(0, |_| getpid().as_raw_pid().cast_unsigned()),
    }
}

/// Whether a process of this number has process numbers in common with us, and so can ring.
pub fn can_ring(pid: u32) -> bool {
    let own = namespace("self", "pid");
    Bell::own().is_some() && own.is_some() && namespace(&pid.to_string(), "pid") == own
}

/// The number of a process' namespace.
fn namespace(process: &str, kind: &str) -> Option<u64> {
    let path = format!("/proc/{process}/ns/{kind}");
    std::fs::metadata(path).ok().map(|space| space.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    #[test]
    fn a_ring_ends_a_rest_and_counts_once() {
        let here = whereabouts();
        let bell = Bell::own().expect("a bell");
        assert!(here.shares_clock(&whereabouts()));
        assert!(can_ring(std::process::id()) && !can_ring(u32::MAX));
        assert!(!bell.was_rung());
        for _ in 0..3 {
            ring(here.pid);
        }
        let mut rung = [PollFd::from_borrowed_fd(bell.descriptor(), PollFlags::IN)];
        let minute = Timespec {
            tv_sec: 60,
            tv_nsec: 0,
        };
        // A signal may end the first one.
        let _ = poll(&mut rung, Some(&minute));
        assert_eq!(poll(&mut rung, Some(&minute)), Ok(1));
        assert!(bell.was_rung() && !bell.was_rung());
        ring(0);
        ring(u32::MAX);
    }

    /// A process that has ended is not rung again, whoever has its number.
    #[test]
    fn a_neighbour_that_has_ended_is_gone() {
        let mut sleeper = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep");
        let pid = sleeper.id();
        ring(pid);
        let Neighbour::Process(known) = Neighbour::of(pid) else {
            panic!("the kernel knows descriptors of processes");
        };
        sleeper.kill().expect("ours");
        sleeper.wait().expect("ours");
        assert_eq!(pidfd_send_signal(&known, Signal::URG), Err(Errno::SRCH));
        assert!(matches!(Neighbour::of(pid), Neighbour::Gone));
        ring(pid);
    }
}
