//! The small test programs, of one file each, most of them in C.

use super::build::{C_FLAGS, build, c, fortran_file, in_folder};
use super::python;
use crate::mpi::Family;
use crate::paths::sources;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The command line of `tests/apps/NAME.c`, built first where necessary.
pub fn program<const N: usize>(family: Family, name: &str, arguments: [&str; N]) -> Vec<OsString> {
    program_as(family, name, name, arguments)
}

/// The same program in a file of another name, for jobs of several programs.
pub fn program_as<const N: usize>(
    family: Family,
    name: &str,
    built_as: &str,
    arguments: [&str; N],
) -> Vec<OsString> {
    let source = sources().join(format!("{name}.c"));
    let mut command = vec![c(family, built_as, &[source])];
    command.extend(arguments.map(OsString::from));
    command
}

/// The program of ranks with threads of OpenMP.
pub fn hybrid(family: Family) -> Vec<OsString> {
    let source = sources().join("hybrid.c");
    let mut watched = vec![source.clone()];
    watched.extend(in_folder("common", "h"));
    watched.extend(in_folder("healthy", "h"));
    let built = build(family, "hybrid", &watched, |target| {
        let mut compile = family.compiler("mpicc");
        compile
            .args(C_FLAGS)
            .arg("-fopenmp")
            .arg("-I")
            .arg(sources().join("common"))
            .arg(&source)
            .arg("-o")
            .arg(target);
        vec![compile]
    });
    vec![built.into()]
}

/// A program that looks as if MPI were linked into it statically, and does nothing with it.
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

/// The command line of `tests/apps/NAME.c`, compiled with the sanitizers of addresses and of
/// undefined behaviour.
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

/// The language of a program that exists twice, in files of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    /// Fortran with `use mpi`.
    Fortran,
}

/// The command line of `tests/apps/NAME/NAME.c` or `NAME.f90`, built first where necessary.
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

/// The command line of `tests/apps/left_calls`, which leaves MPI by `longjmp`, or compiled as C++
/// by exceptions.
pub fn left_calls(family: Family, is_cpp: bool, how: &str) -> Vec<OsString> {
    let source = sources().join("left_calls/left_calls.c");
    let program = if is_cpp {
        cpp(family, "left_calls_cpp", &source)
    } else {
        c(family, "left_calls_c", &[source])
    };
    vec![program, how.into()]
}

/// The command line of `tests/apps/shares` in each language, with the language's name.
pub fn shares(family: Family) -> Vec<(&'static str, Vec<OsString>)> {
    let of = |language| in_language(family, "shares", language, &[]);
    let source = sources().join("shares/shares.c");
    vec![
        ("C", of(Language::C)),
        ("C++", vec![cpp(family, "shares_cpp", &source)]),
        ("Fortran", of(Language::Fortran)),
    ]
}

/// Builds a program that counts its own calls, written in what C and C++ have in common, as C++.
fn cpp(family: Family, name: &str, source: &Path) -> OsString {
    let mut watched = vec![source.to_owned()];
    watched.extend(in_folder("common", ""));
    let built = build(family, name, &watched, |target| {
        let common = sources().join("common");
        let object = target.with_extension("counting.o");
        let mut counting = family.compiler("mpicc");
        counting.args(C_FLAGS).arg("-c");
        counting
            .arg(common.join("counting.c"))
            .arg("-o")
            .arg(&object);

        let mut compile = family.compiler("mpicxx");
        // Open MPI's own C++ header casts functions.
        compile.args(C_FLAGS).arg("-Wno-cast-function-type");
        compile.arg("-pthread").arg("-I").arg(common);
        compile.arg(object).args(["-x", "c++"]).arg(source);
        compile.args(["-x", "none"]).arg("-o").arg(target);
        vec![counting, compile]
    });
    built.into()
}

/// File and line of the statement with this mark (`/* at MARK */`, `! at MARK`) in a program of
/// [`in_language`], in the form of a call site.
pub fn marked_line(name: &str, language: Language, mark: &str) -> String {
    let (extension, mark) = match language {
        Language::C => ("c", format!("/* at {mark} */")),
        Language::Fortran => ("f90", format!("! at {mark}")),
    };
    let file = format!("{name}.{extension}");
    let source =
        std::fs::read_to_string(sources().join(name).join(&file)).expect("the program's source");
    let at = source
        // At the end of the line, so that the mark's own text in a comment elsewhere does not
        // count.
        .lines()
        .position(|line| line.ends_with(&mark))
        .expect("a marked line");
    format!("{file}:{}", at + 1)
}

/// The programs of `tests/apps/after_init`, which leave a file right behind their `MPI_Init`, each
/// with the name of its language.
pub fn after_init(family: Family) -> Vec<(&'static str, Vec<OsString>)> {
    let folder = sources().join("after_init/after_init");
    let source = |extension: &str| folder.with_extension(extension);
    let fortran = fortran_file(family, "after_init_f", source("f90"));
    let python = [python::interpreter(), source("py")];
    vec![
        ("C", vec![c(family, "after_init_c", &[source("c")])]),
        ("Fortran", vec![fortran]),
        ("Python", python.map(OsString::from).to_vec()),
    ]
}
