//! The program whose call sites are known, in C with a shared library of its own.

use super::build::{C_FLAGS, build, in_folder};
use crate::mpi::Family;
use crate::paths::sources;
use std::ffi::OsString;

/// The command line of `tests/apps/call_sites`, built first where necessary.
pub fn call_sites(family: Family) -> Vec<OsString> {
    let folder = sources().join("call_sites");
    let watched = [in_folder("call_sites", ""), in_folder("common", "")].concat();
    let built = build(family, "call_sites_c", &watched, |target| {
        let compile = |name: &str| {
            let mut compile = family.compiler("mpicc");
            compile.args(C_FLAGS).arg(folder.join(name));
            compile
        };
        let mut library = compile("halo.c");
        library.args(["-shared", "-fPIC", "-o"]);
        library.arg(family.built().join("libcall_sites_halo.so"));
        let mut program = compile("call_sites.c");
        program
            .arg("-I")
            .arg(sources().join("common"))
            .arg("-L")
            .arg(family.built())
            .arg("-lcall_sites_halo")
            .arg(format!("-Wl,-rpath,{}", family.built().display()))
            .arg("-o")
            .arg(target);
        vec![library, program]
    });
    vec![built.into()]
}
