//! Finding functions: symbols, the MPI library, and the PMPI functions that the shim itself calls.

pub mod c_dlsym;
#[cfg(target_arch = "x86_64")]
mod elf;
mod frame_size;
pub mod library;
pub mod modules;
pub mod objects;
pub mod pmpi;
pub mod predefined;
#[cfg(target_arch = "x86_64")]
pub mod restored_symbols;
#[cfg(feature = "family-abi")]
mod status;
pub mod symbols;
