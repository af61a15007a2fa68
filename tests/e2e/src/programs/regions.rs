//! The programs of `tests/apps/regions`: regions that are marked and regions of the compiler's.

use super::build::{C_FLAGS, build, in_folder};
use super::python;
use crate::mpi::Family;
use crate::paths::{root, sources};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Functions are instrumented, but those of the tests' own helpers and of the marking in Fortran:
/// each is the part of a path.
const INSTRUMENT: [&str; 3] = [
    // As programs are compiled: a function's last call, that of the hook, is a jump then.
    "-O2",
    "-finstrument-functions",
    "-finstrument-functions-exclude-file-list=apps/common,region_log,invivo_regions",
];

/// The command line of `tests/apps/regions/regions` in each language, with the language's name.
/// Its regions have the same names in all of them: in C++ functions are in a namespace, in Fortran
/// in a module.
pub fn regions(family: Family, rounds: u32) -> Vec<(&'static str, Vec<OsString>)> {
    let command =
        |program: PathBuf| -> Vec<OsString> { vec![program.into(), rounds.to_string().into()] };
    vec![
        ("C", command(c(family, "regions_c", "regions.c"))),
        ("C++", command(cpp(family, "regions_cpp", "regions.c"))),
        ("Fortran", command(fortran(family, "regions_f"))),
    ]
}

/// The same program in Python, whose regions are all marked. [`marking`] has to be in its
/// `PYTHONPATH`.
pub fn regions_in_python(rounds: u32) -> Vec<OsString> {
    let script = sources().join("regions/regions.py");
    vec![
        python::interpreter().into(),
        script.into(),
        rounds.to_string().into(),
    ]
}

/// The command line of `tests/apps/regions/selection.c`.
pub fn selection(family: Family, stages: usize, rounds: u64) -> Vec<OsString> {
    let program = c(family, "selection_c", "selection.c");
    vec![
        program.into(),
        stages.to_string().into(),
        rounds.to_string().into(),
    ]
}

/// The command line of `tests/apps/regions/tiny_functions.c`, which goes on until it is told.
pub fn tiny_functions(family: Family) -> Vec<OsString> {
    vec![c(family, "tiny_functions_c", "tiny_functions.c").into()]
}

/// The folder of what programs are marked with.
pub fn marking() -> PathBuf {
    root().join("regions")
}

/// The command line of `tests/apps/regions/region_trouble.c` in one of its modes.
pub fn region_trouble(family: Family, mode: &str) -> Vec<OsString> {
    let program = c(family, "region_trouble_c", "region_trouble.c");
    plugin(family);
    vec![program.into(), mode.into()]
}

/// The command line of the program that throws exceptions through regions.
pub fn region_exceptions(family: Family) -> Vec<OsString> {
    let program = cpp(family, "region_trouble_cxx", "region_trouble_cxx.cpp");
    vec![program.into()]
}

fn folder() -> PathBuf {
    sources().join("regions")
}

/// Everything that these programs are made of.
fn watched() -> Vec<PathBuf> {
    let mut watched = in_folder("regions", "");
    watched.extend(in_folder("common", ""));
    watched.push(marking().join("invivo_regions.h"));
    watched.push(marking().join("invivo_regions.f90"));
    watched
}

fn includes(compile: &mut Command) {
    compile.arg("-I").arg(sources().join("common"));
    compile.arg("-I").arg(marking());
}

/// The commands that compile what programs of all languages have in C, and the object files.
fn helpers(family: Family, target: &Path) -> (Vec<Command>, [PathBuf; 2]) {
    let compile = |source: PathBuf, object: &Path| {
        let mut compile = family.compiler("mpicc");
        compile.args(C_FLAGS).arg("-c");
        includes(&mut compile);
        compile.arg(source).arg("-o").arg(object);
        compile
    };
    let log = target.with_extension("region_log.o");
    let counting = target.with_extension("counting.o");
    let commands = vec![
        compile(folder().join("region_log.c"), &log),
        compile(sources().join("common/counting.c"), &counting),
    ];
    (commands, [log, counting])
}

fn c(family: Family, name: &str, source: &str) -> PathBuf {
    build(family, name, &watched(), |target| {
        let (mut commands, objects) = helpers(family, target);
        let mut compile = family.compiler("mpicc");
        compile.args(C_FLAGS).args(INSTRUMENT).arg("-pthread");
        includes(&mut compile);
        compile.arg(folder().join(source)).args(objects);
        compile.arg("-o").arg(target).arg("-ldl");
        commands.push(compile);
        commands
    })
}

fn cpp(family: Family, name: &str, source: &str) -> PathBuf {
    build(family, name, &watched(), |target| {
        let (mut commands, objects) = helpers(family, target);
        let mut compile = family.compiler("mpicxx");
        // Open MPI's own C++ header casts functions.
        compile.args(C_FLAGS).arg("-Wno-cast-function-type");
        compile.args(INSTRUMENT).arg("-pthread");
        includes(&mut compile);
        compile.args(objects).args(["-x", "c++"]);
        compile.arg(folder().join(source)).args(["-x", "none"]);
        compile.arg("-o").arg(target).arg("-ldl");
        commands.push(compile);
        commands
    })
}

fn fortran(family: Family, name: &str) -> PathBuf {
    build(family, name, &watched(), |target| {
        let (mut commands, objects) = helpers(family, target);
        let mut compile = family.compiler("mpifort");
        compile.arg("-g").args(INSTRUMENT);
        compile.arg("-J").arg(family.built());
        // A module stands before the files that use it.
        compile.arg(marking().join("invivo_regions.f90"));
        compile.arg(folder().join("regions.f90")).args(objects);
        compile.arg("-o").arg(target).arg("-ldl");
        commands.push(compile);
        commands
    })
}

/// The library that `region_trouble library` loads: beside the program, with its name.
fn plugin(family: Family) {
    let source = folder().join("region_plugin.c");
    let watched = std::slice::from_ref(&source);
    build(family, "region_trouble_c.so", watched, |target| {
        let mut compile = Command::new("gcc");
        compile.args(C_FLAGS).args(INSTRUMENT);
        compile.args(["-shared", "-fPIC"]);
        compile.arg(&source).arg("-o").arg(target);
        vec![compile]
    });
}
