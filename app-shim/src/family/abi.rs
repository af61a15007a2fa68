//! The standard ABI of MPI 5 (`libmpi_abi.so.1`), as MPICH 5 and Intel MPI serve it: constants,
//! the status, predefined handles and attributes.
//!
//! Handles are pointers, of which the predefined ones are small numbers that the standard fixes.
//! What a status holds beside its three fields only MPI knows: `resolve/status.rs` asks it.

use super::handles::{Comm, Datatype, Handle, Request, SUCCESS};
use core::ffi::{CStr, c_int, c_void};

pub const ANY_SOURCE: c_int = -1;
pub const PROC_NULL: c_int = -3;
pub const ROOT: c_int = -4;
pub const ERR_IN_STATUS: c_int = 19;
pub const ERR_OTHER: c_int = 16;
pub const THREAD_MULTIPLE: c_int = 4096;
pub const THREAD_SERIALIZED: c_int = 2048;
pub const THREAD_FUNNELED: c_int = 1024;
pub const THREAD_SINGLE: c_int = 0;
pub const KEYVAL_INVALID: c_int = 0;
pub const COMM_CART: c_int = 211;
pub const COMM_GRAPH: c_int = 212;
pub const COMM_DIST_GRAPH: c_int = 213;
/// `MPI_COMM_NULL_COPY_FN` is 0 and `MPI_COMM_DUP_FN` is 1.
pub const FIRST_ADDRESS_OF_A_FUNCTION: usize = 2;
/// `MPI_T_BIND_MPI_COMM`.
pub const T_BIND_COMM: c_int = 2;
pub const STATUS_IGNORE: *mut Status = core::ptr::null_mut();
pub const IN_PLACE: *const c_void = core::ptr::without_provenance(1);

/// `MPI_Status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
    internal: [c_int; 5],
}

impl Status {
    pub const EMPTY: Status = Status {
        source: PROC_NULL,
        tag: -1,
        error: SUCCESS,
        internal: [0; 5],
    };
}

macro_rules! constants {
    ($($function:ident -> $type:ident: $value:literal),* $(,)?) => {$(
        #[inline(always)]
        pub fn $function() -> $type {
            $type($value)
        }
    )*};
}
constants! {
    comm_world -> Comm: 0x101,
    comm_self -> Comm: 0x102,
    comm_null -> Comm: 0x100,
    request_null -> Request: 0x180,
    type_byte -> Datatype: 0x247,
    type_u64 -> Datatype: 0x259,
    op_max -> Handle: 0x23,
    info_null -> Handle: 0x130,
    errors_return -> Handle: 0x143,
}

/// File names of the family's MPI library, without its last version numbers.
pub const LIBRARY_NAMES: &[&CStr] = &[c"libmpi_abi.so.1"];

/// Whether MPI itself gives this attribute to the world: `MPI_TAG_UB` is 501, `MPI_UNIVERSE_SIZE`
/// 507; windows' come behind.
pub fn is_predefined(keyval: c_int) -> bool {
    (501..=507).contains(&keyval)
}

/// Whether a dup has the world's value of this predefined attribute: every communicator has.
pub fn is_copied(_: c_int) -> bool {
    true
}
