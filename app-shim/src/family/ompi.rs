//! `libmpi.so.40`: Open MPI 4.1 and 5.0. Handles are addresses of structures, predefined ones of
//! data symbols.

use super::*;
use crate::next::data;
use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A handle is an address.
pub type RawHandle = usize;

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

/// An address looked up once.
struct Symbol(&'static CStr, AtomicUsize);

impl Symbol {
    #[inline(always)]
    fn get(&self) -> usize {
        match self.1.load(Ordering::Relaxed) {
            0 => self.look_up(),
            address => address,
        }
    }

    #[cold]
    fn look_up(&self) -> usize {
        let address = data(self.0);
        self.1.store(address, Ordering::Relaxed);
        address
    }
}

macro_rules! symbols {
    ($($function:ident -> $type:ident: $symbol:literal),* $(,)?) => {$(
        #[inline(always)]
        pub fn $function() -> $type {
            static SYMBOL: Symbol = Symbol($symbol, AtomicUsize::new(0));
            $type(SYMBOL.get())
        }
    )*};
}
symbols! {
    comm_world -> Comm: c"ompi_mpi_comm_world",
    comm_self -> Comm: c"ompi_mpi_comm_self",
    comm_null -> Comm: c"ompi_mpi_comm_null",
    request_null -> Request: c"ompi_request_null",
    type_byte -> Datatype: c"ompi_mpi_byte",
    type_u64 -> Datatype: c"ompi_mpi_unsigned_long",
    op_max -> Handle: c"ompi_mpi_op_max",
    info_null -> Handle: c"ompi_mpi_info_null",
    errors_return -> Handle: c"ompi_mpi_errors_return",
}

/// The file that a program of this family has loaded is called like this.
pub const LIBRARY_NAMES: &[&CStr] = &[c"libmpi.so.40"];

/// Whether MPI itself gives this attribute to the world.
pub fn is_predefined(keyval: c_int) -> bool {
    /// `MPI_TAG_UB` is 0, `MPI_UNIVERSE_SIZE` 6; windows' come behind.
    const LAST: c_int = 6;
    (0..=LAST).contains(&keyval)
}

/// What Fortran calls a communicator: its place in a table of MPI's.
pub fn fortran_number(comm: Comm) -> i32 {
    // SAFETY: the communicator is valid.
    unsafe { crate::real::comm_c2f(comm) }
}

/// Whether a dup has the world's value of this predefined attribute.
pub fn is_copied(keyval: c_int) -> bool {
    const LASTUSEDCODE: c_int = 5;
    keyval != LASTUSEDCODE
}

/// The text of an error: Open MPI's have no arguments.
pub fn name_world(text: &mut [u8], _: Comm) -> usize {
    text.len()
}
