//! Switches Open MPI's yielding off where only the tool processes are too many for the node.
//!
//! Open MPI 5 asks PMIx whether there are more processes than slots and then yields, whatever its
//! variables say. Its own function for that, the same in 4.1 and 5.0, takes it back.

use crate::resolve::library;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

/// Switches yielding; gives what held before.
const SET: &CStr = c"opal_progress_set_yield_when_idle";
/// Finds the number of a variable.
const FIND_VARIABLE: &CStr = c"mca_base_var_find";
/// Tells who has set a variable.
const VARIABLE: &CStr = c"mca_base_var_get_value";
/// `MCA_BASE_VAR_SOURCE_FILE`: the user's parameter file, which no launcher sees.
const BY_FILE: c_int = 3;

static WANTED: AtomicBool = AtomicBool::new(false);

/// Notes whether the supervisor asks for it.
pub fn wanted(wanted: bool) {
    WANTED.store(wanted, Ordering::Relaxed);
}

/// Does it, where the supervisor asked for it, once MPI is initialised.
pub fn start() {
    if !WANTED.load(Ordering::Relaxed) {
        return;
    }
    let Some(library) = library::open() else {
        return;
    };
    let set = library.find(SET);
    if !set.is_null() && !said_in_file(&library) {
        // SAFETY: Open MPI's function of this signature; MPI is initialised, and this is the thread
        // that did it.
        unsafe { transmute::<*mut c_void, extern "C" fn(bool) -> bool>(set)(false) };
    }
}

/// Whether the user's parameter file decides about yielding: that holds.
fn said_in_file(library: &library::OpenLibrary) -> bool {
    type Find = extern "C" fn(*const c_char, *const c_char, *const c_char, *const c_char) -> c_int;
    type Value = extern "C" fn(c_int, *mut c_void, *mut c_int, *mut *const c_char) -> c_int;
    let (find, value) = (library.find(FIND_VARIABLE), library.find(VARIABLE));
    if find.is_null() || value.is_null() {
        return false;
    }
    let mut source: c_int = 0;
    // SAFETY: Open MPI's functions of these signatures, in an initialised MPI; null asks for
    // nothing, and the place for the source is ours.
    let known = unsafe {
        let (find, value) = (
            transmute::<*mut c_void, Find>(find),
            transmute::<*mut c_void, Value>(value),
        );
        let name = c"yield_when_idle".as_ptr();
        let number = find(c"ompi".as_ptr(), c"mpi".as_ptr(), ptr::null(), name);
        number >= 0 && value(number, ptr::null_mut(), &mut source, ptr::null_mut()) == 0
    };
    known && source == BY_FILE
}
