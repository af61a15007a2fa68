//! Wrappers of Open MPI's Fortran functions of attributes and callbacks.
//!
//! There its Fortran layer goes to the library's inside, past the functions of C. These are its own
//! functions, by all names that compilers and its three bindings give them: the world is replaced,
//! callbacks get the right one, and calls are recorded under their C name.
#![allow(non_snake_case)]

use super::macros::entry;
use super::recorded::{number_of, recorded};
use crate::family::*;
use crate::resolve::predefined::{comm_of_fortran, fortran_number};
use crate::resolve::symbols::NextFunction;
use crate::world::callbacks::{self, Passing};
use crate::world::{attributes, worlds};
use core::ffi::{c_int, c_void};

type Fint = c_int;
type Pointer = *mut c_void;

/// One body under several names, each with the next function of its name.
macro_rules! fortran {
    ($name:ident $($more:ident)+: $($rest:tt)*) => {
        fortran!($name: $($rest)*);
        fortran!($($more)+: $($rest)*);
    };
    ($name:ident: ($($arg:ident: $type:ty),*), $ierr:ident, |$real:ident| $body:block) => {
        fortran!($name: ($($arg: $type),*), $ierr, |$real, _caller| $body);
    };
    ($name:ident: ($($arg:ident: $type:ty),*), $ierr:ident,
     |$real:ident, $caller:ident| $body:block) => {
        entry!($name, ($($arg: $type,)* $ierr: *mut Fint) -> (), |$caller| {
            static NEXT: NextFunction =
                NextFunction::by_bytes(concat!(stringify!($name), "\0").as_bytes());
            let address = NEXT.address();
            // SAFETY: the library's function of this name has this signature; arguments are the
            // caller's.
            unsafe {
                if address.is_null() {
                    *$ierr = ERR_OTHER;
                    return;
                }
                let $real: unsafe extern "C" fn($($type,)* *mut Fint) =
                    core::mem::transmute(address);
                $body
            }
        });
    };
}

/// Fortran's number of the communicator to be passed on for `comm`.
///
/// # Safety
/// `comm` is the caller's place for it.
unsafe fn substitute(comm: *const Fint) -> Fint {
    // SAFETY: the caller's communicator.
    let comm = unsafe { *comm };
    match worlds::worlds() {
        Some(worlds) if worlds.fortran_job == comm => worlds.fortran_application,
        _ => comm,
    }
}

macro_rules! set_attr {
    ($c:literal: $($name:ident)+) => {
        fortran! { $($name)+: (comm: *const Fint, keyval: Pointer, value: Pointer), ierr,
        |real, caller| {
            let comm = substitute(comm);
            recorded(const { number_of($c) }, caller, || real(&comm, keyval, value, ierr));
        } }
    };
}
set_attr! { c"MPI_Comm_set_attr":
    MPI_COMM_SET_ATTR mpi_comm_set_attr mpi_comm_set_attr_ mpi_comm_set_attr__ pmpi_comm_set_attr_
    ompi_comm_set_attr_f
}
set_attr! { c"MPI_Attr_put":
    MPI_ATTR_PUT mpi_attr_put mpi_attr_put_ mpi_attr_put__ pmpi_attr_put_ ompi_attr_put_f
}

macro_rules! get_attr {
    ($($name:ident)+) => {
        fortran! {
            $($name)+: (comm: *const Fint, keyval: *const Fint, value: Pointer, flag: *mut Fint),
            ierr, |real| {
                let handle = comm_of_fortran(*comm);
                attributes::get(handle, *keyval, flag, |from| {
                    let number = fortran_number(from);
                    real(&number, keyval, value, flag, ierr);
                    *ierr
                });
            }
        }
    };
}
get_attr! {
    MPI_COMM_GET_ATTR mpi_comm_get_attr mpi_comm_get_attr_ mpi_comm_get_attr__ pmpi_comm_get_attr_
    ompi_comm_get_attr_f
}
get_attr! {
    MPI_ATTR_GET mpi_attr_get mpi_attr_get_ mpi_attr_get__ pmpi_attr_get_ ompi_attr_get_f
}

/// Attributes of types and windows have nothing to do with the world.
macro_rules! only_recorded {
    ($c:literal: $($name:ident)+) => {
        fortran! { $($name)+: (object: Pointer, keyval: Pointer, value: Pointer), ierr,
        |real, caller| {
            recorded(const { number_of($c) }, caller, || real(object, keyval, value, ierr));
        } }
    };
}
only_recorded! { c"MPI_Type_set_attr":
    MPI_TYPE_SET_ATTR mpi_type_set_attr mpi_type_set_attr_ mpi_type_set_attr__ pmpi_type_set_attr_
    ompi_type_set_attr_f
}
only_recorded! { c"MPI_Win_set_attr":
    MPI_WIN_SET_ATTR mpi_win_set_attr mpi_win_set_attr_ mpi_win_set_attr__ pmpi_win_set_attr_
    ompi_win_set_attr_f
}

macro_rules! create_keyval {
    ($($name:ident)+) => {
        fortran! {
            $($name)+: (copy: Pointer, delete: Pointer, keyval: Pointer, extra: Pointer),
            ierr, |real| {
                let [copy, delete] = [copy, delete]
                    .map(|function| callbacks::entry(function, Passing::Fortran).cast_mut());
                real(copy, delete, keyval, extra, ierr);
            }
        }
    };
}
create_keyval! {
    MPI_COMM_CREATE_KEYVAL mpi_comm_create_keyval mpi_comm_create_keyval_ mpi_comm_create_keyval__
    pmpi_comm_create_keyval_ ompi_comm_create_keyval_f
}
create_keyval! {
    MPI_KEYVAL_CREATE mpi_keyval_create mpi_keyval_create_ mpi_keyval_create__ pmpi_keyval_create_
    ompi_keyval_create_f
}

macro_rules! create_errhandler {
    ($c:literal: $($name:ident)+) => {
        fortran! { $($name)+: (function: Pointer, errhandler: Pointer), ierr, |real, caller| {
            let function = callbacks::entry(function, Passing::Fortran).cast_mut();
            recorded(const { number_of($c) }, caller, || real(function, errhandler, ierr));
        } }
    };
}
create_errhandler! { c"MPI_Comm_create_errhandler":
    MPI_COMM_CREATE_ERRHANDLER mpi_comm_create_errhandler mpi_comm_create_errhandler_
    mpi_comm_create_errhandler__ pmpi_comm_create_errhandler_ ompi_comm_create_errhandler_f
}
create_errhandler! { c"MPI_Errhandler_create":
    MPI_ERRHANDLER_CREATE mpi_errhandler_create mpi_errhandler_create_ mpi_errhandler_create__
    pmpi_errhandler_create_ ompi_errhandler_create_f
}
