//! The programs of `tests/apps/conversation`: one script of MPI communication in six languages.

use super::build::{C_FLAGS, build, c, fortran_by_binding, in_folder};
use super::python;
use crate::mpi::Family;
use crate::paths::sources;
use std::ffi::OsString;
use std::path::PathBuf;

/// The languages and bindings in which the script of `tests/apps/README.md` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversation {
    C,
    Cpp,
    /// Fortran with `include 'mpif.h'`.
    FortranMpifH,
    /// Fortran with `use mpi`.
    FortranMpi,
    /// Fortran with `use mpi_f08`.
    FortranF08,
    /// Python with mpi4py.
    Python,
}

impl Conversation {
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
                vec![python::interpreter().into(), script.into()]
            }
        }
    }
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

fn fortran(family: Family, binding: &str) -> OsString {
    let name = format!("conversation_{}", binding.to_lowercase());
    let mut watched = in_folder("conversation/fortran", "");
    watched.extend(in_folder("common", "f90"));

    // A module stands before the files that use it.
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
    let counting = sources().join("common/counting.f90");
    let files: Vec<PathBuf> = std::iter::once(counting).chain(files).collect();

    build(family, &name, &watched, |target| {
        vec![fortran_by_binding(family, target, binding, &folder, &files)]
    })
    .into()
}
