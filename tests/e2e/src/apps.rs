//! Building the test programs, each once per MPI, anew where a source is newer.

use crate::family::Family;
use crate::functions;
use crate::places::{root, sources};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The programs that speak the whole script of `tests/apps/README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversation {
    /// In C.
    C,
    /// In C++.
    Cpp,
    /// In Fortran with `include 'mpif.h'`.
    FortranMpifH,
    /// In Fortran with `use mpi`.
    FortranMpi,
    /// In Fortran with `use mpi_f08`.
    FortranF08,
    /// In Python with mpi4py.
    Python,
}

impl Conversation {
    /// All of them.
    pub const ALL: [Conversation; 6] = [
        Conversation::C,
        Conversation::Cpp,
        Conversation::FortranMpifH,
        Conversation::FortranMpi,
        Conversation::FortranF08,
        Conversation::Python,
    ];

    /// The command line, built first where necessary.
    pub fn command(self, family: Family) -> Vec<OsString> {
        match self {
            Conversation::C => vec![c(
                family,
                "conversation_c",
                &in_folder("conversation/c", "c"),
            )],
            Conversation::Cpp => vec![cpp(family)],
            Conversation::FortranMpifH => vec![fortran(family, "BINDING_MPIF_H")],
            Conversation::FortranMpi => vec![fortran(family, "BINDING_MPI")],
            Conversation::FortranF08 => vec![fortran(family, "BINDING_F08")],
            Conversation::Python => {
                let script = sources().join("conversation/python/conversation.py");
                vec![crate::python::interpreter().into(), script.into()]
            }
        }
    }
}

/// The command line of one of the small C programs, `tests/apps/NAME.c`, built first where
/// necessary.
pub fn program<const N: usize>(family: Family, name: &str, arguments: [&str; N]) -> Vec<OsString> {
    let mut command = vec![c(family, name, &[sources().join(format!("{name}.c"))])];
    command.extend(arguments.map(OsString::from));
    command
}

/// A program that has what every MPI has linked into itself, and does nothing with it.
pub fn with_mpi_inside() -> Vec<OsString> {
    let source = sources().join("static_mpi.c");
    let built = build(
        Family::Ompi,
        "static_mpi",
        std::slice::from_ref(&source),
        |target| {
            let mut compile = Command::new("gcc");
            compile.arg("-static").arg(&source).arg("-o").arg(target);
            vec![compile]
        },
    );
    vec![built.into()]
}

/// The same, compiled with the sanitizers of addresses and of undefined behaviour.
pub fn sanitized<const N: usize>(
    family: Family,
    name: &str,
    arguments: [&str; N],
) -> Vec<OsString> {
    let source = sources().join(format!("{name}.c"));
    let mut watched = vec![source.clone()];
    watched.extend(in_folder("common", ""));
    let built = build(family, &format!("{name}_sanitized"), &watched, |target| {
        let mut compile = family.compiler("mpicc");
        compile
            .args(["-O1", "-g", "-fsanitize=address,undefined"])
            .arg("-I")
            .arg(sources().join("common"))
            .arg(&source)
            .arg(sources().join("common/counting.c"))
            .arg("-o")
            .arg(target);
        vec![compile]
    });
    std::iter::once(built.into())
        .chain(arguments.map(OsString::from))
        .collect()
}

/// A language in which a program stands twice, in files of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// Fortran, with `use mpi`.
    Fortran,
}

/// The command line of `tests/apps/NAME/NAME.c` or its twin in Fortran, built first where
/// necessary.
pub fn in_language(
    family: Family,
    name: &str,
    language: Language,
    arguments: &[&str],
) -> Vec<OsString> {
    let source = |extension: &str| sources().join(name).join(name).with_extension(extension);
    let program = match language {
        Language::C => c(family, &format!("{name}_c"), &[source("c")]),
        Language::Fortran => fortran_file(family, &format!("{name}_f"), source("f90")),
    };
    let arguments = arguments.iter().map(OsString::from);
    std::iter::once(program).chain(arguments).collect()
}

/// The programs that leave a file right behind their `MPI_Init`, `tests/apps/begun`, each with its
/// language.
pub fn begun(family: Family) -> Vec<(&'static str, Vec<OsString>)> {
    let source = |extension: &str| sources().join("begun/begun").with_extension(extension);
    let fortran = fortran_file(family, "begun_f", source("f90"));
    let python = [crate::python::interpreter(), source("py")];
    vec![
        ("C", vec![c(family, "begun_c", &[source("c")])]),
        ("Fortran", vec![fortran]),
        ("Python", python.map(OsString::from).to_vec()),
    ]
}

/// Which calls a PMPI counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// `MPI_*`; may stand behind Invivo.
    Shallow,
    /// `PMPI_*` as well; for bare runs.
    Deep,
}

/// The PMPI counter's library, built first where necessary.
pub fn counter(family: Family, kind: Counter) -> PathBuf {
    let (name, definitions): (_, &[&str]) = match kind {
        Counter::Shallow => ("libcounter.so", &[]),
        Counter::Deep => ("libcounter_deep.so", &["-DDEEP"]),
    };
    let source = sources().join("counter/counter.c");
    let mut watched = in_folder("counter", "");
    watched.push(root().join("proto/mpi.functions"));
    preloaded(family, name, &source, &watched, definitions)
}

/// The library that makes one tool place lie, `tests/apps/liar`, built first where necessary.
pub fn liar(family: Family) -> PathBuf {
    let source = sources().join("liar/liar.c");
    preloaded(
        family,
        "libliar.so",
        &source,
        std::slice::from_ref(&source),
        &[],
    )
}

/// The library that lets processes of MPICH give way while they wait, `tests/apps/considerate.c`,
/// built first where necessary.
pub(crate) fn considerate(family: Family) -> PathBuf {
    let source = sources().join("considerate.c");
    preloaded(
        family,
        "libconsiderate.so",
        &source,
        std::slice::from_ref(&source),
        &[],
    )
}

/// A library to be preloaded. Compiled without the wrapper's libraries: it gets into programs that
/// have no MPI, too.
fn preloaded(
    family: Family,
    name: &str,
    source: &Path,
    watched: &[PathBuf],
    definitions: &[&str],
) -> PathBuf {
    build(family, name, watched, |target| {
        let shown = family
            .compiler("mpicc")
            .arg("-show")
            .output()
            .expect("mpicc shows its command");
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let folder = target.with_extension("d");
        std::fs::create_dir_all(&folder).expect("a directory for the counter's functions");
        std::fs::write(folder.join("functions.h"), counted(family))
            .expect("the counter's functions");
        let mut compile = Command::new("gcc");
        compile.arg("-I").arg(folder);
        compile.args(
            shown
                .split_whitespace()
                .filter(|word| word.starts_with("-I") || word.starts_with("-D")),
        );
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

/// The functions that the counter wraps: all of the table that this MPI's header declares, with the
/// header's word on their types, because the compiler compares.
fn counted(family: Family) -> String {
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

/// Flags for C and C++. MPICH's `MPI_STATUSES_IGNORE` is an address that gcc takes for an array of
/// no room.
pub(crate) const C_FLAGS: [&str; 6] = [
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-stringop-overflow",
];

fn c(family: Family, name: &str, files: &[PathBuf]) -> OsString {
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

fn cpp(family: Family) -> OsString {
    let mut watched = in_folder("conversation/cpp", "");
    watched.extend(in_folder("common", ""));
    let built = build(family, "conversation_cpp", &watched, |target| {
        let common = sources().join("common");
        let object = target.with_extension("counting.o");
        let mut counting = family.compiler("mpicc");
        counting
            .args(C_FLAGS)
            .arg("-c")
            .arg(common.join("counting.c"))
            .arg("-o")
            .arg(&object);
        let mut compile = family.compiler("mpicxx");
        // Open MPI's own C++ header casts functions.
        compile
            .args(C_FLAGS)
            .args(["-std=c++17", "-Wno-cast-function-type"])
            .arg("-I")
            .arg(common);
        compile
            .args(in_folder("conversation/cpp", "cpp"))
            .arg(object)
            .arg("-o")
            .arg(target);
        vec![counting, compile]
    });
    built.into()
}

/// One file of Fortran that needs no other.
fn fortran_file(family: Family, name: &str, source: PathBuf) -> OsString {
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

fn fortran(family: Family, binding: &str) -> OsString {
    let name = format!("conversation_{}", binding.to_lowercase());
    let mut watched = in_folder("conversation/fortran", "");
    watched.extend(in_folder("common", "f90"));
    let counting = sources().join("common/counting.f90");
    let files = [
        "stage",
        "communicators",
        "messages",
        "wildcard",
        "requests",
        "collectives",
        "main",
    ];
    let folder = sources().join("conversation/fortran");
    let files = files.map(|file| folder.join(format!("{file}.F90")));
    let files: Vec<PathBuf> = std::iter::once(counting).chain(files).collect();
    build(family, &name, &watched, |target| {
        vec![by_binding(family, target, binding, &folder, &files)]
    })
    .into()
}

/// The command that makes a program of these files, given in the order in which they use each
/// other, by a binding that the preprocessor chooses.
pub(crate) fn by_binding(
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

/// The files of a folder of the sources, all or those with an extension.
pub(crate) fn in_folder(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(sources().join(folder)).expect("a folder of the sources");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry of the sources").path())
        .filter(|path| {
            path.is_file()
                && (extension.is_empty() || path.extension().is_some_and(|e| e == extension))
        })
        .collect();
    files.sort();
    files
}

/// Runs the commands that make `name` unless it is newer than everything watched, this file
/// included.
pub(crate) fn build(
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
    let this_file = root().join("tests/e2e/src/apps.rs");
    let newest = watched
        .iter()
        .chain([&this_file])
        .map(|path| modified(path))
        .max()
        .flatten();
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
