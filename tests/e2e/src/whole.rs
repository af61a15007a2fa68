//! The programs of `tests/apps/whole`: each does one thing that MPI can do and that somebody
//! between a program and its MPI can spoil. The table of them is the manual's.

use crate::apps::{C_FLAGS, build, by_binding, in_folder};
use crate::family::Family;
use crate::places::{root, sources};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, in the language that it is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The sections in C, all of them in one run.
    C,
    /// The sections in Fortran, by one of its three bindings: `MPIF_H`, `MPI`, `F08`.
    Fortran(&'static str),
    /// A program of its own in C, `tests/apps/whole/NAME.c`.
    Single(&'static str),
    /// The program whose library calls MPI around its main.
    Early,
    /// The program that loads its MPI at run time.
    Dynamic,
}

/// What an MPI makes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It works, and nothing differs from the bare run.
    Same,
    /// This MPI cannot, and the program is told so as in the bare run.
    SameError,
    /// This MPI has no such functions.
    Absent(&'static str),
}

/// One row of the table: a nastiness, and the programs and sections that show it.
#[derive(Clone, Copy, Debug)]
pub struct Nastiness {
    /// In words.
    pub what: &'static str,
    /// The section of the C program, or the C program, that shows it.
    pub c: Option<&'static str>,
    /// The section of the Fortran program, if Fortran has anything of its own there.
    pub fortran: Option<&'static str>,
    /// MPIs on which it is not simply the same.
    pub but: &'static [(Family, Shown)],
}

impl Nastiness {
    /// What it is on this MPI.
    pub fn shown(&self, family: Family) -> Shown {
        let other = self.but.iter().find(|(other, _)| *other == family);
        other.map_or(Shown::Same, |(_, shown)| *shown)
    }
}

const fn row(what: &'static str, c: &'static str, fortran: &'static str) -> Nastiness {
    const fn some(name: &'static str) -> Option<&'static str> {
        if name.is_empty() { None } else { Some(name) }
    }
    Nastiness {
        what,
        c: some(c),
        fortran: some(fortran),
        but: &[],
    }
}

const fn but(row: Nastiness, but: &'static [(Family, Shown)]) -> Nastiness {
    Nastiness { but, ..row }
}

const MPI_4: &[(Family, Shown)] = &[(Family::Ompi, Shown::Absent("MPI 4"))];
const DYNAMIC: &[(Family, Shown)] = &[(Family::Mpich, Shown::SameError)];

/// The table.
pub const NASTINESSES: &[Nastiness] = &[
    row(
        "predefined attributes; callbacks that call MPI",
        "attributes",
        "attributes",
    ),
    row("attributes that `MPI_Finalize` deletes", "last_words", ""),
    row("groups", "groups", "groups"),
    row(
        "names, hints, splitting by type, what must not be done to the world",
        "communicators",
        "strings",
    ),
    row(
        "topologies with and without reorder",
        "topologies",
        "topologies",
    ),
    row("neighbourhood collectives", "neighbours", "topologies"),
    row("intercommunicators", "intercomms", ""),
    but(row("`MPI_Comm_spawn`", "spawn", ""), DYNAMIC),
    but(
        row(
            "strangers that meet: by a port, by a published name, by a socket (`MPI_Comm_join`)",
            "ports",
            "",
        ),
        DYNAMIC,
    ),
    but(
        row("sessions and world process sets", "sessions", ""),
        MPI_4,
    ),
    row("error handlers, codes and texts", "errors", "errors"),
    row(
        "statuses: arrays, ignored, empty, cancelled",
        "statuses",
        "statuses",
    ),
    row(
        "one-sided communication, dynamic windows",
        "onesided",
        "windows",
    ),
    row("windows in shared memory", "shared", ""),
    row("files", "files", "files"),
    row(
        "persistent requests and collectives",
        "persistent",
        "persistent",
    ),
    but(row("partitioned communication", "partitioned", ""), MPI_4),
    but(row("large counts", "large", ""), MPI_4),
    row("`MPI_IN_PLACE`, `MPI_BOTTOM`", "in_place", "in_place"),
    row(
        "operations of the program's own",
        "operations",
        "operations",
    ),
    row("datatypes of all constructors, packing", "datatypes", ""),
    row("generalised requests", "grequests", ""),
    row("the tools interface", "tools", ""),
    but(
        row("handles from C to Fortran and back", "handles", "handles"),
        &[(Family::Abi5, Shown::Absent("no Fortran"))],
    ),
    row(
        "what MPI says of the job (`MPI_INFO_ENV`) and of itself",
        "information",
        "",
    ),
    row("Fortran's logicals", "", "logicals"),
    row("Fortran's strings", "", "strings"),
    row(
        "sections of arrays as arguments, non-contiguous in `mpi_f08`",
        "",
        "sections",
    ),
    row("fork, system, popen", "processes", ""),
    row(
        "threads at every level, several in MPI at once, OpenMP",
        "threads",
        "",
    ),
    row(
        "more threads than Invivo keeps apart: run, counted as dropped",
        "crowd",
        "",
    ),
    row("error handlers that leave MPI by a jump", "jump", ""),
    row("MPI in constructors, destructors, at exit", "early", ""),
    row("MPI loaded at run time", "dynamic", ""),
];

/// The bindings of Fortran, as the sources call them and as everybody does.
pub const BINDINGS: [(&str, &str); 3] = [
    ("MPIF_H", "`mpif.h`"),
    ("MPI", "`use mpi`"),
    ("F08", "`use mpi_f08`"),
];

/// The MPIs of the table, as the manual calls them.
const MPIS: [(Family, &str); 2] = [(Family::Ompi, "Open MPI 4.1"), (Family::Mpich, "MPICH 4.0")];

/// The table as the manual has it: what is compared with the bare run and counted, on which MPI, in
/// which language.
pub fn table() -> String {
    let titles = MPIS.map(|(_, title)| title).join(" | ");
    let mut text = format!(
        "| | C | Fortran | {titles} |\n|---|---|---|{}\n",
        "---|".repeat(MPIS.len())
    );
    let section = |name: Option<&str>| name.map_or(String::new(), |name| format!("`{name}`"));
    for row in NASTINESSES {
        let cells = MPIS.map(|(family, _)| match row.shown(family) {
            Shown::Same => "same".to_owned(),
            Shown::SameError => "same error".to_owned(),
            Shown::Absent(why) => format!("- ({why})"),
        });
        let (c, fortran) = (section(row.c), section(row.fortran));
        let _ = writeln!(
            text,
            "| {} | {c} | {fortran} | {} |",
            row.what,
            cells.join(" | ")
        );
    }
    text
}

fn folder() -> PathBuf {
    sources().join("whole")
}

/// The command line, built first where necessary.
pub fn command<const N: usize>(
    program: Program,
    family: Family,
    arguments: [&str; N],
) -> Vec<OsString> {
    let mut command: Vec<OsString> = vec![
        match program {
            Program::C => compiled(family, "whole_c", &in_folder("whole/c", "c")),
            Program::Single(name) => compiled(
                family,
                &format!("whole_{name}"),
                &[folder().join(format!("{name}.c"))],
            ),
            Program::Fortran(binding) => fortran(family, binding),
            Program::Early => early(family),
            Program::Dynamic => dynamic(family),
        }
        .into(),
    ];
    command.extend(arguments.map(OsString::from));
    command
}

fn compiled(family: Family, name: &str, files: &[PathBuf]) -> PathBuf {
    let mut watched = files.to_vec();
    watched.extend(in_folder("whole/c", "h"));
    watched.push(root().join("tests/e2e/src/whole.rs"));
    build(family, name, &watched, |target| {
        let mut compile = family.compiler("mpicc");
        // Open MPI's MPI_UNWEIGHTED is an address that gcc takes for an array of no room.
        compile
            .args(C_FLAGS)
            .args(["-Wno-stringop-overread", "-pthread", "-fopenmp"]);
        compile.args(files).arg("-o").arg(target);
        vec![compile]
    })
}

fn fortran(family: Family, binding: &str) -> PathBuf {
    let name = format!("whole_{}", binding.to_lowercase());
    let mut watched = in_folder("whole/fortran", "");
    watched.push(root().join("tests/e2e/src/whole.rs"));
    let folder = folder().join("fortran");
    let files = ["stage", "callbacks", "arguments", "objects", "main"];
    let files = files.map(|file| folder.join(format!("{file}.F90")));
    let binding = format!("BINDING_{binding}");
    build(family, &name, &watched, |target| {
        vec![by_binding(family, target, &binding, &folder, &files)]
    })
}

fn early(family: Family) -> PathBuf {
    build(
        family,
        "whole_early",
        &in_folder("whole/early", ""),
        |target| {
            let folder = folder().join("early");
            let library = target.with_file_name("libwhole_early.so");
            let mut shared = family.compiler("mpicc");
            shared.args(C_FLAGS).args(["-shared", "-fPIC"]);
            shared.arg(folder.join("early.c")).arg("-o").arg(&library);
            let mut compile = family.compiler("mpicc");
            compile
                .args(C_FLAGS)
                .arg(folder.join("main.c"))
                .arg(library);
            compile.arg("-Wl,-rpath,$ORIGIN").arg("-o").arg(target);
            vec![shared, compile]
        },
    )
}

/// Without the compiler wrapper, which would link MPI.
fn dynamic(family: Family) -> PathBuf {
    let source = folder().join("dynamic.c");
    build(
        family,
        "whole_dynamic",
        std::slice::from_ref(&source),
        |target| {
            let shown = family
                .compiler("mpicc")
                .arg("-show")
                .output()
                .expect("mpicc shows its command");
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            let compile = |options: &[&str], target: &Path| {
                let mut compile = Command::new("gcc");
                compile.args(
                    shown
                        .split_whitespace()
                        .filter(|word| word.starts_with("-I") || word.starts_with("-D")),
                );
                compile
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
        },
    )
}
