//! Compiles a test program once per MPI, and again when a source of it is newer.

use crate::mpi::Family;
use crate::paths::{root, sources};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Options for C and C++. MPICH's `MPI_STATUSES_IGNORE` is an address that gcc takes for an array
/// of no room.
pub const C_FLAGS: [&str; 6] = [
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-stringop-overflow",
];

/// Builds a C program that counts its own calls (`common/counting.c`).
pub fn c(family: Family, name: &str, files: &[PathBuf]) -> OsString {
    let mut watched = files.to_vec();
    watched.extend(in_folder("common", ""));
    watched.extend(in_folder("conversation/c", "h"));

    let built = build(family, name, &watched, |target| {
        let mut compile = family.compiler("mpicc");
        compile
            .args(C_FLAGS)
            .arg("-pthread")
            .arg("-I")
            .arg(sources().join("common"));
        compile
            .args(files)
            .arg(sources().join("common/counting.c"))
            .arg("-o")
            .arg(target);
        vec![compile]
    });
    built.into()
}

/// Builds a Fortran program of one file.
pub fn fortran_file(family: Family, name: &str, source: PathBuf) -> OsString {
    let built = build(family, name, std::slice::from_ref(&source), |target| {
        let mut compile = family.compiler("mpifort");
        compile
            .arg("-g")
            .arg(&source)
            .arg("-J")
            .arg(family.built())
            .arg("-o")
            .arg(target);
        vec![compile]
    });
    built.into()
}

/// The command that compiles a Fortran program of these files, given in the order in which they use
/// each other, by a binding that the preprocessor chooses (`BINDING_MPIF_H`, `BINDING_MPI`,
/// `BINDING_F08`).
pub fn fortran_by_binding(
    family: Family,
    target: &Path,
    binding: &str,
    folder: &Path,
    files: &[PathBuf],
) -> Command {
    let modules = target.with_extension("mod.d");
    std::fs::create_dir_all(&modules).expect("a directory for Fortran's module files");

    let mut compile = family.compiler("mpifort");
    // Without interfaces (mpif.h) one name takes buffers of all types, which gfortran forbids by
    // itself.
    compile.args([
        "-O0",
        "-g",
        "-w",
        "-fallow-argument-mismatch",
        "-ffree-line-length-none",
    ]);
    compile
        .arg(format!("-D{binding}"))
        .arg("-I")
        .arg(folder)
        .arg("-J")
        .arg(&modules);
    compile.args(files).arg("-o").arg(target);
    compile
}

/// The options `-I` and `-D` of an MPI's compiler wrapper, for libraries and programs that must not
/// be linked with MPI.
pub fn include_options(family: Family) -> Vec<String> {
    let shown = family
        .compiler("mpicc")
        .arg("-show")
        .output()
        .expect("mpicc shows its command");
    String::from_utf8_lossy(&shown.stdout)
        .split_whitespace()
        .filter(|word| word.starts_with("-I") || word.starts_with("-D"))
        .map(str::to_owned)
        .collect()
}

/// The files of a folder below `tests/apps`: those with an extension, or all where it is empty.
pub fn in_folder(folder: &str, extension: &str) -> Vec<PathBuf> {
    files_of(&sources().join(folder), extension)
}

fn files_of(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of the sources");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry of the sources").path())
        .filter(|path| {
            path.is_file()
                && (extension.is_empty() || path.extension().is_some_and(|e| e == extension))
        })
        .collect();
    // Directories have no order: the command line must not change from run to run.
    files.sort();
    files
}

/// Runs the commands that make `name`, unless it is newer than everything watched and than the
/// sources of the commands themselves.
pub fn build(
    family: Family,
    name: &str,
    watched: &[PathBuf],
    commands: impl FnOnce(&Path) -> Vec<Command>,
) -> PathBuf {
    let folder = family.built();
    std::fs::create_dir_all(&folder).expect("a directory for the test programs");

    // Test binaries may run at the same time.
    let lock = File::create(folder.join("lock")).expect("the lock of the test programs");
    lock.lock().expect("the lock of the test programs");

    let target = folder.join(name);
    // The options of the compilers are in these files.
    let options = files_of(&root().join("tests/e2e/src/programs"), "rs");
    let newest = watched
        .iter()
        .chain(&options)
        .map(|path| modified(path))
        .max()
        .flatten();
    // A target that is missing has no time, which is less than any.
    if modified(&target) <= newest {
        for mut command in commands(&target) {
            let made = command
                .output()
                .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
            assert!(
                made.status.success(),
                "{command:?}\n{}",
                String::from_utf8_lossy(&made.stderr)
            );
        }
    }
    target
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|meta| meta.modified()).ok()
}
