//! Open MPI 4.1 and 5.0 (`libmpi.so.40`): constants, the status, predefined attributes.
//!
//! Handles are addresses of structures, predefined ones of data symbols: `resolve/predefined.rs`
//! looks those up.

use super::handles::SUCCESS;
use core::ffi::{CStr, c_int, c_void};

pub const ANY_SOURCE: c_int = -1;
pub const PROC_NULL: c_int = -2;
pub const ROOT: c_int = -4;
pub const ERR_IN_STATUS: c_int = 18;
pub const ERR_OTHER: c_int = 16;
pub const THREAD_MULTIPLE: c_int = 3;
pub const THREAD_SERIALIZED: c_int = 2;
pub const THREAD_FUNNELED: c_int = 1;
pub const THREAD_SINGLE: c_int = 0;
pub const KEYVAL_INVALID: c_int = -1;
pub const COMM_CART: c_int = 1;
pub const COMM_GRAPH: c_int = 2;
pub const COMM_DIST_GRAPH: c_int = 3;
/// Functions of MPI's own that copy and delete attributes are addresses; some are 0.
pub const FIRST_ADDRESS_OF_A_FUNCTION: usize = 1;
/// `MPI_T_BIND_MPI_COMM`.
pub const T_BIND_COMM: c_int = 1;
pub const STATUS_IGNORE: *mut Status = core::ptr::null_mut();
pub const IN_PLACE: *const c_void = core::ptr::without_provenance(1);

/// `MPI_Status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
    cancelled: c_int,
    count: usize,
}

impl Status {
    pub const EMPTY: Status = Status {
        source: PROC_NULL,
        tag: -1,
        error: SUCCESS,
        cancelled: 0,
        count: 0,
    };

    /// Bytes received.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        self.count as u64
    }

    #[inline(always)]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled != 0
    }
}

/// File names of the family's MPI library, without its last version numbers.
pub const LIBRARY_NAMES: &[&CStr] = &[c"libmpi.so.40"];

/// Whether MPI itself gives this attribute to the world.
pub fn is_predefined(keyval: c_int) -> bool {
    /// `MPI_TAG_UB` is 0, `MPI_UNIVERSE_SIZE` 6; windows' come behind.
    const LAST: c_int = 6;
    (0..=LAST).contains(&keyval)
}

/// Whether a dup has the world's value of this predefined attribute.
pub fn is_copied(keyval: c_int) -> bool {
    const LASTUSEDCODE: c_int = 5;
    keyval != LASTUSEDCODE
}
