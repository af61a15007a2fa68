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
/// Length of the queue of connections: there is one rank, but any user of the node may connect, and
/// must not keep it out.
const BACKLOG: i32 = 64;
/// Connections that are looked at in one turn: no flood of them keeps the supervisor from its rank.
const VISITORS_MAX: usize = 16;

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

    /// Accepts connections until one of this user comes, sends the memory's descriptor over it and
    /// returns it; nothing where there is none.
    ///
    /// # Errors
    /// When accepting fails for good.
    pub fn answer(&self, memory: BorrowedFd<'_>) -> std::io::Result<Option<OwnedFd>> {
        for _ in 0..VISITORS_MAX {
            let fd = match rustix::net::accept_with(&self.fd, SocketFlags::CLOEXEC) {
                Ok(fd) => fd,
                Err(Errno::CONNABORTED | Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let is_own = sockopt::socket_peercred(&fd)
                .is_ok_and(|peer| peer.uid == rustix::process::geteuid());
            if is_own && give(&fd, memory) {
                return Ok(Some(fd));
            }
        }
        Ok(None)
    }
}

/// Sends the descriptor; false where the other side is gone.
fn give(to: &OwnedFd, memory: BorrowedFd<'_>) -> bool {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [memory];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    control.push(SendAncillaryMessage::ScmRights(&fds))
        && rustix::net::sendmsg(to, &[IoSlice::new(HERE)], &mut control, flags).is_ok()
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

    /// As root alone, who may become somebody else.
    #[test]
    fn others_get_nothing_and_keep_nobody_out() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let handover = FdHandover::listen().expect("a handover");
        let script = format!(
            "import os, socket, time\nos.setuid(65534)\nall = []\nfor _ in range(20):\n \
             s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n \
             s.connect(b'\\0' + b'{}')\n all.append(s)\nprint('connected', flush=True)\n\
             got = sum(len(socket.recv_fds(s, 1, 1)[1]) for s in all)\nprint(got, flush=True)",
            handover.name()
        );
        let mut strangers = std::process::Command::new("python3")
            .args(["-c", &script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("python3");
        let said = strangers.stdout.take().expect("a pipe");
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(said));
        let mut line = || lines.next().expect("a line").expect("text");
        assert_eq!(line(), "connected");

        let kind = SocketType::SEQPACKET;
        let rank = rustix::net::socket(AddressFamily::UNIX, kind, None).expect("a socket");
        let address =
            SocketAddrUnix::new_abstract_name(handover.name().as_bytes()).expect("an address");
        rustix::net::connect(&rank, &address).expect("room in the queue");
        let memory = tempfile::tempfile().expect("a file");
        let turns = (0..4).map(|_| handover.answer(memory.as_fd()).expect("open"));
        assert_eq!(turns.flatten().count(), 1, "the rank alone");
        assert_eq!(line(), "0", "descriptors that others got");
        strangers.wait().expect("ended");
    }
}
