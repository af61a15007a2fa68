//! Programs of which another tool counts the same as Invivo.

use super::build::{C_FLAGS, build, in_folder};
use crate::mpi::Family;
use crate::paths::sources;
use std::ffi::OsString;

/// The command line of `tests/apps/regions/call_graph.cpp`, whose functions are counted by gprof's
/// `mcount` and by the hooks of `-finstrument-functions`, in the same run: neither is compiled with
/// the other's option. What is inlined is a region, and no call that gprof counts, so nothing is.
pub fn call_graph(family: Family, rounds: u32) -> Vec<OsString> {
    let mut watched = in_folder("regions", "");
    watched.extend(in_folder("common", ""));
    let program = build(family, "call_graph_cpp", &watched, |target| {
        let folder = sources().join("regions");
        let common = sources().join("common");
        let object = target.with_extension("region_log.o");
        // Not counted: it looks for a file until the test has asked.
        let mut log = family.compiler("mpicc");
        log.args(C_FLAGS).arg("-c").arg("-I").arg(&common);
        log.arg(folder.join("region_log.c")).arg("-o").arg(&object);

        let mut compile = family.compiler("mpicxx");
        compile.args(C_FLAGS);
        compile.args(["-pg", "-finstrument-functions", "-fno-inline"]);
        // The C++ interface of old has functions of its own.
        compile.args(["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]);
        compile.arg(folder.join("call_graph.cpp")).arg(object);
        compile.arg("-o").arg(target);
        vec![log, compile]
    });
    vec![program.into(), rounds.to_string().into()]
}

/// The command line of `tests/apps/metrics/stretches.c`.
pub fn stretches(family: Family, kinds: &[&str]) -> Vec<OsString> {
    let program = build(family, "stretches_c", &in_folder("metrics", ""), |target| {
        let mut compile = family.compiler("mpicc");
        compile.args(C_FLAGS).arg("-pthread");
        compile.arg(sources().join("metrics/stretches.c"));
        compile.arg("-o").arg(target);
        vec![compile]
    });
    let kinds = kinds.iter().map(OsString::from);
    std::iter::once(program.into()).chain(kinds).collect()
}
