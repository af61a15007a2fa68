//! Wrappers of attributes of communicators.
#![allow(non_snake_case)]

use super::macros::special;
use crate::family::*;
use crate::world::arguments::Substitute;
use crate::world::{attributes, callbacks};
use core::ffi::{c_int, c_void};

special!(
    MPI_Comm_get_attr,
    PMPI_Comm_get_attr,
    (comm: Comm, comm_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int),
    |real| {
        // SAFETY: the arguments are the caller's, but for one of the two worlds.
        unsafe {
            attributes::get(comm, comm_keyval, flag, |comm| {
                real(comm, comm_keyval, attribute_val, flag)
            })
        }
    }
);

special!(
    MPI_Attr_get,
    PMPI_Attr_get,
    (comm: Comm, keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int),
    |real| {
        // SAFETY: as for `MPI_Comm_get_attr`.
        unsafe {
            attributes::get(comm, keyval, flag, |comm| real(comm, keyval, attribute_val, flag))
        }
    }
);

/// Makes a keyval whose callbacks get `MPI_COMM_WORLD` for the application's world.
macro_rules! create_keyval {
    ($name:ident, $pname:ident) => {
        special!(
            $name,
            $pname,
            (copy: AttributeFn, delete: AttributeFn, keyval: *mut c_int, extra: *mut c_void),
            |real| {
                let (copy, delete) = (copy.substituted(), delete.substituted());
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
