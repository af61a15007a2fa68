//! The program of `tests/apps/every`, which calls what the others leave out: on each MPI the
//! functions that it declares.

use crate::apps::{C_FLAGS, build, in_folder};
use crate::family::Family;
use crate::functions;
use crate::places::{root, sources};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Files that are compiled with counts of `int`, and once more with counts of `MPI_Count`.
const TWICE: [&str; 5] = ["messages", "collectives", "windows", "files", "datatypes"];
const ONCE: [&str; 7] = [
    "main",
    "requests",
    "objects",
    "removed",
    "names",
    "extensions",
    "sessions",
];

/// The command line, built first where necessary; the sections that are named, or all.
pub fn command(family: Family, sections: &[&str]) -> Vec<OsString> {
    let mut watched = in_folder("every", "");
    watched.push(root().join("tests/e2e/src/every.rs"));
    let built = build(family, "every", &watched, |target| commands(family, target));
    let sections = sections.iter().map(OsString::from);
    std::iter::once(built.into()).chain(sections).collect()
}

fn commands(family: Family, target: &Path) -> Vec<Command> {
    let folder = target.with_extension("d");
    std::fs::create_dir_all(&folder).expect("a directory for the object files");
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
        compile.arg("-I").arg(&folder);
        compile
            .arg(sources().join("every").join(name).with_extension("c"))
            .arg("-o")
            .arg(&object);
        objects.push(object);
        compile
    };
    let mut commands: Vec<Command> = TWICE
        .iter()
        .chain(&ONCE)
        .map(|name| compiled(name, false))
        .collect();
    if declared.contains("MPI_Send_c") {
        commands.extend(TWICE.iter().map(|name| compiled(name, true)));
    }
    let mut link = family.compiler("mpicc");
    link.args(objects).arg("-o").arg(target);
    commands.push(link);
    commands
}
