//! The programs of `tests/apps/mpi_features`: features of MPI that an interposed library can break.

use super::build::{C_FLAGS, build, fortran_by_binding, in_folder, include_options};
use crate::mpi::Family;
use crate::paths::sources;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureProgram {
    /// The sections in C, all of them in one run.
    C,
    /// The sections in Fortran, by one of its three bindings: `MPIF_H`, `MPI`, `F08`.
    Fortran(&'static str),
    /// A program of its own in C, `tests/apps/mpi_features/NAME.c`.
    Single(&'static str),
    /// The program with a library that calls MPI before and behind main.
    AroundMain,
    /// The program that loads its MPI at run time.
    Dlopen,
}

/// The bindings of Fortran, by which [`FeatureProgram::Fortran`] is compiled.
pub const BINDINGS: [&str; 3] = ["MPIF_H", "MPI", "F08"];

/// The command line, built first where necessary.
pub fn command<const N: usize>(
    program: FeatureProgram,
    family: Family,
    arguments: [&str; N],
) -> Vec<OsString> {
    let program = match program {
        FeatureProgram::C => c(family, "mpi_features_c", &in_folder("mpi_features/c", "c")),
        FeatureProgram::Single(name) => {
            let source = folder().join(format!("{name}.c"));
            c(family, &format!("mpi_features_{name}"), &[source])
        }
        FeatureProgram::Fortran(binding) => fortran(family, binding),
        FeatureProgram::AroundMain => around_main(family),
        FeatureProgram::Dlopen => dlopen(family),
    };

    let mut command: Vec<OsString> = vec![program.into()];
    command.extend(arguments.map(OsString::from));
    command
}

fn folder() -> PathBuf {
    sources().join("mpi_features")
}

fn c(family: Family, name: &str, files: &[PathBuf]) -> PathBuf {
    let mut watched = files.to_vec();
    watched.extend(in_folder("mpi_features/c", "h"));
    watched.extend(in_folder("common", "h"));
    build(family, name, &watched, |target| {
        let mut compile = family.compiler("mpicc");
        // Open MPI's MPI_UNWEIGHTED is an address that gcc takes for an array of no room.
        compile
            .args(C_FLAGS)
            .args(["-Wno-stringop-overread", "-pthread", "-fopenmp"]);
        compile.arg("-I").arg(sources().join("common"));
        compile.args(files).arg("-o").arg(target);
        vec![compile]
    })
}

fn fortran(family: Family, binding: &str) -> PathBuf {
    let name = format!("mpi_features_{}", binding.to_lowercase());
    let watched = in_folder("mpi_features/fortran", "");
    let folder = folder().join("fortran");
    // A module stands before the files that use it.
    let files = ["stage", "callbacks", "arguments", "objects", "main"];
    let files = files.map(|file| folder.join(format!("{file}.F90")));

    let binding = format!("BINDING_{binding}");
    build(family, &name, &watched, |target| {
        vec![fortran_by_binding(
            family, target, &binding, &folder, &files,
        )]
    })
}

fn around_main(family: Family) -> PathBuf {
    let watched = in_folder("mpi_features/around_main", "");
    build(family, "mpi_features_around_main", &watched, |target| {
        let folder = folder().join("around_main");
        let library = target.with_file_name("libaround_main.so");
        let mut shared = family.compiler("mpicc");
        shared.args(C_FLAGS).args(["-shared", "-fPIC"]);
        shared.arg(folder.join("library.c")).arg("-o").arg(&library);

        let mut compile = family.compiler("mpicc");
        compile
            .args(C_FLAGS)
            .arg(folder.join("main.c"))
            .arg(library);
        compile.arg("-Wl,-rpath,$ORIGIN").arg("-o").arg(target);
        vec![shared, compile]
    })
}

/// Without the compiler wrapper, which would link MPI.
fn dlopen(family: Family) -> PathBuf {
    let source = folder().join("dlopen.c");
    let watched = std::slice::from_ref(&source);

    build(family, "mpi_features_dlopen", watched, |target| {
        let includes = include_options(family);
        let compile = |options: &[&str], target: &Path| {
            let mut compile = Command::new("gcc");
            compile
                .args(&includes)
                .args(["-O1", "-g", "-Wall", "-Wextra"])
                .args(options);
            compile.arg(&source).arg("-o").arg(target).arg("-ldl");
            compile
        };
        let plug_in = ["-DPLUG_IN", "-shared", "-fPIC"];
        vec![
            compile(&plug_in, &target.with_extension("so")),
            compile(&[], target),
        ]
    })
}
