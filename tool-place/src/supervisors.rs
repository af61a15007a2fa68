//! The Unix socket to the supervisors of this place's ranks: accepts them, receives and sends.
//!
//! Bounded in every way: only our own user, only our ranks, one connection each, short messages, no
//! waiting.

use invivo_proto::control::local::{FromSupervisor, LOCAL_BYTES_MAX, ToSupervisor};
use invivo_proto::control::{decode, encode};
use invivo_proto::ids::Rank;
use invivo_proto::rank_set::RankSet;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendFlags,
    SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, recvmsg, send, socket_with,
    sockopt,
};
use rustix::process::getuid;
use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Connections without a first message; supervisors send theirs at once. One more closes the oldest
/// of them, so that who never says anything keeps nobody out.
const STRANGERS_MAX: usize = 16;
/// Connections accepted in one turn, and messages of a supervisor heard: a flood must not keep the
/// place from everything else. What is left makes the socket readable again.
const ACCEPTED_MAX: usize = 64;
const HEARD_MAX: usize = 64;

/// What happened on the socket.
#[derive(Debug)]
pub enum Event {
    /// A rank's supervisor attached, with the rank's memory.
    Attached {
        /// The rank.
        rank: Rank,
        /// The application's process.
        pid: u32,
        /// The memory.
        memory: OwnedFd,
    },
    /// A supervisor sent a message.
    Said { rank: Rank, message: FromSupervisor },
    /// A supervisor hung up.
    Lost { rank: Rank },
    /// A connection or message was refused; a sentence for the user.
    Refused(String),
}

/// The listening socket and its connections.
pub struct Supervisors {
    path: PathBuf,
    is_withdrawn: bool,
    listener: OwnedFd,
    ranks: RankSet,
    strangers: Vec<OwnedFd>,
    known: BTreeMap<Rank, OwnedFd>,
}

/// One message, or why there is none.
enum Received {
    Message(FromSupervisor, Option<OwnedFd>),
    Nothing,
    HungUp,
    Garbage(String),
}

impl Supervisors {
    /// Listens at `path` for the supervisors of `ranks`.
    ///
    /// # Errors
    /// When the kernel refuses, or the path is too long for a socket.
    pub fn listen(path: &Path, ranks: impl Into<RankSet>) -> Result<Supervisors, Errno> {
        let ranks = ranks.into();
        // SEQPACKET keeps the boundaries of messages, and takes a descriptor with one of them.
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        // Left by a place of the same number that was killed; the directory is this job's alone.
        let _ = std::fs::remove_file(path);
        bind(&listener, &SocketAddrUnix::new(path)?)?;
        listen(&listener, ranks.len() as i32 + STRANGERS_MAX as i32)?;
        Ok(Supervisors {
            path: path.to_owned(),
            is_withdrawn: false,
            listener,
            ranks,
            strangers: Vec::new(),
            known: BTreeMap::new(),
        })
    }

    /// Removes the socket's file: no other supervisor will attach. The job's directory on this host
    /// is removed by the last process that had a file in it.
    pub fn withdraw(&mut self) {
        if !std::mem::replace(&mut self.is_withdrawn, true) {
            let _ = std::fs::remove_file(&self.path);
            let _ = self.path.parent().map(std::fs::remove_dir);
        }
    }

    /// What to wait for.
    pub fn poll_fds(&self) -> Vec<PollFd<'_>> {
        std::iter::once(&self.listener)
            .chain(&self.strangers)
            .chain(self.known.values())
            .map(|socket| PollFd::new(socket, PollFlags::IN))
            .collect()
    }

    /// Accepts, and receives from all connections; to be called when one of them is readable.
    pub fn poll(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.accept(&mut events);
        // `meet` puts back those that have not sent anything yet.
        let strangers = std::mem::take(&mut self.strangers);
        for socket in strangers {
            self.meet(socket, &mut events);
        }
        let ranks: Vec<Rank> = self.known.keys().copied().collect();
        for rank in ranks {
            self.hear(rank, &mut events);
        }
        events
    }

    /// Whether a rank's supervisor is attached.
    pub fn has(&self, rank: Rank) -> bool {
        self.known.contains_key(&rank)
    }

    /// Sends a message to a supervisor. False when it is not attached or its socket is full.
    pub fn tell(&mut self, rank: Rank, message: &ToSupervisor) -> bool {
        let Some(socket) = self.known.get(&rank) else {
            return false;
        };
        let Ok(bytes) = encode(message) else {
            return false;
        };
        // A supervisor that does not read must not stop the place, nor SIGPIPE end it.
        send(socket, &bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) == Ok(bytes.len())
    }

    fn accept(&mut self, events: &mut Vec<Event>) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        for _ in 0..ACCEPTED_MAX {
            let Ok(socket) = accept_with(&self.listener, flags) else {
                return;
            };
            match sockopt::socket_peercred(&socket) {
                Ok(peer) if peer.uid == getuid() => {}
                _ => {
                    events.push(Event::Refused(
                        "another user tried to attach to this job".into(),
                    ));
                    continue;
                }
            }
            if self.strangers.len() >= STRANGERS_MAX {
                // It may have spoken meanwhile.
                let oldest = self.strangers.remove(0);
                self.meet(oldest, events);
            }
            if self.strangers.len() >= STRANGERS_MAX {
                self.strangers.pop();
                events.push(Event::Refused(
                    "too many connections that do not say who they are".into(),
                ));
            }
            self.strangers.push(socket);
        }
    }

    /// Receives the first message of a connection, which names the rank.
    fn meet(&mut self, socket: OwnedFd, events: &mut Vec<Event>) {
        let why = match receive(&socket) {
            Received::Nothing => return self.strangers.push(socket),
            Received::HungUp => return,
            Received::Garbage(why) => why,
            Received::Message(FromSupervisor::Attach { rank, pid }, memory) => match memory {
                _ if !self.ranks.contains(rank) => {
                    format!("rank {rank} is not one of this place's")
                }
                _ if self.known.contains_key(&rank) => format!("rank {rank} is attached already"),
                None => format!("rank {rank} brought no memory"),
                Some(memory) => {
                    self.known.insert(rank, socket);
                    return events.push(Event::Attached { rank, pid, memory });
                }
            },
            Received::Message(..) => "a supervisor did not say who it is".into(),
        };
        events.push(Event::Refused(why));
    }

    /// Receives all messages of a supervisor.
    fn hear(&mut self, rank: Rank, events: &mut Vec<Event>) {
        for _ in 0..HEARD_MAX {
            let Some(socket) = self.known.get(&rank) else {
                return;
            };
            match receive(socket) {
                Received::Nothing => return,
                Received::Message(FromSupervisor::Attach { .. }, _) => {
                    events.push(Event::Refused(format!("rank {rank} attached twice")));
                }
                Received::Message(message, _) => events.push(Event::Said { rank, message }),
                Received::HungUp => {
                    self.known.remove(&rank);
                    events.push(Event::Lost { rank });
                }
                Received::Garbage(why) => {
                    self.known.remove(&rank);
                    events.push(Event::Refused(format!(
                        "from the supervisor of rank {rank}: {why}"
                    )));
                    events.push(Event::Lost { rank });
                }
            }
        }
    }
}

