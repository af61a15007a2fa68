//! The functions that the shim exports in front of the MPI library.

mod attributes;
#[cfg(target_arch = "x86_64")]
mod dlsym;
mod error_string;
#[cfg(feature = "family-mpich")]
mod fortran_mpich;
#[cfg(feature = "family-ompi")]
mod fortran_ompi;
#[rustfmt::skip]
#[allow(non_snake_case, unused_variables, unused_mut, clippy::all, missing_docs)]
mod generated;
mod init;
mod macros;
mod mpi_t;
mod pcontrol;
mod phases;
mod program_metrics;
mod recorded;
mod regions;
mod sessions;
