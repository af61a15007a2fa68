//! The programs of `tests/apps/metrics`: what is measured of them is known.

use super::build::{C_FLAGS, build, in_folder};
use super::python;
use super::regions::marking;
use crate::mpi::Family;
use crate::paths::sources;
use std::ffi::OsString;
use std::path::PathBuf;

/// The command line of `tests/apps/metrics/metric_stages.c`.
pub fn metric_stages(family: Family, stages: usize, steps: u32) -> Vec<OsString> {
    let program = c(family, "metric_stages");
    let numbers = [stages.to_string(), steps.to_string()];
    [program.into()]
        .into_iter()
        .chain(numbers.map(OsString::from))
        .collect()
}

/// The command line of `tests/apps/metrics/measured` in each language, with the language's name.
/// For Python [`marking`] has to be in `PYTHONPATH`.
pub fn measured(family: Family, seconds: u32) -> Vec<(&'static str, Vec<OsString>)> {
    let seconds = OsString::from(seconds.to_string());
    let script = folder().join("measured.py");
    vec![
        ("C", vec![c(family, "measured").into(), seconds.clone()]),
        ("Fortran", vec![fortran(family).into(), seconds.clone()]),
        (
            "Python",
            vec![python::interpreter().into(), script.into(), seconds],
        ),
    ]
}

/// The command line of `measured.c` that touches pages in the second third of its time alone.
pub fn measured_in_phases(family: Family, seconds: u32) -> Vec<OsString> {
    let program = c(family, "measured").into();
    vec![program, seconds.to_string().into(), "phases".into()]
}

fn folder() -> PathBuf {
    sources().join("metrics")
}

fn watched() -> Vec<PathBuf> {
    let mut watched = in_folder("metrics", "");
    watched.extend(in_folder("common", ""));
    watched.push(marking().join("invivo_regions.h"));
    watched.push(marking().join("invivo_regions.f90"));
    watched
}

fn c(family: Family, name: &str) -> PathBuf {
    build(family, &format!("{name}_c"), &watched(), |target| {
        let mut compile = family.compiler("mpicc");
        compile.args(C_FLAGS);
        compile.arg("-I").arg(sources().join("common"));
        compile.arg("-I").arg(marking());
        compile.arg(folder().join(format!("{name}.c")));
        compile.arg("-o").arg(target).arg("-ldl");
        vec![compile]
    })
}

fn fortran(family: Family) -> PathBuf {
    build(family, "measured_f", &watched(), |target| {
        let mut compile = family.compiler("mpifort");
        compile.arg("-g").arg("-J").arg(family.built());
        // A module stands before the file that uses it.
        compile.arg(marking().join("invivo_regions.f90"));
        compile.arg(folder().join("measured.f90"));
        compile.arg("-o").arg(target).arg("-ldl");
        vec![compile]
    })
}
