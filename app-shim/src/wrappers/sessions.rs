//! Wrappers of sessions (MPI 4).
#![allow(non_snake_case)]

use super::macros::special;
use super::recorded::{number_of, recorded};
use crate::clock::ticks;
use crate::family::*;
use crate::lifecycle::attach::attach;
use crate::lifecycle::{init_lock, sessions, start};
use crate::process;
use crate::world::process_sets;
use core::ffi::{c_char, c_int, c_void};

special!(
    MPI_Session_init,
    PMPI_Session_init,
    (info: Handle, errhandler: Handle, session: *mut Handle),
    |real, caller| {
        const NUMBER: u16 = number_of(c"MPI_Session_init");
        // SAFETY: the arguments are the caller's.
        let open = || unsafe { real(info, errhandler, session) };
        let beside_the_world = || {
            sessions::beside_the_world();
            recorded(NUMBER, caller, open)
        };
        let first = || {
            attach();
            // Behind attaching, which is no part of the call.
            let begin = ticks();
            if !sessions::make_world(info) {
                return beside_the_world();
            }
            let result = open();
            start::start(NUMBER, begin, caller);
            result
        };
        let result = if process::observing() {
            beside_the_world()
        } else {
            init_lock::alone(first, open)
        };
        if result == SUCCESS {
            sessions::opened();
        }
        result
    }
);

special!(MPI_Session_finalize, PMPI_Session_finalize, (session: *mut Handle), |real, caller| {
    const NUMBER: u16 = number_of(c"MPI_Session_finalize");
    // SAFETY: the argument is the caller's.
    let result = recorded(NUMBER, caller, || unsafe { real(session) });
    if result == SUCCESS {
        sessions::closed();
    }
    result
});

special!(
    MPI_Group_from_session_pset,
    PMPI_Group_from_session_pset,
    (session: Handle, pset_name: *const c_char, newgroup: *mut Handle),
    |real, caller| {
        const NUMBER: u16 = number_of(c"MPI_Group_from_session_pset");
        // SAFETY: the arguments are the caller's; after success MPI has written the group.
        recorded(NUMBER, caller, || unsafe {
            let result = real(session, pset_name, newgroup);
            if result == SUCCESS {
                process_sets::without_tools(&mut *newgroup);
            }
            result
        })
    }
);

special!(
    MPI_Session_get_pset_info,
    PMPI_Session_get_pset_info,
    (session: Handle, pset_name: *const c_char, info: *mut Handle),
    |real| {
        // SAFETY: the arguments are the caller's; after success MPI has written the info object.
        unsafe {
            let result = real(session, pset_name, info);
            if result == SUCCESS {
                process_sets::without_tools_in_info(session, pset_name, *info);
            }
            result
        }
    }
);
