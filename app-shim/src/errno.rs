//! Keeps what the program sees of the system's last error.

/// Does something that may call the system, where the program may look at `errno` behind it.
pub fn keeping_errno<T>(what: impl FnOnce() -> T) -> T {
    // SAFETY: the calling thread's own, always there.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let result = what();
    // SAFETY: as above.
    unsafe { *errno = before };
    result
}