impl Drop for Supervisors {
    fn drop(&mut self) {
        self.withdraw();
    }
}

fn receive(socket: &OwnedFd) -> Received {
    let mut bytes = [0u8; LOCAL_BYTES_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let mut take = || {
        recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut ancillary,
            flags,
        )
    };

    let received = match take() {
        // The peer closed with unread messages of ours. The kernel reports this once, before the
        // messages that the peer sent, which are still to be received.
        Err(Errno::CONNRESET) => take(),
        received => received,
    };
    let received = match received {
        Ok(received) => received,
        Err(Errno::AGAIN | Errno::INTR) => return Received::Nothing,
        Err(_) => return Received::HungUp,
    };

    let mut descriptor = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            // Others than the last are closed by their drop.
            descriptor = descriptors.last();
        }
    }

    if received.bytes == 0 {
        return Received::HungUp;
    }
    if received.flags.contains(ReturnFlags::TRUNC) {
        return Received::Garbage(format!("message longer than {LOCAL_BYTES_MAX} bytes"));
    }
    match decode(&bytes[..received.bytes]) {
        Ok(message) => Received::Message(message, descriptor),
        Err(error) => Received::Garbage(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, connect, sendmsg};
    use std::io::IoSlice;
    use std::os::fd::AsFd;

    fn visitor(path: &Path) -> OwnedFd {
        let kind = SocketType::SEQPACKET;
        let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::NONBLOCK, None).unwrap();
        connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        socket
    }

    fn attach(socket: &OwnedFd, rank: u32) {
        let file = tempfile::tempfile().unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [file.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let rank = Rank(rank);
        let bytes = encode(&FromSupervisor::Attach { rank, pid: 1 }).unwrap();
        sendmsg(
            socket,
            &[IoSlice::new(&bytes)],
            &mut control,
            SendFlags::empty(),
        )
        .unwrap();
    }

    /// Connections that never say anything keep no supervisor out.
    #[test]
    fn silent_connections_keep_nobody_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("place.sock");
        let mut supervisors = Supervisors::listen(&path, 0..2).unwrap();
        let mut silent = Vec::new();
        let mut refused = 0;
        for _ in 0..4 * STRANGERS_MAX {
            silent.push(visitor(&path));
            refused += supervisors.poll().len();
        }
        assert_eq!(refused, 3 * STRANGERS_MAX);
        assert_eq!(supervisors.strangers.len(), STRANGERS_MAX);
        let honest = visitor(&path);
        attach(&honest, 1);
        let attached = |event: &Event| matches!(event, Event::Attached { rank: Rank(1), .. });
        let events = supervisors.poll();
        assert!(events.iter().any(attached), "{events:?}");
        assert!(supervisors.has(Rank(1)));
    }

    /// A supervisor that sends without pause is heard in parts.
    #[test]
    fn a_flood_of_messages_ends_the_turn() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("place.sock");
        let mut supervisors = Supervisors::listen(&path, 0..2).unwrap();
        let flood = visitor(&path);
        attach(&flood, 0);
        supervisors.poll();
        let bytes = encode(&FromSupervisor::Ended(
            invivo_proto::control::tree::Ended::Code(0),
        ))
        .unwrap();
        let mut sent = 0;
        while send(&flood, &bytes, SendFlags::DONTWAIT).is_ok() {
            sent += 1;
        }
        assert!(sent > HEARD_MAX, "{sent} fit into the socket");
        assert_eq!(supervisors.poll().len(), HEARD_MAX);
        assert_eq!(supervisors.poll().len(), HEARD_MAX.min(sent - HEARD_MAX));
    }
}
