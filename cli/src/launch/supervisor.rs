//! The supervisor of one rank of the application: starts it, lends itself to its place, outlives it, and leaves
//! as it left.
//!
//! ```text
//!            started ---- ends before MPI ----------------------------------+
//!               | welcome: the shim passes on where the place listens       |
//!            attached --- place gone: goes on unobserved -------------------+
//!               | Stop, Continue: pauses                                    |
//!               | the application ends                                      v
//!            drained? ---- yes, or nobody is interested ----------------> leave
//!               | no: Ended, then wait for Leave, at most LINGER            ^
//!               +-----------------------------------------------------------+
//! ```
//!
//! It sleeps in `poll` all the time, but for a pause, which is looked after every 50 ms. Nothing that goes
//! wrong on our side keeps the application from running or its supervisor from leaving.

use super::child::{self, Ended, Inheritance};
use super::environment::{self, Environment, World};
use super::memory::{Identity, Memory};
use super::place_socket::{Packet, PlaceSocket, Received, packet};
use super::say;
use super::signals::{Relations, Signals, asks_to_end};
use super::stop::{Pause, TICK};
use invivo_proto::channel::WELCOME_BYTES_MAX;
use invivo_proto::control::local::{FromSupervisor, ToSupervisor};
use invivo_proto::ids::Rank;
use invivo_proto::shm::phase;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The longest that a supervisor waits for its place after the application's end: the place takes what a rank
/// left in milliseconds and the root asks its last questions in a second or two; a launcher that ends the job
/// loses patience by itself.
const LINGER: Duration = Duration::from_secs(10);
/// The same once the launcher has asked for the end: it kills soon after.
const LINGER_ASKED: Duration = Duration::from_secs(1);

/// What a supervisor has to do.
#[derive(Debug)]
pub struct Assignment {
    /// Which rank this is.
    pub identity: Identity,
    /// What the launcher said.
    pub world: World,
    /// The environment that the launcher gave.
    pub environment: Environment,
    /// The application with its arguments.
    pub program: Vec<OsString>,
    /// The library to preload.
    pub shim: PathBuf,
}

/// Runs the application to its end; calls `started` once it runs.
pub fn supervise(assignment: &Assignment, started: impl FnOnce()) -> Ended {
    match start(assignment) {
        Ok(mut supervisor) => {
            started();
            supervisor.run()
        }
        Err((code, why)) => {
            // Every rank fails alike; one sentence per node is enough.
            if assignment.world.speaks() {
                say(&why);
            }
            Ended::Code(code)
        }
    }
}

/// What is shared with the application while it is observed.
struct Shared {
    memory: Memory,
    /// Our end of the pair that the shim writes to; nothing once it is closed.
    shim: Option<OwnedFd>,
}

struct Supervisor<'a> {
    assignment: &'a Assignment,
    relations: Relations,
    signals: Signals,
    child: Pid,
    /// Wakes us when the child ends. An old kernel has none; there the signal does it alone.
    child_fd: Option<OwnedFd>,
    shared: Option<Shared>,
    place: Option<PlaceSocket>,
    pause: Pause,
    /// The launcher, or a user, has asked for the end.
    asked_to_end: bool,
    /// How the application ended, once it has.
    ended: Option<Ended>,
}

fn start(assignment: &Assignment) -> Result<Supervisor<'_>, (i32, String)> {
    let name = assignment
        .program
        .first()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let cannot = |code: i32, what: &str, error: &std::io::Error| {
        (
            code,
            format!("cannot start {name}: {what} ({error}); check the path, or run it without invivo"),
        )
    };
    let relations = Relations::here();
    let signals = Signals::take().map_err(|error| cannot(126, "no descriptor for signals", &error))?;
    let shared = match share(assignment.identity) {
        Ok(shared) => Some(shared),
        Err(error) => {
            if assignment.world.speaks() {
                say(&format!(
                    "no memory to share with the ranks ({error}): they run unobserved"
                ));
            }
            None
        }
    };
    let numbers = shared
        .as_ref()
        .map(|(ours, theirs)| format!("{},{}", ours.memory.as_fd().as_raw_fd(), theirs.as_raw_fd()));
    let mut command = child::command(&assignment.program);
    for (name, value) in environment::for_application(
        &assignment.environment,
        &assignment.world,
        assignment.identity.ranks,
        &assignment.program,
        &assignment.shim,
        numbers.as_deref(),
    ) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let descriptors: Vec<_> = shared
        .iter()
        .flat_map(|(ours, theirs)| [ours.memory.as_fd(), theirs.as_fd()])
        .collect();
    let inheritance = Inheritance {
        mask: signals.mask_before,
        descriptors: &descriptors,
        nothing_else: false,
    };
    let child = child::start(command, inheritance).map_err(|error| {
        let (code, what) = child::failure(&error);
        cannot(code, what, &error)
    })?;
    Ok(Supervisor {
        assignment,
        relations,
        signals,
        child,
        child_fd: rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty()).ok(),
        shared: shared.map(|(ours, _)| ours),
        place: None,
        pause: Pause::of(child),
        asked_to_end: false,
        ended: None,
    })
}

