//! The Python environment of the tests, which `cargo xtask test` sets up.

use crate::paths::root;
use std::path::PathBuf;

/// The interpreter, with mpi4py, numpy and grpcio.
pub fn interpreter() -> PathBuf {
    let named = std::env::var_os("INVIVO_PYTHON").map(PathBuf::from);
    let interpreter = named.unwrap_or_else(|| root().join("target/python/bin/python"));
    assert!(
        interpreter.exists(),
        "{} is missing: run `cargo xtask test` once",
        interpreter.display()
    );
    interpreter
}

/// The sources of mpi4py, with its tests.
pub fn tests_of_mpi4py() -> PathBuf {
    home().join("mpi4py-tests")
}

/// The directory in which the library of Debian's MPICH has the name that mpi4py looks for.
pub fn mpich_directory() -> PathBuf {
    home().join("mpich")
}

fn home() -> PathBuf {
    let interpreter = interpreter();
    let home = interpreter.ancestors().nth(2);
    home.expect("the interpreter lies in HOME/bin").to_owned()
}
