//! Handle types of MPI, as wide as the family has them.

use core::ffi::{c_int, c_void};

/// A handle: a number in MPICH, an address elsewhere.
#[cfg(feature = "family-mpich")]
pub type RawHandle = c_int;
#[cfg(not(feature = "family-mpich"))]
pub type RawHandle = usize;

/// `MPI_SUCCESS`, the one error code that the standard fixes.
pub const SUCCESS: c_int = 0;

/// Handles that the shim passes on without looking at them.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Handle(pub RawHandle);

impl Handle {
    /// The handle as a number, different for all handles of one kind.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.0 as u64
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub RawHandle);

        impl $name {
            /// The handle as a number, different for all handles of this kind.
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
pub struct HandlerFn(pub *const c_void);

/// A function that copies or deletes an attribute of a communicator.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct AttributeFn(pub *const c_void);

/// `MPI_File`, a pointer in all families.
pub type File = *mut c_void;