/// Makes the memory and the pair of sockets; the second value is the application's end.
fn share(identity: Identity) -> std::io::Result<(Shared, OwnedFd)> {
    let memory = Memory::create(identity)?;
    let (ours, theirs) = rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    Ok((
        Shared {
            memory,
            shim: Some(ours),
        },
        theirs,
    ))
}

impl Supervisor<'_> {
    fn run(&mut self) -> Ended {
        loop {
            self.wait(self.pause.in_force().then_some(TICK));
            if let Some(shared) = &self.shared {
                self.pause.tick(&shared.memory.region());
            }
            self.look();
            if let Some(ended) = child::ended(self.child) {
                self.ended = Some(ended);
                self.farewell(ended);
                return ended;
            }
        }
    }

    /// Sleeps until something comes.
    fn wait(&self, at_most: Option<Duration>) {
        let shim = self.shared.as_ref().and_then(|shared| shared.shim.as_ref());
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if self.ended.is_none() {
            fds.extend(self.child_fd.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        }
        fds.extend(shim.map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(self.place.as_ref().map(|place| PollFd::new(place, PollFlags::IN)));
        let timeout = at_most.and_then(|duration| Timespec::try_from(duration).ok());
        // Whatever it says, everything is looked at.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    /// Looks at everything that may have come.
    fn look(&mut self) {
        self.take_signals();
        self.take_welcome();
        while let Some(message) = self.hear_place() {
            self.act(message);
        }
    }

    fn take_signals(&mut self) {
        while let Some(incoming) = self.signals.next() {
            if incoming.signal == libc::SIGCHLD {
                continue;
            }
            if asks_to_end(incoming.signal) {
                self.asked_to_end = true;
                // A stopped process would not end. What is left of the pause is not worth that.
                self.pause.end();
            }
            if self.relations.sent_to_us_alone(incoming) {
                child::pass_on(self.child, incoming.signal);
            }
        }
    }

    /// Takes the place's address from the shim and attaches.
    fn take_welcome(&mut self) {
        let Some(shared) = &mut self.shared else { return };
        let Some(shim) = &shared.shim else { return };
        let path = match packet::<WELCOME_BYTES_MAX>(shim.as_fd()) {
            Packet::Bytes(bytes) => PathBuf::from(OsStr::from_bytes(&bytes)),
            Packet::Nothing => return,
            // The program closed it, replaced itself, or ended.
            Packet::Closed => {
                shared.shim = None;
                return;
            }
        };
        if self.place.is_none() {
            self.attach(&path);
        }
    }

    fn attach(&mut self, path: &Path) {
        let Some(shared) = &self.shared else { return };
        let rank = Rank(self.assignment.identity.rank);
        let pid = self.child.as_raw_nonzero().get() as u32;
        let hello = FromSupervisor::Attach { rank, pid };
        match PlaceSocket::attach(path, &hello, shared.memory.as_fd()) {
            Ok(place) => self.place = Some(place),
            Err(error) if self.assignment.world.speaks() => {
                say(&format!(
                    "cannot reach the tool place at {} ({error}): no pause, no last records",
                    path.display()
                ));
            }
            // The root's coverage names how many ranks report.
            Err(_) => {}
        }
    }

    fn hear_place(&mut self) -> Option<ToSupervisor> {
        match self.place.as_ref()?.receive() {
            Received::Message(message) => Some(message),
            Received::Nothing => None,
            // A pause in force ends by itself when the gate's time is over.
            Received::Closed => {
                self.place = None;
                None
            }
        }
    }

    fn act(&mut self, message: ToSupervisor) {
        let Some(shared) = &self.shared else { return };
        let (generation, outcome) = match message {
            ToSupervisor::Stop { generation } => {
                (generation, self.pause.begin(&shared.memory.region(), generation))
            }
            ToSupervisor::Continue { generation } => {
                self.pause.end();
                (generation, invivo_proto::control::local::Outcome::Running)
            }
            // It comes after the end only; see `farewell`.
            ToSupervisor::Leave => return,
        };
        self.tell(&FromSupervisor::Acted { generation, outcome });
    }

    fn tell(&mut self, message: &FromSupervisor) {
        if self
            .place
            .as_ref()
            .is_some_and(|place| place.send(message).is_err())
        {
            self.place = None;
        }
    }

    /// After the application's end: tells the place, and waits until it has taken what the application left.
    fn farewell(&mut self, ended: Ended) {
        // It may have died right after the welcome.
        self.take_welcome();
        self.tell(&FromSupervisor::Ended(ended));
        let Some(shared) = &self.shared else { return };
        let left = shared.memory.region().page().phase.load(Ordering::Acquire);
        // Drained: nothing is left. Starting: there was nothing. Silent: nobody knows.
        if matches!(left, phase::DRAINED | phase::STARTING | phase::SILENT) {
            return;
        }
        let start = Instant::now();
        while self.place.is_some() {
            if self.hear_place() == Some(ToSupervisor::Leave) {
                return;
            }
            self.take_signals();
            let most = if self.asked_to_end { LINGER_ASKED } else { LINGER };
            let Some(rest) = most.checked_sub(start.elapsed()) else {
                return;
            };
            self.wait(Some(rest));
        }
    }
}

#[cfg(test)]
mod tests;
