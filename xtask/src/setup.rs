//! Installs what a task needs of the machine, and nothing else; a second run only checks.

mod packages;
pub mod page;
mod python;
mod sshd;
mod tools;

use anyhow::Result;
pub use packages::Missing;
use packages::Use;
pub use tools::tool;

/// What the machine is prepared for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// The tree for one MPI family, or for all.
    Build(Option<&'a str>),
    /// LAMMPS under a tree for Open MPI.
    Demo,
    /// Everything that is measured.
    Bench,
    /// The tree for older systems.
    Release,
    /// The test suite; the long campaigns too where set.
    Test { all: bool },
}

impl Purpose<'_> {
    fn uses(self) -> &'static [Use] {
        match self {
            // Its tool processes are MPICH's, and its shim needs no MPI.
            Purpose::Build(Some("abi")) => &[],
            Purpose::Build(Some("ompi")) => &[Use::OpenMpi],
            // The bindings come with the packages of the first.
            Purpose::Build(_) => &[Use::OpenMpi, Use::Mpich],
            Purpose::Demo => &[Use::OpenMpi, Use::Lammps],
            Purpose::Release => &[Use::OpenMpi, Use::Mpich, Use::Python],
            Purpose::Bench | Purpose::Test { .. } => &[
                Use::OpenMpi,
                Use::Mpich,
                Use::Lammps,
                Use::Bench,
                Use::Python,
                Use::Test,
            ],
        }
    }
}

/// Installs what is missing for a purpose.
pub fn run(purpose: Purpose<'_>, json: bool) -> Result<()> {
    let installed = packages::ensure(purpose.uses())?;
    // Packages first: the Python environments are made with Debian's interpreter.
    let mut fresh = false;
    if purpose.uses().contains(&Use::Python) {
        fresh = python::environment()?;
    }

    match purpose {
        Purpose::Release => python::zig()?,
        Purpose::Bench => python::for_tests(false)?,
        Purpose::Test { all } => {
            python::for_tests(all)?;
            sshd::ensure()?;
            page::ensure()?;
            if all {
                tools::ensure()?;
                python::zig()?;
            }
        }
        Purpose::Build(_) | Purpose::Demo => {}
    }

    if json {
        let report = serde_json::json!({
            "packages_installed": installed, "python_installed": fresh
        });
        println!("{report}");
    }
    Ok(())
}
