//! The wrappers that are no table's: initialisation, the end, sessions, and attributes of the world.
#![allow(non_snake_case)]

use crate::call::Call;
use crate::clock::ticks;
use crate::family::*;
use crate::process::Real;
use crate::start::{self, number_of};
use crate::wrap::next;
use crate::{attributes, callbacks, process, real, sessions};
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

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

/// Runs the real initialisation between attaching and splitting; once, however the names call each other.
unsafe fn initialise(number: u16, real: impl FnOnce() -> c_int) -> c_int {
    use core::sync::atomic::AtomicBool;
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
    if sessions::take_world() {
        return recorded(NUMBER, || SUCCESS);
    }
    // SAFETY: the arguments are the caller's.
    unsafe { initialise(NUMBER, || real(argc, argv)) }
});

special!(
    MPI_Init_thread,
    PMPI_Init_thread,
    (argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int),
    |real| {
        const NUMBER: u16 = number_of(c"MPI_Init_thread");
        if sessions::take_world() {
            // SAFETY: the caller's own place, and MPI is initialised.
            return recorded(NUMBER, || unsafe { real::query_thread(provided) });
        }
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
        start::attach();
        let begin = ticks();
        let made = sessions::make_world(info);
        // SAFETY: the arguments are the caller's.
        let open = || unsafe { real(info, errhandler, session) };
        let result = if made { open() } else { recorded(NUMBER, open) };
        if result == SUCCESS {
            sessions::opened();
        }
        if made {
            start::start(NUMBER, begin);
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

/// The object that a variable of the tools interface is bound to: a pointer to a handle, whose kind the variable says.
/// Handles of other kinds are never equal to the world's.
fn bound(object: *mut c_void) -> *mut c_void {
    static OURS: AtomicUsize = AtomicUsize::new(0);
    match process::worlds() {
        // SAFETY: not null, so it is the caller's handle, and all handles have the size of a communicator's.
        Some(worlds) if !object.is_null() && unsafe { *object.cast::<Comm>() } == worlds.known => {
            OURS.store(worlds.ours.bits() as usize, Ordering::Relaxed);
            OURS.as_ptr().cast()
        }
        _ => object,
    }
}

special!(
    MPI_T_cvar_handle_alloc,
    PMPI_T_cvar_handle_alloc,
    (index: c_int, object: *mut c_void, handle: *mut c_void, count: *mut c_int),
    // SAFETY: the arguments are the caller's.
    |real| { unsafe { real(index, bound(object), handle, count) } }
);

special!(
    MPI_T_pvar_handle_alloc,
    PMPI_T_pvar_handle_alloc,
    (session: *mut c_void, index: c_int, object: *mut c_void, handle: *mut c_void, count: *mut c_int),
    // SAFETY: the arguments are the caller's.
    |real| { unsafe { real(session, index, bound(object), handle, count) } }
);

special!(
    MPI_Error_string,
    PMPI_Error_string,
    (errorcode: c_int, string: *mut c_char, resultlen: *mut c_int),
    |real| {
        // SAFETY: the arguments are the caller's; after success MPI has written the text and its length.
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
