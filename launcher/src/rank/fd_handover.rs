//! Hands a rank's shared memory over to a shim that has lost the inherited descriptors.
//!
//! A rank inherits two descriptors. A process between supervisor and rank may close them (Python's
//! `subprocess` closes all but three in what it starts). So the supervisor also listens at an
//! address that the environment names, and sends the memory's descriptor to every process of the
//! same user that connects.

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, sockopt,
};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The byte that accompanies the descriptor: SCM_RIGHTS needs at least one byte of data.
const HERE: &[u8] = b"m";
/// Length of the queue of connections: there is one rank.
const BACKLOG: i32 = 1;

/// Where the supervisor listens.
#[derive(Debug)]
pub struct FdHandover {
    fd: OwnedFd,
    name: String,
}

impl FdHandover {
    /// Opens it, at an address without a file, which is gone when the supervisor is.
    ///
    /// # Errors
    /// When the system has no descriptor left, or the kernel gives no such address.
    pub fn listen() -> std::io::Result<FdHandover> {
        let fd = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        // Without a name to bind to, the kernel chooses one that is free.
        rustix::net::bind(&fd, &SocketAddrUnix::new_unnamed())?;
        rustix::net::listen(&fd, BACKLOG)?;
        let address = SocketAddrUnix::try_from(rustix::net::getsockname(&fd)?)?;
        let name = address
            .abstract_name()
            .and_then(|name| std::str::from_utf8(name).ok())
            .ok_or_else(|| std::io::Error::other("an address without a name"))?
            .to_owned();
        Ok(FdHandover { fd, name })
    }

    /// Its address.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Accepts a connection, sends the memory's descriptor over it and returns it; nothing where
    /// there is no connection, or one of another user.
    ///
    /// # Errors
    /// When accepting fails for good.
    pub fn answer(&self, memory: BorrowedFd<'_>) -> std::io::Result<Option<OwnedFd>> {
        let fd = match rustix::net::accept_with(&self.fd, SocketFlags::CLOEXEC) {
            Ok(fd) => fd,
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if sockopt::socket_peercred(&fd)?.uid != rustix::process::geteuid() {
            return Ok(None);
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [memory];
        if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Ok(None);
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let given = rustix::net::sendmsg(&fd, &[IoSlice::new(HERE)], &mut control, flags);
        Ok(given.is_ok().then_some(fd))
    }
}

impl AsFd for FdHandover {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
    use std::io::IoSliceMut;

    #[test]
    fn who_comes_gets_the_memory() {
        let handover = FdHandover::listen().expect("a handover");
        let memory = tempfile::tempfile().expect("a file");
        assert!(
            handover.answer(memory.as_fd()).expect("open").is_none(),
            "nobody waits"
        );
        let kind = SocketType::SEQPACKET;
        let visitor = rustix::net::socket(AddressFamily::UNIX, kind, None).expect("a socket");
        let address =
            SocketAddrUnix::new_abstract_name(handover.name().as_bytes()).expect("an address");
        rustix::net::connect(&visitor, &address).expect("somebody listens");
        let back = handover
            .answer(memory.as_fd())
            .expect("open")
            .expect("a visitor");

        let mut bytes = [0; 8];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        rustix::net::recvmsg(&visitor, &mut parts, &mut control, RecvFlags::empty())
            .expect("a message");
        let given = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        let number = |fd: BorrowedFd<'_>| rustix::fs::fstat(fd).expect("open").st_ino;
        assert_eq!(
            number(given.expect("a descriptor").as_fd()),
            number(memory.as_fd())
        );
        rustix::net::send(&visitor, b"welcome", SendFlags::empty()).expect("sent");
        assert_eq!(
            rustix::net::recv(&back, &mut bytes, RecvFlags::empty())
                .expect("heard")
                .0,
            7
        );
    }
}
