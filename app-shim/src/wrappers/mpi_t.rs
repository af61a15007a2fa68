//! Wrappers of MPI's tools interface: variables bound to `MPI_COMM_WORLD` are bound to the
//! application's world.
#![allow(non_snake_case)]

use super::macros::special;
use crate::family::*;
use crate::resolve::pmpi;
use crate::world::worlds::worlds;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The object to be passed on for the one that a variable is bound to: a pointer to a handle where
/// the variable is one of communicators, and anything where it is bound to nothing. `binding` asks
/// MPI which.
fn bound(object: *mut c_void, binding: impl FnOnce() -> Option<c_int>) -> *mut c_void {
    // Static: MPI may read the handle through the pointer after the call.
    static OURS: AtomicUsize = AtomicUsize::new(0);
    let Some(worlds) = worlds() else {
        return object;
    };
    if object.is_null() || binding() != Some(T_BIND_COMM) {
        return object;
    }
    // SAFETY: the variable is bound to a communicator, so that this is the caller's pointer to one.
    if unsafe { *object.cast::<Comm>() } != worlds.job {
        return object;
    }
    OURS.store(worlds.application.bits() as usize, Ordering::Relaxed);
    OURS.as_ptr().cast()
}

/// The kind of object that a control variable is bound to.
fn binding_of_cvar(index: c_int) -> Option<c_int> {
    let (mut name_length, mut length, mut binding) = (0, 0, 0);
    let [mut verbosity, mut scope] = [0; 2];
    let (mut datatype, mut enumeration) = (core::ptr::null_mut(), core::ptr::null_mut());
    let none = core::ptr::null_mut();
    // SAFETY: each place is ours; there is no room for the texts, and their lengths of 0 say so.
    let result = unsafe {
        pmpi::t_cvar_get_info(
            index,
            none,
            &mut name_length,
            &mut verbosity,
            &mut datatype,
            &mut enumeration,
            none,
            &mut length,
            &mut binding,
            &mut scope,
        )
    };
    (result == SUCCESS).then_some(binding)
}

/// The kind of object that a performance variable is bound to.
fn binding_of_pvar(index: c_int) -> Option<c_int> {
    let (mut name_length, mut length, mut binding) = (0, 0, 0);
    let [
        mut verbosity,
        mut class,
        mut readonly,
        mut continuous,
        mut atomic,
    ] = [0; 5];
    let (mut datatype, mut enumeration) = (core::ptr::null_mut(), core::ptr::null_mut());
    let none = core::ptr::null_mut();
    // SAFETY: as for `binding_of_cvar`.
    let result = unsafe {
        pmpi::t_pvar_get_info(
            index,
            none,
            &mut name_length,
            &mut verbosity,
            &mut class,
            &mut datatype,
            &mut enumeration,
            none,
            &mut length,
            &mut binding,
            &mut readonly,
            &mut continuous,
            &mut atomic,
        )
    };
    (result == SUCCESS).then_some(binding)
}

special!(
    MPI_T_cvar_handle_alloc,
    PMPI_T_cvar_handle_alloc,
    (index: c_int, object: *mut c_void, handle: *mut c_void, count: *mut c_int),
    |real| {
        let object = bound(object, || binding_of_cvar(index));
        // SAFETY: the arguments are the caller's.
        unsafe { real(index, object, handle, count) }
    }
);

special!(
    MPI_T_pvar_handle_alloc,
    PMPI_T_pvar_handle_alloc,
    (
        session: *mut c_void,
        index: c_int,
        object: *mut c_void,
        handle: *mut c_void,
        count: *mut c_int
    ),
    |real| {
        let object = bound(object, || binding_of_pvar(index));
        // SAFETY: the arguments are the caller's.
        unsafe { real(session, index, object, handle, count) }
    }
);
