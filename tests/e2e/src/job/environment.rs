//! The environment variables that jobs of an MPI run with.

use crate::mpi::Family;
use crate::programs::{python, yield_while_waiting};
use std::ffi::OsString;

/// The variable with the libraries that every process of a job loads first.
pub const PRELOAD: &str = "LD_PRELOAD";

/// Variables that jobs of this MPI run with.
pub fn environment(family: Family) -> Vec<(&'static str, OsString)> {
    let mut variables: Vec<(&str, OsString)> = vec![
        // Containers and test machines run as root.
        ("OMPI_ALLOW_RUN_AS_ROOT", "1".into()),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".into()),
        ("PRTE_ALLOW_RUN_AS_ROOT", "1".into()),
        ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1".into()),
        ("MPI4PY_MPIABI", family.debian_name().into()),
    ];

    // Tests run more processes than the machine has cores, and not every MPI yields while it waits.
    if family.is_open_mpi() {
        variables.push(("OMPI_MCA_mpi_yield_when_idle", "1".into()));
    }
    if matches!(family, Family::Mpich | Family::Mpich5 | Family::Abi5) {
        variables.push((PRELOAD, yield_while_waiting(family).into()));
    }

    match family {
        Family::Ompi => {}
        // mpi4py looks for libmpi.so.12, which Debian calls libmpich.so.12; `cargo xtask` leaves a
        // link.
        Family::Mpich => {
            variables.push(("LD_LIBRARY_PATH", python::mpich_directory().into()));
        }
        // For mpi4py alone: what their compilers make finds its library by itself.
        Family::Ompi5 | Family::Mpich5 | Family::Abi5 => {
            let lib = family.prefix().map(|prefix| prefix.join("lib"));
            variables.extend(lib.map(|lib| ("LD_LIBRARY_PATH", lib.into())));
        }
        Family::Impi => {
            let prefix = family.prefix().unwrap_or_default();
            variables.push(("LD_LIBRARY_PATH", prefix.join("lib").into()));
            // On one node it needs no network.
            variables.push(("I_MPI_FABRICS", "shm".into()));
            variables.push(("I_MPI_ROOT", prefix.into()));
        }
    }
    variables
}
