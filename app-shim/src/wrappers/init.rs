//! Wrappers of initialisation and its end: `MPI_Init`, `MPI_Finalize`, `MPI_Abort`.
#![allow(non_snake_case)]

use super::macros::special;
use super::recorded::{number_of, recorded};
use crate::clock::ticks;
use crate::family::*;
use crate::lifecycle::abort::aborting;
use crate::lifecycle::attach::attach;
use crate::lifecycle::{finalize, init_lock, sessions, start};
use crate::record::call::Call;
use crate::resolve::pmpi;
use crate::track::sites::Caller;
use core::ffi::{c_char, c_int, c_void};

/// Runs the real initialisation, attaching before it and splitting the world after it.
fn initialise(number: u16, caller: Caller, real: impl FnOnce() -> c_int) -> c_int {
    attach();
    // Behind attaching, which is no part of the call.
    let begin = ticks();
    let result = real();
    if result == SUCCESS {
        start::start(number, begin, caller);
    }
    result
}

special!(MPI_Init, PMPI_Init, (argc: *mut c_int, argv: *mut *mut *mut c_char), |real, caller| {
    const NUMBER: u16 = number_of(c"MPI_Init");
    // SAFETY: the arguments are the caller's.
    let real = || unsafe { real(argc, argv) };
    let begin = || match sessions::take_world() {
        true => recorded(NUMBER, caller, || SUCCESS),
        false => initialise(NUMBER, caller, real),
    };
    init_lock::alone(begin, real)
});

special!(
    MPI_Init_thread,
    PMPI_Init_thread,
    (argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int),
    |real, caller| {
        const NUMBER: u16 = number_of(c"MPI_Init_thread");
        // SAFETY: the arguments are the caller's.
        let real = || unsafe { real(argc, argv, required, provided) };
        let begin = || match sessions::take_world() {
            // SAFETY: the caller's own place, and MPI is initialised.
            true => recorded(NUMBER, caller, || unsafe { pmpi::query_thread(provided) }),
            false => initialise(NUMBER, caller, real),
        };
        init_lock::alone(begin, real)
    }
);

special!(MPI_Finalize, PMPI_Finalize, (), |real, caller| {
    const NUMBER: u16 = number_of(c"MPI_Finalize");
    finalize::beginning();
    if let Some(call) = Call::enter(NUMBER, caller) {
        finalize::finalizing(call);
    }
    // SAFETY: no arguments. Draining happens inside, when MPI_COMM_SELF loses its attributes.
    let result = unsafe { real() };
    finalize::finalized();
    result
});

special!(MPI_Abort, PMPI_Abort, (comm: Comm, errorcode: c_int), |real| {
    aborting(errorcode);
    // The job's world on purpose: the tool processes must end, too.
    // SAFETY: the arguments are the caller's.
    unsafe { real(comm, errorcode) }
});

special!(MPI_Initialized, PMPI_Initialized, (flag: *mut c_int), |real| {
    // SAFETY: the argument is the caller's.
    unsafe {
        let result = real(flag);
        if result == SUCCESS && sessions::world_is_hidden() {
            *flag = 0;
        }
        result
    }
});

special!(MPI_Finalized, PMPI_Finalized, (flag: *mut c_int), |real| {
    // SAFETY: the argument is the caller's.
    unsafe {
        let result = real(flag);
        if result == SUCCESS && sessions::world_is_hidden() {
            *flag = 0;
        }
        result
    }
});
