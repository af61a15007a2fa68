//! The wrappers that are no table's: initialisation, the end, and attributes of the world.
#![allow(non_snake_case)]

use crate::call::Call;
use crate::clock::ticks;
use crate::family::*;
use crate::process::Real;
use crate::start::{self, number_of};
use crate::wrap::next;
use core::ffi::{c_char, c_int, c_void};

/// Both names of a function, each with its own next function.
macro_rules! special {
    ($name:ident, $pname:ident, ($($arg:ident: $type:ty),*), |$real:ident| $body:block) => {
        #[doc = concat!("`", stringify!($name), "`")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            next!($real, $name, ($($type),*));
            $body
        }
        #[doc = concat!("`", stringify!($pname), "`")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pname($($arg: $type),*) -> c_int {
            next!($real, $pname, ($($type),*));
            $body
        }
    };
}

/// Runs the real initialisation between attaching and splitting; once, however the names call each other.
unsafe fn initialise(number: u16, real: impl FnOnce() -> c_int) -> c_int {
    use core::sync::atomic::{AtomicBool, Ordering};
    static INSIDE: AtomicBool = AtomicBool::new(false);
    if INSIDE.swap(true, Ordering::Relaxed) {
        return real();
    }
    start::attach();
    let begin = ticks();
    let result = real();
    if result == SUCCESS {
        start::start(number, begin);
    }
    result
}

special!(MPI_Init, PMPI_Init, (argc: *mut c_int, argv: *mut *mut *mut c_char), |real| {
    const NUMBER: u16 = number_of(c"MPI_Init");
    // SAFETY: the arguments are the caller's.
    unsafe { initialise(NUMBER, || real(argc, argv)) }
});

special!(
    MPI_Init_thread,
    PMPI_Init_thread,
    (argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int),
    |real| {
        const NUMBER: u16 = number_of(c"MPI_Init_thread");
        // SAFETY: the arguments are the caller's.
        unsafe { initialise(NUMBER, || real(argc, argv, required, provided)) }
    }
);

special!(MPI_Finalize, PMPI_Finalize, (), |real| {
    const NUMBER: u16 = number_of(c"MPI_Finalize");
    if let Some(call) = Call::enter(NUMBER) {
        start::finalizing(call);
    }
    // SAFETY: no arguments. Draining happens inside, when MPI_COMM_SELF loses its attributes.
    unsafe { real() }
});

special!(MPI_Abort, PMPI_Abort, (comm: Comm, errorcode: c_int), |real| {
    start::aborting(errorcode);
    // The real world on purpose: the tools must end, too.
    // SAFETY: the arguments are the caller's.
    unsafe { real(comm, errorcode) }
});

/// Attributes that MPI itself gives to the world are on the real one only; the application's own are on its.
fn attribute_holder(comm: Comm, keyval: c_int) -> Comm {
    if is_predefined(keyval) { comm } else { comm.real() }
}

special!(
    MPI_Comm_get_attr,
    PMPI_Comm_get_attr,
    (comm: Comm, comm_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int),
    |real| {
        // SAFETY: the arguments are the caller's; the communicator is one of the two worlds or the caller's.
        unsafe { real(attribute_holder(comm, comm_keyval), comm_keyval, attribute_val, flag) }
    }
);

special!(
    MPI_Attr_get,
    PMPI_Attr_get,
    (comm: Comm, keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int),
    |real| {
        // SAFETY: as above.
        unsafe { real(attribute_holder(comm, keyval), keyval, attribute_val, flag) }
    }
);
