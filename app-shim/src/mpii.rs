//! MPICH's Fortran layer calls functions of C, but for attributes: those it gets and sets by
//! functions of the library's inside, which tell addresses from integers, and it says behind the
//! making of a keyval that its callbacks are Fortran's.
#![allow(non_snake_case)]

use crate::attributes;
use crate::call::Call;
use crate::callbacks;
use crate::family::*;
use crate::process::Real;
use crate::start::number_of;
use crate::wrap::next;
use core::ffi::{c_int, c_void};

macro_rules! inside {
    ($name:ident($($arg:ident: $type:ty),*), |$real:ident| $body:block) => {
        #[doc = concat!("`", stringify!($name), "`")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            next!($real, $name, ($($type),*));
            // SAFETY: the library's function of this name has this signature; arguments are the
            // caller's.
            unsafe { $body }
        }
    };
}

/// Setting an attribute of an object, recorded as a call of the C function.
macro_rules! set_attr {
    ($name:ident($type:ty) as $c:literal) => {
        inside!($name(object: $type, keyval: c_int, value: *mut c_void, kind: c_int), |real| {
            let object = object.real();
            let Some(mut call) = Call::enter(const { number_of($c) }) else {
                return real(object, keyval, value, kind);
            };
            call.calling();
            let result = real(object, keyval, value, kind);
            call.called();
            call.leave();
            result
        });
    };
}
set_attr!(MPII_Comm_set_attr(Comm) as c"MPI_Comm_set_attr");
set_attr!(MPII_Type_set_attr(Datatype) as c"MPI_Type_set_attr");
set_attr!(MPII_Win_set_attr(Handle) as c"MPI_Win_set_attr");

inside!(
    MPII_Comm_get_attr(comm: Comm, keyval: c_int, value: *mut c_void, flag: *mut c_int, kind: c_int),
    |real| { attributes::get(comm, keyval, flag, |comm| real(comm, keyval, value, flag, kind)) }
);

/// What says that a keyval's callbacks are another language's. It returns nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPII_Keyval_set_proxy(
    keyval: c_int,
    copy: *mut c_void,
    delete: *mut c_void,
) {
    static NEXT: crate::next::Next = crate::next::Next::new(c"MPII_Keyval_set_proxy");
    callbacks::keyval_is_fortran(keyval);
    let address = NEXT.address();
    if !address.is_null() {
        // SAFETY: the library's function of this name has this signature; arguments are the
        // caller's.
        unsafe {
            let real: unsafe extern "C" fn(c_int, *mut c_void, *mut c_void) =
                core::mem::transmute(address);
            real(keyval, copy, delete);
        }
    }
}
