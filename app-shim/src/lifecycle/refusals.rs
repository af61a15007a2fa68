//! What the shim says on stderr: warnings, and refusals of programs that cannot be observed.

use crate::family::ERR_OTHER;
use crate::process;
use crate::resolve::library;
use core::ffi::{CStr, c_int};
use core::sync::atomic::Ordering;
use invivo_proto::channel::ENV_DESCRIPTORS;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A shell's exit status for wrong usage.
const USAGE: c_int = 2;

/// Writes one line, from the first rank only: trouble is the job's, not each rank's.
pub fn warn(why: &str) {
    let first = process::page().is_none_or(|page| page.rank.load(Ordering::Relaxed) == 0);
    if first {
        write(&format!("invivo: {why}; the program runs on unobserved\n"));
    }
}

/// Ends a program that has loaded another MPI than was expected of it. It cannot be observed, and
/// cannot run either: its world has the tool processes in it.
pub fn refuse_library(library: &CStr) -> ! {
    let path = std::path::Path::new(OsStr::from_bytes(library.to_bytes()));
    let file = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    refuse(&format!(
        "invivo: the program has loaded {0}, which was not to be seen before; \
         type INVIVO_MPI={0} before the launcher\n",
        file.display()
    ))
}

/// Ends a program that cannot reach its supervisor: MPI would begin with the tool processes, which
/// wait until they hear of it.
pub fn refuse_without_supervisor() -> ! {
    refuse(
        "invivo: the program has lost what connects it with invivo: whoever starts it closes the \
         descriptors that it inherits, and its network namespace is another one; leave them open \
         (in Python: close_fds=False)\n",
    )
}

/// Ends a program that is to be observed and has loaded an MPI of another family and none of this
/// one.
#[cold]
pub fn refuse_another_family() {
    if std::env::var_os(ENV_DESCRIPTORS).is_some()
        && let Some(library) = library::of_another_family()
    {
        refuse_library(library);
    }
}

/// The result of a function that no library has behind the shim. Where the program has loaded the
/// MPI of another family than was expected, privately, that is every function, and the first one
/// ends it.
#[cold]
#[inline(never)]
pub fn missing_function() -> c_int {
    refuse_another_family();
    ERR_OTHER
}

fn refuse(line: &str) -> ! {
    write(line);
    // SAFETY: nothing of the program's has to be finished: MPI has not begun.
    unsafe { libc::_exit(USAGE) }
}

fn write(line: &str) {
    // SAFETY: the buffer is valid for its length; a failed write is nobody's trouble.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}
