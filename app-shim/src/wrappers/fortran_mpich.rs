//! Wrappers of the functions by which MPICH's Fortran layer gets and sets attributes.
//!
//! For all else it calls functions of C. These are of the library's inside: they distinguish
//! addresses from integers, and one says after the making of a keyval that its callbacks are
//! Fortran's.
#![allow(non_snake_case)]

use super::macros::{entry, next};
use super::recorded::{number_of, recorded};
use crate::family::*;
use crate::resolve::symbols::NextFunction;
use crate::world::arguments::Substitute;
use crate::world::{attributes, callbacks};
use core::ffi::{c_int, c_void};

/// A function of the library's inside.
macro_rules! internal {
    ($name:ident($($arg:ident: $type:ty),*), |$real:ident| $body:block) => {
        internal!($name($($arg: $type),*), |$real, _caller| $body);
    };
    ($name:ident($($arg:ident: $type:ty),*), |$real:ident, $caller:ident| $body:block) => {
        entry!($name, ($($arg: $type),*) -> c_int, |$caller| {
            next!($real, $name, ($($type),*));
            // SAFETY: the library's function of this name has this signature; arguments are the
            // caller's.
            unsafe { $body }
        });
    };
}

/// Setting an attribute of an object, recorded as a call of the C function.
macro_rules! set_attr {
    ($name:ident($type:ty) as $c:literal) => {
        internal!($name(object: $type, keyval: c_int, value: *mut c_void, kind: c_int),
        |real, caller| {
            let object = object.substituted();
            recorded(const { number_of($c) }, caller, || real(object, keyval, value, kind))
        });
    };
}
set_attr!(MPII_Comm_set_attr(Comm) as c"MPI_Comm_set_attr");
set_attr!(MPII_Type_set_attr(Datatype) as c"MPI_Type_set_attr");
set_attr!(MPII_Win_set_attr(Handle) as c"MPI_Win_set_attr");

internal!(
    MPII_Comm_get_attr(
        comm: Comm,
        keyval: c_int,
        value: *mut c_void,
        flag: *mut c_int,
        kind: c_int
    ),
    |real| { attributes::get(comm, keyval, flag, |comm| real(comm, keyval, value, flag, kind)) }
);

/// `MPII_Keyval_set_proxy`, which says that a keyval's callbacks are another language's. It returns
/// nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPII_Keyval_set_proxy(
    keyval: c_int,
    copy: *mut c_void,
    delete: *mut c_void,
) {
    static NEXT: NextFunction = NextFunction::new(c"MPII_Keyval_set_proxy");
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
