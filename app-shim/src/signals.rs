//! Keeps handlers of signals out of something short.

/// Does something short that no handler of a signal interrupts.
pub fn without_signals<T>(what: impl FnOnce() -> T) -> T {
    // SAFETY: sets of signals are numbers.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { core::mem::zeroed() };
    // SAFETY: the set is ours.
    unsafe { libc::sigfillset(&mut all) };
    // SAFETY: as above; the mask is the calling thread's.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before) };
    let result = what();
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, core::ptr::null_mut()) };
    result
}
