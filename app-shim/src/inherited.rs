//! The two descriptors that a rank has from its supervisor: its memory, and the way back. Both are
//! looked at before they are used. Whoever stands between may have closed them (Python's
//! `subprocess` closes all but three), and their numbers may mean files of the program's by now.
//! Then the supervisor is asked for them again, at its door.

use core::ffi::{c_int, c_void};
use core::mem::{size_of, zeroed};

/// The longest that the supervisor takes to answer: it sleeps until somebody comes.
const PATIENCE_S: i64 = 10;
/// What the supervisor has sealed the memory with.
const SEALS: c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
/// Room for one descriptor beside a message, aligned as its head.
const ROOM: usize = 8;

/// Both descriptors.
#[derive(Clone, Copy)]
pub struct Inherited {
    /// The rank's memory.
    pub memory: c_int,
    /// The way back.
    pub control: c_int,
}

/// The descriptors of these numbers, if that is what they are, and else those that the supervisor
/// gives at its door.
pub fn find(numbers: Option<(c_int, c_int)>, door: Option<&str>) -> Option<Inherited> {
    numbers
        .map(|(memory, control)| Inherited { memory, control })
        .filter(|found| is_memory(found.memory) && is_way_back(found.control))
        .or_else(|| again(door?))
}

fn is_memory(descriptor: c_int) -> bool {
    // SAFETY: asks about a number that may be no descriptor, and touches no memory.
    unsafe { libc::fcntl(descriptor, libc::F_GET_SEALS) == SEALS }
}

fn is_way_back(descriptor: c_int) -> bool {
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

/// Goes to the door: the connection is the way back, and the memory comes by it. A door whose name
/// is longer than a socket's may be is nobody's.
fn again(door: &str) -> Option<Inherited> {
    // SAFETY: all zeroes are an address of no family.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The first byte stays 0: a name without a file.
    let name = address.sun_path.get_mut(1..1 + door.len())?;
    for (to, byte) in name.iter_mut().zip(door.bytes()) {
        *to = byte as core::ffi::c_char;
    }
    // SAFETY: the address is ours, and its name fits, so that it is as long as is said. The
    // descriptor is closed where nothing comes.
    unsafe {
        let control = libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0);
        if control < 0 {
            return None;
        }
        let patience = libc::timeval {
            tv_sec: PATIENCE_S,
            tv_usec: 0,
        };
        libc::setsockopt(
            control,
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const patience).cast(),
            size_of::<libc::timeval>() as libc::socklen_t,
        );
        let length = core::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + door.len();
        let connected = libc::connect(
            control,
            (&raw const address).cast(),
            length as libc::socklen_t,
        ) == 0;
        let memory = if connected { received(control) } else { None };
        match memory.filter(|memory| is_memory(*memory)) {
            Some(memory) => Some(Inherited { memory, control }),
            None => {
                libc::close(control);
                None
            }
        }
    }
}

/// The descriptor that comes with the next message.
unsafe fn received(control: c_int) -> Option<c_int> {
    #[repr(C)]
    struct Beside {
        head: libc::cmsghdr,
        room: [u8; ROOM],
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
        let came = libc::recvmsg(control, &mut message, libc::MSG_CMSG_CLOEXEC);
        let head = libc::CMSG_FIRSTHDR(&message);
        let whole = came == 1
            && !head.is_null()
            && (*head).cmsg_level == libc::SOL_SOCKET
            && (*head).cmsg_type == libc::SCM_RIGHTS
            && (*head).cmsg_len == libc::CMSG_LEN(size_of::<c_int>() as u32) as usize;
        whole.then(|| libc::CMSG_DATA(head).cast::<c_int>().read_unaligned())
    }
}
