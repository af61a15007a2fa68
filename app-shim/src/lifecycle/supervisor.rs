//! The socket to the supervisor, the `invivo exec` process that started this rank.

use crate::clock::monotonic_ns;
use core::ffi::c_int;
use core::mem::zeroed;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use invivo_proto::channel::PLACE_GONE;

/// The rank's end of the socket, -1 while there is none.
static SOCKET: AtomicI32 = AtomicI32::new(-1);
/// The number of the socket's inode: a program that closes descriptors may have a file of its own
/// at its number.
static INODE: AtomicU64 = AtomicU64::new(0);

/// Keeps the socket for the life of the process.
pub fn set_socket(descriptor: c_int) {
    SOCKET.store(descriptor, Ordering::Relaxed);
    INODE.store(inode(descriptor).unwrap_or(0), Ordering::Relaxed);
}

fn inode(descriptor: c_int) -> Option<u64> {
    // SAFETY: asks about a number that may be no descriptor; the place for the answer is ours.
    unsafe {
        let mut about: libc::stat = zeroed();
        let is_socket = libc::fstat(descriptor, &mut about) == 0
            && about.st_mode & libc::S_IFMT == libc::S_IFSOCK;
        is_socket.then_some(about.st_ino)
    }
}

/// Sends one message at once, from a signal's handler. False where nobody hears it.
pub fn rings(message: &[u8]) -> bool {
    let socket = SOCKET.load(Ordering::Relaxed);
    let ours = INODE.load(Ordering::Relaxed);
    if ours == 0 || inode(socket) != Some(ours) {
        return false;
    }
    // SAFETY: the bytes are valid for their length; the descriptor is ours.
    let sent = unsafe {
        libc::send(
            socket,
            message.as_ptr().cast(),
            message.len(),
            libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
        )
    };
    sent >= 0
}

/// Sends one message. False where the supervisor is gone, which nobody here can mend.
pub fn send(message: &[u8]) -> bool {
    let socket = SOCKET.load(Ordering::Relaxed);
    // SAFETY: the bytes are valid for their length; the descriptor is ours, or none.
    let sent = unsafe {
        libc::send(
            socket,
            message.as_ptr().cast(),
            message.len(),
            libc::MSG_NOSIGNAL,
        )
    };
    sent >= 0
}

/// Whether the supervisor has said that the tool place is gone. It says nothing else unasked.
pub fn says_that_place_is_gone() -> bool {
    let mut message = [0_u8; PLACE_GONE.len()];
    // SAFETY: the buffer is valid for its length; the descriptor is ours, or none.
    let received = unsafe {
        libc::recv(
            SOCKET.load(Ordering::Relaxed),
            message.as_mut_ptr().cast(),
            message.len(),
            libc::MSG_DONTWAIT,
        )
    };
    received > 0 && message == *PLACE_GONE
}

/// Waits until the supervisor answers or is gone, but at most `bound_ns`.
pub fn wait_for_answer(bound_ns: u64) {
    let until = monotonic_ns() + bound_ns;
    let mut answer = libc::pollfd {
        fd: SOCKET.load(Ordering::Relaxed),
        events: libc::POLLIN,
        revents: 0,
    };
    loop {
        let left_ms = until.saturating_sub(monotonic_ns()) / 1_000_000;
        // SAFETY: one entry, which is ours.
        let ready = unsafe { libc::poll(&mut answer, 1, left_ms as c_int) };
        // A signal interrupts the call: it goes on for what is left.
        if ready > 0 || left_ms == 0 {
            return;
        }
    }
}
