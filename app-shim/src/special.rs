//! The wrappers that are no table's: initialisation, the end, sessions, and attributes of the
//! world.
#![allow(non_snake_case)]

use crate::call::Call;
use crate::clock::ticks;
use crate::family::*;
use crate::process::Real;
use crate::start::{self, number_of};
use crate::wrap::next;
use crate::{attributes, beginning, callbacks, process, real, sessions};
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
pub(crate) use special;

/// Runs the real call as every recorded wrapper does.
#[inline(always)]
fn recorded(number: u16, real: impl FnOnce() -> c_int) -> c_int {
    let Some(mut call) = Call::enter(number) else {
        return real();
    };
    call.calling();
    let result = real();
    call.called();
    call.leave();
    result
}

/// Runs the real initialisation between attaching and splitting.
fn initialise(number: u16, real: impl FnOnce() -> c_int) -> c_int {
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
    let real = || unsafe { real(argc, argv) };
    let begin = || match sessions::take_world() {
        true => recorded(NUMBER, || SUCCESS),
        false => initialise(NUMBER, real),
    };
    beginning::alone(begin, real)
});

special!(
    MPI_Init_thread,
    PMPI_Init_thread,
    (argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int),
    |real| {
        const NUMBER: u16 = number_of(c"MPI_Init_thread");
        // SAFETY: the arguments are the caller's.
        let real = || unsafe { real(argc, argv, required, provided) };
        let begin = || match sessions::take_world() {
            // SAFETY: the caller's own place, and MPI is initialised.
            true => recorded(NUMBER, || unsafe { real::query_thread(provided) }),
            false => initialise(NUMBER, real),
        };
        beginning::alone(begin, real)
    }
);

special!(MPI_Finalize, PMPI_Finalize, (), |real| {
    const NUMBER: u16 = number_of(c"MPI_Finalize");
    if let Some(call) = Call::enter(NUMBER) {
        start::finalizing(call);
    }
    // SAFETY: no arguments. Draining happens inside, when MPI_COMM_SELF loses its attributes.
    let result = unsafe { real() };
    start::finalized();
    result
});

special!(MPI_Abort, PMPI_Abort, (comm: Comm, errorcode: c_int), |real| {
    start::aborting(errorcode);
    // The real world on purpose: the tools must end, too.
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

special!(
    MPI_Session_init,
    PMPI_Session_init,
    (info: Handle, errhandler: Handle, session: *mut Handle),
    |real| {
        const NUMBER: u16 = number_of(c"MPI_Session_init");
        // SAFETY: the arguments are the caller's.
        let open = || unsafe { real(info, errhandler, session) };
        let beside_the_world = || {
            sessions::beside_the_world();
            recorded(NUMBER, open)
        };
        let first = || {
            start::attach();
            let begin = ticks();
            if !sessions::make_world(info) {
                return beside_the_world();
            }
            let result = open();
            start::start(NUMBER, begin);
            result
        };
        let result = if process::observing() {
            beside_the_world()
        } else {
            beginning::alone(first, open)
        };
        if result == SUCCESS {
            sessions::opened();
        }
        result
    }
);

special!(MPI_Session_finalize, PMPI_Session_finalize, (session: *mut Handle), |real| {
    const NUMBER: u16 = number_of(c"MPI_Session_finalize");
    // SAFETY: the argument is the caller's.
    let result = recorded(NUMBER, || unsafe { real(session) });
    if result == SUCCESS {
        sessions::closed();
    }
    result
});

special!(
    MPI_Group_from_session_pset,
    PMPI_Group_from_session_pset,
    (session: Handle, pset_name: *const c_char, newgroup: *mut Handle),
    |real| {
        const NUMBER: u16 = number_of(c"MPI_Group_from_session_pset");
        // SAFETY: the arguments are the caller's; after success MPI has written the group.
        recorded(NUMBER, || unsafe {
            let result = real(session, pset_name, newgroup);
            if result == SUCCESS {
                sessions::without_tools(&mut *newgroup);
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
                sessions::without_tools_in_info(session, pset_name, *info);
            }
            result
        }
    }
);

special!(
    MPI_Comm_get_attr,
    PMPI_Comm_get_attr,
    (comm: Comm, comm_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int),
    |real| {
        // SAFETY: the arguments are the caller's, but for one of the two worlds.
        unsafe { attributes::get(comm, comm_keyval, flag, |comm| real(comm, comm_keyval, attribute_val, flag)) }
    }
);

special!(
    MPI_Attr_get,
    PMPI_Attr_get,
    (comm: Comm, keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int),
    |real| {
        // SAFETY: as above.
        unsafe { attributes::get(comm, keyval, flag, |comm| real(comm, keyval, attribute_val, flag)) }
    }
);

/// Makes a keyval whose callbacks get the world that the application knows.
macro_rules! create_keyval {
    ($name:ident, $pname:ident) => {
        special!(
            $name,
            $pname,
            (copy: AttributeFn, delete: AttributeFn, keyval: *mut c_int, extra: *mut c_void),
            |real| {
                let (copy, delete) = (copy.real(), delete.real());
                // SAFETY: the arguments are the caller's; after success MPI has written the keyval.
                unsafe {
                    let result = real(copy, delete, keyval, extra);
                    if result == SUCCESS {
                        callbacks::keyval_made(*keyval, [copy.0, delete.0]);
                    }
                    result
                }
            }
        );
    };
}
create_keyval!(MPI_Comm_create_keyval, PMPI_Comm_create_keyval);
create_keyval!(MPI_Keyval_create, PMPI_Keyval_create);

special!(
    MPI_Error_string,
    PMPI_Error_string,
    (errorcode: c_int, string: *mut c_char, resultlen: *mut c_int),
    |real| {
        // SAFETY: the arguments are the caller's; after success MPI has written the text and its
        // length.
        unsafe {
            let result = real(errorcode, string, resultlen);
            if let Some(worlds) = process::worlds().filter(|_| result == SUCCESS) {
                let length = usize::try_from(*resultlen).unwrap_or(0);
                let text = core::slice::from_raw_parts_mut(string.cast::<u8>(), length);
                let named = name_world(text, worlds.ours);
                *string.add(named) = 0;
                *resultlen = named as c_int;
            }
            result
        }
    }
);
