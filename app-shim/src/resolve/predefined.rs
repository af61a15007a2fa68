//! Predefined handles, and the numbers by which Fortran calls communicators.
//!
//! The other families fix predefined handles as numbers (`family/`); Open MPI's are addresses of
//! data symbols.

#[cfg(not(feature = "family-mpich"))]
use super::pmpi;
use crate::family::Comm;

#[cfg(not(feature = "family-ompi"))]
pub use crate::family::{
    comm_null, comm_self, comm_world, errors_return, info_null, op_max, request_null, type_byte,
    type_u64,
};

#[cfg(feature = "family-ompi")]
pub use data_symbols::*;

#[cfg(feature = "family-ompi")]
mod data_symbols {
    use crate::family::{Comm, Datatype, Handle, Request};
    use crate::resolve::symbols::data;
    use core::ffi::CStr;
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// An address looked up once.
    struct DataSymbol(&'static CStr, AtomicUsize);

    impl DataSymbol {
        #[inline(always)]
        fn get(&self) -> usize {
            match self.1.load(Ordering::Relaxed) {
                // Also after a look-up in vain: the library may have been loaded meanwhile.
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
                static SYMBOL: DataSymbol = DataSymbol($symbol, AtomicUsize::new(0));
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
}

/// The number by which Fortran calls a communicator: in MPICH the handle itself, elsewhere a place
/// in a table of MPI's.
pub fn fortran_number(comm: Comm) -> i32 {
    #[cfg(feature = "family-mpich")]
    return comm.0;
    // SAFETY: the communicator is valid.
    #[cfg(not(feature = "family-mpich"))]
    unsafe {
        pmpi::comm_c2f(comm)
    }
}

/// The communicator of a number of Fortran's; the null one where the library has no such function.
///
/// # Safety
/// The number is a valid communicator's.
#[cfg(feature = "family-ompi")]
pub unsafe fn comm_of_fortran(number: i32) -> Comm {
    // SAFETY: the caller vouches for the number.
    unsafe { pmpi::comm_f2c(number) }.unwrap_or_else(comm_null)
}
