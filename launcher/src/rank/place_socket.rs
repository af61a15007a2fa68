//! The supervisor's connection to its tool place: a `SOCK_SEQPACKET` Unix socket that carries whole
//! messages. The first one carries the descriptor of the rank's memory.

use invivo_proto::control::local::{FromSupervisor, LOCAL_BYTES_MAX, ToSupervisor};
use invivo_proto::control::{decode, encode};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, sockopt,
};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// The longest that a place may take to accept or to read: it answers within milliseconds, and the
/// application's end must not wait for one that hangs.
const PATIENCE: Duration = Duration::from_secs(1);
/// Questions that wait here while orders are taken before them; more wait in the socket.
const QUESTIONS_MAX: usize = 64;

/// A connection to the place.
#[derive(Debug)]
pub struct PlaceSocket {
    fd: OwnedFd,
    /// Received, and not handed out yet.
    questions: VecDeque<ToSupervisor>,
}

/// What one receive brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// A message.
    Message(ToSupervisor),
    /// Nothing now.
    Nothing,
    /// The place is gone, or sent what is no message: there will be no more.
    Closed,
}

impl PlaceSocket {
    /// Connects to the place and introduces the rank.
    ///
    /// # Errors
    /// When nobody of this user listens there.
    pub fn attach(
        path: &Path,
        hello: &FromSupervisor,
        memory: BorrowedFd<'_>,
    ) -> std::io::Result<PlaceSocket> {
        let fd = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        // On a Unix socket this bounds the wait for a connection, too.
        sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, Some(PATIENCE))?;
        rustix::net::connect(&fd, &SocketAddrUnix::new(path)?)?;
        // The memory shows what the application does: it is for its own user only.
        if sockopt::socket_peercred(&fd)?.uid != rustix::process::geteuid() {
            return Err(std::io::Error::new(
                std::io::ErrorKind::PermissionDenied,
                "the place is another user's",
            ));
        }
        let socket = PlaceSocket {
            fd,
            questions: VecDeque::new(),
        };
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [memory];
        if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Err(std::io::Error::other("no room for the descriptor"));
        }
        let bytes = encode(hello).map_err(std::io::Error::other)?;
        rustix::net::sendmsg(
            &socket.fd,
            &[IoSlice::new(&bytes)],
            &mut control,
            SendFlags::NOSIGNAL,
        )?;
        Ok(socket)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When the place is gone or does not read.
    pub fn send(&self, message: &FromSupervisor) -> std::io::Result<()> {
        self.send_with(message, SendFlags::NOSIGNAL)
    }

    fn send_with(&self, message: &FromSupervisor, flags: SendFlags) -> std::io::Result<()> {
        let bytes = encode(message).map_err(std::io::Error::other)?;
        rustix::net::send(&self.fd, &bytes, flags)?;
        Ok(())
    }

    /// Sends a message that may as well be left out; false where the place does not read now.
    ///
    /// # Errors
    /// When the place is gone.
    pub fn offer(&self, message: &FromSupervisor) -> std::io::Result<bool> {
        taken(self.send(message))
    }

    /// The same without waiting at all, for what is sent again and again: a place that reads
    /// nothing for long must not hold up everything else each time.
    ///
    /// # Errors
    /// When the place is gone.
    pub fn offer_now(&self, message: &FromSupervisor) -> std::io::Result<bool> {
        taken(self.send_with(message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT))
    }

    /// Gives the next message without waiting: an order where there is one, because a walk through
    /// the rank's threads takes up to some tenths of a second, and a stop must not wait for those.
    pub fn receive(&mut self) -> Received {
        while self.questions.len() < QUESTIONS_MAX {
            match self.receive_one() {
                Received::Message(question) if is_question(&question) => {
                    self.questions.push_back(question);
                }
                Received::Nothing => break,
                order_or_end => return order_or_end,
            }
        }
        let oldest = self.questions.pop_front();
        oldest.map_or(Received::Nothing, Received::Message)
    }

    /// Whether there is a message that the socket does not announce.
    pub fn has_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    fn receive_one(&self) -> Received {
        match packet::<LOCAL_BYTES_MAX>(self.fd.as_fd()) {
            Packet::Bytes(bytes) => decode(&bytes).map_or(Received::Closed, Received::Message),
            Packet::Nothing => Received::Nothing,
            Packet::Closed => Received::Closed,
        }
    }
}

/// Whether a message was taken; a packet is sent whole or not at all.
fn taken(sent: std::io::Result<()>) -> std::io::Result<bool> {
    match sent {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_question(message: &ToSupervisor) -> bool {
    match message {
        ToSupervisor::Inspect { .. }
        | ToSupervisor::Unwind { .. }
        | ToSupervisor::Name { .. }
        | ToSupervisor::Sample { .. }
        | ToSupervisor::Profile { .. }
        | ToSupervisor::Measure { .. }
        | ToSupervisor::TryMetrics { .. } => true,
        ToSupervisor::Stop { .. } | ToSupervisor::Continue { .. } | ToSupervisor::Leave => false,
    }
}

impl AsFd for PlaceSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What a `SOCK_SEQPACKET` socket holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Packet {
    /// One packet, whole.
    Bytes(Vec<u8>),
    /// Nothing now.
    Nothing,
    /// The other end is gone, or sent more than was agreed.
    Closed,
}

/// Takes a packet of at most `MAX` bytes without waiting.
pub fn packet<const MAX: usize>(fd: BorrowedFd<'_>) -> Packet {
    let mut bytes = vec![0; MAX];
    loop {
        // TRUNC: the packet's own length, so that one that was cut short is noticed.
        return match rustix::net::recv(fd, &mut bytes[..], RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
            Ok((_, 0)) => Packet::Closed,
            Ok((_, length)) if length > MAX => Packet::Closed,
            Ok((_, length)) => {
                bytes.truncate(length);
                Packet::Bytes(bytes)
            }
            // Reset: the other end left something of ours unread. This is said once, and before
            // what it said.
            Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNRESET) => continue,
            Err(rustix::io::Errno::AGAIN) => Packet::Nothing,
            Err(_) => Packet::Closed,
        };
    }
}

#[cfg(test)]
pub(super) mod tests;
