//! MPICH 4.0 and later and its relatives (`libmpi.so.12`, Debian's `libmpich.so.12`): constants,
//! the status, predefined handles and attributes.

use super::handles::{Comm, Datatype, Handle, Request, SUCCESS};
use core::ffi::{CStr, c_int, c_void};

pub const ANY_SOURCE: c_int = -2;
pub const PROC_NULL: c_int = -1;
pub const ROOT: c_int = -3;
pub const ERR_IN_STATUS: c_int = 17;
pub const ERR_OTHER: c_int = 15;
pub const THREAD_MULTIPLE: c_int = 3;
pub const THREAD_SERIALIZED: c_int = 2;
pub const THREAD_FUNNELED: c_int = 1;
pub const THREAD_SINGLE: c_int = 0;
pub const KEYVAL_INVALID: c_int = 0x2400_0000;
pub const COMM_GRAPH: c_int = 1;
pub const COMM_CART: c_int = 2;
pub const COMM_DIST_GRAPH: c_int = 3;
/// Functions of MPI's own that copy and delete attributes are addresses; some are 0.
pub const FIRST_ADDRESS_OF_A_FUNCTION: usize = 1;
/// `MPI_T_BIND_MPI_COMM`.
pub const T_BIND_COMM: c_int = 9701;
pub const STATUS_IGNORE: *mut Status = core::ptr::without_provenance_mut(1);
pub const IN_PLACE: *const c_void = core::ptr::without_provenance(usize::MAX);

/// `MPI_Status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    count_low: c_int,
    count_high_and_cancelled: c_int,
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
}

impl Status {
    pub const EMPTY: Status = Status {
        count_low: 0,
        count_high_and_cancelled: 0,
        source: PROC_NULL,
        tag: -1,
        error: SUCCESS,
    };

    /// Bytes received.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        u64::from(self.count_low as u32)
            | u64::from(self.count_high_and_cancelled as u32 >> 1) << 32
    }

    #[inline(always)]
    pub fn is_cancelled(&self) -> bool {
        self.count_high_and_cancelled & 1 != 0
    }
}

macro_rules! constants {
    ($($function:ident -> $type:ident: $value:literal),* $(,)?) => {$(
        #[inline(always)]
        pub fn $function() -> $type {
            $type($value as c_int)
        }
    )*};
}
constants! {
    comm_world -> Comm: 0x4400_0000u32,
    comm_self -> Comm: 0x4400_0001u32,
    comm_null -> Comm: 0x0400_0000u32,
    request_null -> Request: 0x2c00_0000u32,
    type_byte -> Datatype: 0x4c00_010du32,
    type_u64 -> Datatype: 0x4c00_0808u32,
    op_max -> Handle: 0x5800_0001u32,
    info_null -> Handle: 0x1c00_0000u32,
    errors_return -> Handle: 0x5400_0001u32,
}

/// File names of the family's MPI library, without its last version numbers.
pub const LIBRARY_NAMES: &[&CStr] = &[c"libmpi.so.12", c"libmpich.so.12"];

/// Whether MPI itself gives this attribute to the world: bits 24 to 31 of a predefined communicator
/// keyval.
pub fn is_predefined(keyval: c_int) -> bool {
    keyval as u32 >> 16 == 0x6440
}

/// Whether a dup has the world's value of this predefined attribute: every communicator has.
pub fn is_copied(_: c_int) -> bool {
    true
}
