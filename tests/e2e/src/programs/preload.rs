//! Libraries of the tests that are preloaded: a PMPI counter, a sender of garbage, a yield, a late
//! fence.

use super::build::{build, in_folder, include_options};
use crate::mpi::{Family, functions};
use crate::paths::{root, sources};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The calls that a PMPI counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// `MPI_*`; may be loaded behind Invivo's shim.
    Shallow,
    /// `PMPI_*` as well; for bare runs.
    Deep,
}

/// The library of the PMPI counter, built first where necessary.
pub fn counter(family: Family, counter: Counter) -> PathBuf {
    let (name, definitions): (_, &[&str]) = match counter {
        Counter::Shallow => ("libpmpi_counter.so", &[]),
        Counter::Deep => ("libpmpi_counter_deep.so", &["-DDEEP"]),
    };
    let source = sources().join("pmpi_counter/pmpi_counter.c");
    // The table of functions is compiled into the library.
    let mut watched = in_folder("pmpi_counter", "");
    watched.push(root().join("proto/mpi.functions"));
    library(family, name, &source, &watched, definitions)
}

/// The library that lets one tool place send garbage, built first where necessary.
pub fn garbage_sender(family: Family) -> PathBuf {
    let source = sources().join("garbage_sender/garbage_sender.c");
    let watched = std::slice::from_ref(&source);
    library(family, "libgarbage_sender.so", &source, watched, &[])
}

/// The library that lets processes of MPICH yield the processor while they wait, built first where
/// necessary.
pub fn yield_while_waiting(family: Family) -> PathBuf {
    let source = sources().join("yield_while_waiting.c");
    let watched = std::slice::from_ref(&source);
    library(family, "libyield_while_waiting.so", &source, watched, &[])
}

/// The library that lets process 1 of a job of Slurm come late to the fences of `MPI_Init`, built
/// first where necessary.
pub fn late_to_fence() -> PathBuf {
    let source = sources().join("late_to_fence.c");
    let watched = std::slice::from_ref(&source);
    library(Family::Ompi, "liblate_to_fence.so", &source, watched, &[])
}

/// Compiled without the libraries of MPI's wrapper: it is preloaded into programs that have no MPI,
/// too.
fn library(
    family: Family,
    name: &str,
    source: &Path,
    watched: &[PathBuf],
    definitions: &[&str],
) -> PathBuf {
    build(family, name, watched, |target| {
        let folder = target.with_extension("d");
        std::fs::create_dir_all(&folder).expect("a directory for the counter's functions");
        std::fs::write(folder.join("functions.h"), counted_functions(family))
            .expect("the counter's functions");

        let mut compile = Command::new("gcc");
        compile.arg("-I").arg(folder).args(include_options(family));
        compile.args([
            "-O1",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-deprecated-declarations",
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
        ]);
        compile
            .args(definitions)
            .arg(source)
            .arg("-o")
            .arg(target)
            .arg("-ldl");
        vec![compile]
    })
}

/// The functions that the counter wraps, as a C header: all of the table that this MPI's header
/// declares, with the types of that header, because the compiler compares them.
fn counted_functions(family: Family) -> String {
    let declared = functions::declared(family);
    let mut text = String::new();
    for function in functions::all() {
        // Those that do not return an error code are written by hand.
        let by_hand =
            function.returns != "int" || function.variadic || function.name == "MPI_Finalize";
        if !by_hand && declared.contains(function.name.as_str()) {
            text.push_str(&format!(
                "FUNCTION({}, ({}), ({}))\n",
                function.name,
                function.parameters,
                function.arguments.join(", ")
            ));
        }
    }
    text
}
