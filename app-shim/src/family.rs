//! What differs between the binary interfaces of the MPI libraries: handle types, constants, the
//! status.

#[cfg(feature = "family-ompi")]
mod ompi;
#[cfg(feature = "family-ompi")]
pub use ompi::*;

#[cfg(feature = "family-mpich")]
mod mpich;
#[cfg(feature = "family-mpich")]
pub use mpich::*;

#[cfg(feature = "family-abi")]
mod abi;
#[cfg(feature = "family-abi")]
pub use abi::*;

use core::ffi::{CStr, c_int};
use invivo_proto::mpi::peer;

/// `MPI_SUCCESS`, the one error code that the standard fixes.
pub const SUCCESS: c_int = 0;

/// Files of all families' MPI libraries are called like one of these.
pub const ALL_LIBRARY_NAMES: &[&CStr] = &[
    c"libmpi.so.40",
    c"libmpi.so.12",
    c"libmpich.so.12",
    c"libmpi_abi.so.1",
];

/// Handles that the shim passes on without looking at them.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Handle(pub RawHandle);

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub RawHandle);

        impl $name {
            /// The handle as a number that tells handles of this kind apart.
            #[inline(always)]
            pub fn bits(self) -> u64 {
                self.0 as u64
            }
        }
    )*};
}
handles!(
    /// `MPI_Comm`.
    Comm,
    /// `MPI_Datatype`.
    Datatype,
    /// `MPI_Request`.
    Request,
    /// `MPI_Message`.
    Message
);
/// A communicator's error handler.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct HandlerFn(pub *const core::ffi::c_void);
/// A function that copies or deletes an attribute of a communicator.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct AttributeFn(pub *const core::ffi::c_void);
/// `MPI_File`, a pointer in all families.
pub type File = *mut core::ffi::c_void;

/// A family's number of a peer or root, as records have it.
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

impl Status {
    /// This status, or `own` where the caller does not want one but we do.
    #[inline(always)]
    pub fn or_own(status: *mut Status, own: &mut Status) -> *mut Status {
        if status == STATUS_IGNORE { own } else { status }
    }
}

/// Lets wrappers say `status.or(&mut own)`.
pub trait OrOwn {
    /// See [`Status::or_own`].
    fn or(self, own: &mut Status) -> Self;
}

impl OrOwn for *mut Status {
    #[inline(always)]
    fn or(self, own: &mut Status) -> Self {
        Status::or_own(self, own)
    }
}

/// The text of an error with the world's name in the place of the number of the handle that stands
/// in for it: MPICH's texts have the arguments of the call. Gives its length, which does not grow.
#[cfg(not(feature = "family-ompi"))]
fn name_handle(text: &mut [u8], ours: u32) -> usize {
    const NAME: &[u8] = b"MPI_COMM_WORLD";
    const BEFORE: &[u8] = b"comm=0x";
    const DIGITS: usize = 8;
    let mut handle = [0u8; BEFORE.len() + DIGITS];
    handle[..BEFORE.len()].copy_from_slice(BEFORE);
    for (place, digit) in handle[BEFORE.len()..].iter_mut().enumerate() {
        let value = ours >> (4 * (DIGITS - 1 - place)) & 0xf;
        *digit = b"0123456789abcdef"[value as usize];
    }
    let (mut from, mut to) = (0, 0);
    while from < text.len() {
        if text[from..].starts_with(&handle) {
            text[to..to + NAME.len()].copy_from_slice(NAME);
            from += handle.len();
            to += NAME.len();
        } else {
            text[to] = text[from];
            from += 1;
            to += 1;
        }
    }
    to
}
