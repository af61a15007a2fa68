//! The program of `tests/apps/remaining_functions`: the MPI functions that no other program calls.

use super::build::{C_FLAGS, build, in_folder};
use crate::mpi::{Family, functions};
use crate::paths::sources;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Files that are compiled with counts of `int`, and once more with counts of `MPI_Count`.
const BOTH_COUNTS: [&str; 5] = ["messages", "collectives", "windows", "files", "datatypes"];
/// Files that have nothing to do with counts.
const NO_COUNTS: [&str; 7] = [
    "main",
    "requests",
    "objects",
    "removed",
    "names",
    "extensions",
    "sessions",
];

/// The command line, built first where necessary, that runs the sections that are named, or all.
pub fn command(family: Family, sections: &[&str]) -> Vec<OsString> {
    let watched = in_folder("remaining_functions", "");
    let built = build(family, "remaining_functions", &watched, |target| {
        compiler_commands(family, target)
    });

    let sections = sections.iter().map(OsString::from);
    std::iter::once(built.into()).chain(sections).collect()
}

fn compiler_commands(family: Family, target: &Path) -> Vec<Command> {
    let folder = target.with_extension("d");
    std::fs::create_dir_all(&folder).expect("a directory for the object files");

    // On each MPI the program calls what its header declares.
    let declared = functions::declared(family);
    let header: String = declared
        .iter()
        .map(|name| format!("#define DECLARED_{name} 1\n"))
        .collect();
    std::fs::write(folder.join("declared.h"), header).expect("the names that the MPI declares");

    let mut objects = Vec::new();
    let mut compiled = |name: &str, large: bool| {
        let object = folder.join(format!("{name}{}.o", if large { "_large" } else { "" }));
        let mut compile = family.compiler("mpicc");
        compile.args(C_FLAGS).args(large.then_some("-DLARGE"));
        // Open MPI's MPI_UNWEIGHTED is an address that gcc takes for an array of no room.
        compile.args([
            "-Wno-stringop-overread",
            "-Wno-deprecated-declarations",
            "-c",
        ]);
        let source = sources().join("remaining_functions").join(name);
        compile.arg("-I").arg(&folder);
        compile
            .arg(source.with_extension("c"))
            .arg("-o")
            .arg(&object);
        objects.push(object);
        compile
    };
    let mut commands: Vec<Command> = BOTH_COUNTS
        .iter()
        .chain(&NO_COUNTS)
        .map(|name| compiled(name, false))
        .collect();
    // An MPI without large counts declares none of them.
    if declared.contains("MPI_Send_c") {
        commands.extend(BOTH_COUNTS.iter().map(|name| compiled(name, true)));
    }

    let mut link = family.compiler("mpicc");
    link.args(objects).arg("-o").arg(target);
    commands.push(link);
    commands
}
