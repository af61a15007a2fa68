//! The Python environment of the tests, which `cargo xtask test` sets up.

use crate::paths::{root, sources};
use std::ffi::OsString;
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

/// The command line of `tests/apps/python_calls/solve.py`.
pub fn known_calls(way: &str) -> Vec<OsString> {
    let script = sources().join("python_calls/solve.py");
    vec![interpreter().into(), script.into(), way.into()]
}

/// File and line of the statement with this mark (`# at MARK`) in a file of `python_calls`.
pub fn marked_line(file: &str, mark: &str) -> String {
    let source = std::fs::read_to_string(sources().join("python_calls").join(file));
    let source = source.expect("the program's source");
    let mark = format!("# at {mark}");
    let at = source.lines().position(|line| line.ends_with(&mark));
    format!("{file}:{}", at.expect("a marked line") + 1)
}

fn home() -> PathBuf {
    let interpreter = interpreter();
    let home = interpreter.ancestors().nth(2);
    home.expect("the interpreter lies in HOME/bin").to_owned()
}
