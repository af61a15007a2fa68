//! The two descriptors that a rank gets from its supervisor: the shared memory and a socket.
//!
//! Both are checked before they are used. Whoever stands between may have closed them (Python's
//! `subprocess` closes all but three), and their numbers may mean files of the program's by now.
//! Then the rank asks the supervisor for them again, at the socket where it hands descriptors over.
//! That socket's name is free again when the supervisor stops listening, and no mode guards it: who
//! listens there must be a process of the same user.

use crate::limits::HANDOVER_WAIT_S;
use core::ffi::{c_int, c_void};
use core::mem::{size_of, zeroed};
use invivo_proto::shm::{PACKETS_MAX, region_bytes};

/// The seals that the supervisor has put on the memory.
const SEALS: c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
/// The file system of a memfd of ordinary pages. One of huge pages may have fewer of them than it
/// says, and whoever touches one that is missing is killed.
const TMPFS: i64 = 0x0102_1994;
/// Bytes for one descriptor beside a message, aligned as its head.
const ONE_DESCRIPTOR_BYTES: usize = 8;

/// Both descriptors.
#[derive(Clone, Copy)]
pub struct SupervisorFds {
    /// The rank's memory, a sealed memfd.
    pub memory: c_int,
    /// Connected with the supervisor (`SOCK_SEQPACKET`).
    pub socket: c_int,
}

/// The descriptors of these numbers (memory, socket), if that is what they are, and else those that
/// the supervisor hands over at the socket of this name.
pub fn find(numbers: Option<(c_int, c_int)>, handover: Option<&str>) -> Option<SupervisorFds> {
    numbers
        .map(|(memory, socket)| SupervisorFds { memory, socket })
        .filter(|found| is_memory(found.memory) && is_socket(found.socket))
        .or_else(|| ask_again(handover?))
}

fn is_memory(descriptor: c_int) -> bool {
    // A file of the program's hardly has just these seals, and a closed descriptor has none.
    // SAFETY: asks about a number that may be no descriptor; the places for the answers are ours.
    unsafe {
        let (mut about, mut system) = (zeroed::<libc::stat>(), zeroed::<libc::statfs>());
        libc::fcntl(descriptor, libc::F_GET_SEALS) == SEALS
            && libc::fstat(descriptor, &mut about) == 0
            && libc::fstatfs(descriptor, &mut system) == 0
            && system.f_type == TMPFS
            && usize::try_from(about.st_size).is_ok_and(|bytes| bytes <= region_bytes(PACKETS_MAX))
    }
}

fn is_socket(descriptor: c_int) -> bool {
    let (mut kind, mut length) = (0 as c_int, size_of::<c_int>() as libc::socklen_t);
    // SAFETY: asks about a number that may be no descriptor; the place for the answer is ours.
    let known = unsafe {
        libc::getsockopt(
            descriptor,
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            (&raw mut kind).cast(),
            &mut length,
        )
    };
    known == 0 && kind == libc::SOCK_SEQPACKET
}

/// Connects to the supervisor by an abstract name: the connection is the socket, and the memory
/// comes by it. Nothing where nobody listens, or the name is longer than a socket's may be.
fn ask_again(handover: &str) -> Option<SupervisorFds> {
    // SAFETY: all zeroes are an address of no family.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The first byte stays 0: a name without a file.
    let name = address.sun_path.get_mut(1..1 + handover.len())?;
    for (to, byte) in name.iter_mut().zip(handover.bytes()) {
        *to = byte as core::ffi::c_char;
    }
    // SAFETY: the address is ours, and its name fits, so that it is as long as is said. The
    // descriptor is closed where nothing comes.
    unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return None;
        }
        // A supervisor that never answers must not hang the program.
        let wait = libc::timeval {
            tv_sec: HANDOVER_WAIT_S,
            tv_usec: 0,
        };
        // Nor one whose queue others keep full: a connection waits like a message that is sent.
        for direction in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
            libc::setsockopt(
                socket,
                libc::SOL_SOCKET,
                direction,
                (&raw const wait).cast(),
                size_of::<libc::timeval>() as libc::socklen_t,
            );
        }
        let length = core::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + handover.len();
        let connected = libc::connect(
            socket,
            (&raw const address).cast(),
            length as libc::socklen_t,
        ) == 0;
        let is_supervisor = connected && is_own_users(socket);
        let memory = if is_supervisor {
            received(socket)
        } else {
            None
        };
        match memory.filter(|memory| is_memory(*memory)) {
            Some(memory) => Some(SupervisorFds { memory, socket }),
            None => {
                libc::close(socket);
                None
            }
        }
    }
}

/// Whether a process of this user listens at the other end.
fn is_own_users(socket: c_int) -> bool {
    let mut peer = libc::ucred {
        pid: 0,
        uid: libc::uid_t::MAX,
        gid: libc::gid_t::MAX,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the place for the answer is ours and as long as is said.
    unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut length,
        ) == 0
            && peer.uid == libc::geteuid()
    }
}

/// The descriptor that comes with the next message.
///
/// # Safety
/// `socket` is an open socket.
unsafe fn received(socket: c_int) -> Option<c_int> {
    #[repr(C)]
    struct Beside {
        head: libc::cmsghdr,
        room: [u8; ONE_DESCRIPTOR_BYTES],
    }
    let mut byte = 0u8;
    // SAFETY: zeroes are a message without anything; its parts are filled in with places that are
    // ours and as long as is said. What came beside it is read where the kernel says that there is
    // a whole descriptor.
    unsafe {
        let mut beside: Beside = zeroed();
        let mut part = libc::iovec {
            iov_base: (&raw mut byte).cast::<c_void>(),
            iov_len: 1,
        };
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut beside).cast();
        message.msg_controllen = size_of::<Beside>();
        let came = libc::recvmsg(socket, &mut message, libc::MSG_CMSG_CLOEXEC);
        // A message without a descriptor, or with a part of one, is not the supervisor's.
        let head = libc::CMSG_FIRSTHDR(&message);
        let whole = came == 1
            && !head.is_null()
            && (*head).cmsg_level == libc::SOL_SOCKET
            && (*head).cmsg_type == libc::SCM_RIGHTS
            && (*head).cmsg_len == libc::CMSG_LEN(size_of::<c_int>() as u32) as usize;
        whole.then(|| libc::CMSG_DATA(head).cast::<c_int>().read_unaligned())
    }
}
