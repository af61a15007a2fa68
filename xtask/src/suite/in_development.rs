//! What is built in the development profile: all tests, what they start, and what lints look at.
//!
//! In this profile, because its run-time checks are on, and because a second build of the gRPC
//! stack's 150 crates without optimisation takes less than optimising dozens of test programs that
//! instantiate them. By one list of crates and features, because cargo compiles a crate once for
//! each set of features that the packages which are built together ask for.

use super::programs::{self, Program};
use crate::run::{FAMILIES, cargo};
use anyhow::{Result, ensure};
use std::process::Command;
use std::sync::Mutex;

/// Crates that need nothing of the machine.
const PLAIN: [&str; 8] = [
    "invivo-proto",
    "invivo-proto-fuzz",
    "invivo-otfx",
    "invivo-tbon",
    "invivo-analysis",
    "invivo-sim",
    "invivo-app-shim",
    "xtask",
];
/// Crates whose tests start real launchers, servers and terminals, which lose signals and patience
/// when crowded; and what they share.
pub const ALONE: [&str; 11] = [
    "invivo-grpc",
    "invivo-grpc-codegen",
    "invivo-archive",
    "invivo-observation",
    "invivo-jobdir",
    "invivo-config",
    "invivo-report",
    "invivo-inspect",
    "invivo-ui-gateway",
    "invivo-launcher",
    "invivo-cli",
];
/// Crates that link MPI; first the one that calls it.
pub const ON_MPI: [&str; 4] = [
    "invivo-mpi-link",
    "invivo-tool-place",
    "invivo-analysis-node",
    "invivo-tool-process",
];
/// The crate of the tests of real programs.
pub const END_TO_END: &str = "invivo-e2e";
/// Of the shim the tables alone are tested, which are the same for all families. The hooks are
/// those of the tree with hooks, whose programs are the ones that are built here.
const FEATURES: [&str; 5] = [
    "invivo-proto/control",
    "invivo-proto/std",
    "invivo-app-shim/family-ompi",
    "invivo-tool-process/test-hooks",
    "invivo-launcher/test-hooks",
];

/// `-p NAME` for each.
pub fn packages<'a>(names: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    names.iter().flat_map(|name| ["-p", *name])
}

/// `cargo WHAT` of all of them, against the first MPI.
pub fn cargo_of_all(what: &str) -> Command {
    let mut command = cargo();
    command.arg(what);
    for names in [&PLAIN[..], &ALONE, &ON_MPI, &[END_TO_END]] {
        command.args(packages(names));
    }
    command.args(["--features", &FEATURES.join(",")]);
    against_first_mpi(command)
}

/// `cargo WHAT` of the crates that have hooks, as they are shipped.
pub fn cargo_without_hooks(what: &str) -> Command {
    let mut command = cargo();
    command.arg(what).args(packages(&ON_MPI));
    command.args(["-p", "invivo-launcher"]);
    against_first_mpi(command)
}

fn against_first_mpi(mut command: Command) -> Command {
    let first = FAMILIES.iter().find_map(|family| family.compiler);
    command.envs(first.map(|compiler| ("MPICC", compiler)));
    command
}

/// The programs of all tests, built once.
pub fn tests() -> Result<Vec<Program>> {
    static BUILT: Mutex<Option<Vec<Program>>> = Mutex::new(None);
    let mut built = BUILT.lock().expect("no other has panicked with it");
    if let Some(built) = &*built {
        return Ok(built.clone());
    }
    let programs = programs::build(&mut cargo_of_all("test"))?;
    for name in PLAIN
        .iter()
        .chain(&ALONE)
        .chain(&ON_MPI)
        .chain([&END_TO_END])
    {
        let is_of = |program: &Program| program.package() == *name;
        ensure!(programs.iter().any(is_of), "no tests of {name} were built");
    }
    Ok(built.insert(programs).clone())
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    /// Those that run again are there, by their names.
    #[test]
    fn tests_of_processes_run_alone() {
        let alone = |name: &&str| ALONE.contains(name) || *name == END_TO_END;
        assert!(programs::OF_PROCESSES.iter().all(alone));
    }

    /// A crate that joins the workspace must be tested somewhere.
    #[test]
    fn every_member_of_the_workspace_is_tested() {
        let manifest = include_str!("../../../Cargo.toml");
        let members = manifest
            .split("members = [")
            .nth(1)
            .and_then(|rest| rest.split(']').next())
            .unwrap();
        let tested = PLAIN.len() + ALONE.len() + ON_MPI.len() + [END_TO_END].len();
        let listed = members
            .split(',')
            .filter(|name| !name.trim().is_empty())
            .count();
        // proto/grpc is a member by being a path dependency inside the workspace, so it is not
        // listed.
        let implied = usize::from(!members.contains("\"proto/grpc\""));
        assert_eq!(listed + implied, tested, "{members}");
    }
}
