//! The MPI library's binary interface as data, chosen by the family that the shim is built for.
//!
//! Nothing in this folder calls a function; what only the library knows is asked for in
//! `resolve/`.

#[cfg(feature = "family-abi")]
mod abi;
mod handles;
#[cfg(feature = "family-mpich")]
mod mpich;
#[cfg(feature = "family-ompi")]
mod ompi;

pub use handles::*;

#[cfg(feature = "family-abi")]
pub use abi::*;
#[cfg(feature = "family-mpich")]
pub use mpich::*;
#[cfg(feature = "family-ompi")]
pub use ompi::*;

use core::ffi::{CStr, c_int};
use invivo_proto::mpi::peer;

/// The file names of all families' MPI libraries.
pub const ALL_LIBRARY_NAMES: &[&CStr] = &[
    c"libmpi.so.40",
    c"libmpi.so.12",
    c"libmpich.so.12",
    c"libmpi_abi.so.1",
];

/// The number of a peer or root in records, from the family's number.
#[inline(always)]
pub fn peer(rank: c_int) -> i32 {
    if rank >= 0 {
        rank
    } else if rank == PROC_NULL {
        peer::NULL
    } else if rank == ANY_SOURCE {
        peer::ANY
    } else if rank == ROOT {
        peer::ROOT
    } else {
        peer::NONE
    }
}

/// Lets wrappers say `status.or(&mut own)`.
pub trait OrOwn {
    /// This status, or `own` where the caller does not want one but we do.
    fn or(self, own: &mut Status) -> Self;
}

impl OrOwn for *mut Status {
    #[inline(always)]
    fn or(self, own: &mut Status) -> Self {
        if self == STATUS_IGNORE { own } else { self }
    }
}
