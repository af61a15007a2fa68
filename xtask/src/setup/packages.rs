//! Debian packages: which task needs which, and why; installs those that are missing.

use crate::run::{Step, check};
use anyhow::Result;
use std::process::{Command, Stdio};

/// What packages are needed for. A task names all of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Tool processes on Open MPI.
    OpenMpi,
    /// Tool processes on MPICH.
    Mpich,
    /// A real application to watch.
    Lammps,
    /// Rivals and applications of the benches.
    Bench,
    /// Python environments in `target`.
    Python,
    /// Everything else that tests start.
    Test,
    /// A browser for the page of `invivo web`.
    Browser,
    /// What drives it, where no Node.js is there from elsewhere.
    Node,
}

/// A package, what needs it, and why.
const PACKAGES: &[(&str, Use, &str)] = &[
    (
        "libclang-dev",
        Use::OpenMpi,
        "bindings of the tool processes to MPI",
    ),
    ("libopenmpi-dev", Use::OpenMpi, "MPI family ompi"),
    ("openmpi-bin", Use::OpenMpi, "MPI family ompi"),
    (
        "patchelf",
        Use::OpenMpi,
        "tool processes that take the application's MPI",
    ),
    ("libmpich-dev", Use::Mpich, "MPI family mpich"),
    ("mpich", Use::Mpich, "MPI family mpich"),
    (
        "lammps",
        Use::Lammps,
        "a real application: demo, tests, benches",
    ),
    ("hpcc", Use::Bench, "a real application of the benches"),
    (
        "lammps-examples",
        Use::Bench,
        "inputs of the benches and the tests",
    ),
    (
        "libopen-trace-format2-dev",
        Use::Bench,
        "libotf2: the rival in the bench of buffers, and what writes exported observations",
    ),
    (
        "python3",
        Use::Python,
        "Python programs and clients of the tests",
    ),
    ("python3-venv", Use::Python, "their environment"),
    (
        "g++",
        Use::Test,
        "C and C++ programs of the tests, libFuzzer",
    ),
    (
        "binutils",
        Use::Test,
        "gprof, what calls are compared with in the tests",
    ),
    (
        "eztrace",
        Use::Test,
        "an event tracer beside us in the tests",
    ),
    (
        "gdb",
        Use::Test,
        "a debugger that attaches to a rank in the tests",
    ),
    ("gfortran", Use::Test, "Fortran programs of the tests"),
    (
        "libjemalloc2",
        Use::Test,
        "another allocator in the tests' programs",
    ),
    (
        "libnss-wrapper",
        Use::Test,
        "users of the tests' own login server",
    ),
    ("libpmi2-0", Use::Test, "MPICH under Slurm"),
    ("libpmix2", Use::Test, "Open MPI under Slurm"),
    (
        "linux-perf",
        Use::Test,
        "perf stat, what metrics are compared with in the tests",
    ),
    (
        "openssh-client",
        Use::Test,
        "jobs that are reached by ssh, in the tests",
    ),
    ("munge", Use::Test, "Slurm's authentication"),
    (
        "otf2-tools",
        Use::Test,
        "otf2-print, which reads them in the tests",
    ),
    ("slurm-wlm", Use::Test, "a launcher of the tests"),
    (
        "slurm-wlm-basic-plugins",
        Use::Test,
        "its ways to start MPI programs",
    ),
    ("valgrind", Use::Test, "instruction counts in the tests"),
    (
        "chromium",
        Use::Browser,
        "the browser that the tests open the page of invivo web in",
    ),
    ("nodejs", Use::Node, "what drives it"),
    ("npm", Use::Node, "what the tests of the page are made of"),
];

/// Packages are missing and only the user can install them.
#[derive(Debug)]
pub struct Missing(String);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// Installs what is missing for these uses; returns the names.
pub fn ensure(uses: &[Use]) -> Result<Vec<&'static str>> {
    let missing = missing(uses)?;
    if !missing.is_empty() {
        install(&missing)?;
    }
    Ok(missing)
}

/// Names of packages that these uses need.
fn needed(uses: &[Use]) -> Vec<&'static str> {
    let needed = PACKAGES.iter().filter(|(_, of, _)| uses.contains(of));
    needed.map(|(name, ..)| *name).collect()
}

/// Names of packages that are needed and not installed.
fn missing(uses: &[Use]) -> Result<Vec<&'static str>> {
    let needed = needed(uses);
    let query = Command::new("dpkg-query")
        .args(["-W", "-f", "${Package} ${db:Status-Status}\n"])
        .args(&needed)
        .stderr(Stdio::null())
        .output();
    // Without dpkg-query nothing can be found out, and nothing is installed by guess.
    let Ok(query) = query else {
        return Err(Missing(format!(
            "this is not a Debian system (no dpkg-query): install what these packages hold by \
             your own means: {}",
            needed.join(" ")
        ))
        .into());
    };

    let installed = String::from_utf8_lossy(&query.stdout);
    Ok(not_installed(&needed, &installed))
}

fn not_installed(needed: &[&'static str], query: &str) -> Vec<&'static str> {
    let have = |name: &str| {
        query
            .lines()
            // Also known and removed packages are listed, with another status.
            .any(|line| line.split_once(' ') == Some((name, "installed")))
    };
    needed.iter().copied().filter(|name| !have(name)).collect()
}

/// By `apt-get` as root, by `sudo` where it asks for no password, else not at all.
fn install(missing: &[&str]) -> Result<()> {
    for (name, _, why) in PACKAGES.iter().filter(|(name, ..)| missing.contains(name)) {
        eprintln!("xtask: not installed: {name} ({why})");
    }
    let quietly = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
    };

    let root = quietly("id", &["-u"]).is_ok_and(|id| id.stdout.starts_with(b"0\n"));
    let sudo = !root && quietly("sudo", &["-n", "true"]).is_ok_and(|sudo| sudo.status.success());
    if !root && !sudo {
        return Err(Missing(format!(
            "packages are missing and this user may not install them. Please run:\n  \
             sudo apt-get update && sudo apt-get install -y --no-install-recommends {}",
            missing.join(" ")
        ))
        .into());
    }

    let apt = |arguments: &[&str]| {
        let mut command = Command::new(if root { "env" } else { "sudo" });
        if sudo {
            command.args(["-n", "env"]);
        }
        command
            .arg("DEBIAN_FRONTEND=noninteractive")
            .arg("apt-get")
            .args(arguments);
        // Stdout is for results; apt-get only reports progress.
        command.stdin(Stdio::null()).stdout(std::io::stderr());
        command
    };
    let step = Step::begin("installing packages with apt-get");
    let mut all = vec!["install", "-y", "-q", "--no-install-recommends"];
    all.extend(missing);
    step.end(check(&mut apt(&["update", "-q"])).and_then(|()| check(&mut apt(&all))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_installed_packages_count() {
        let needed = needed(&[Use::Mpich, Use::Lammps]);
        let all: String = needed
            .iter()
            .map(|name| format!("{name} installed\n"))
            .collect();
        assert!(not_installed(&needed, &all).is_empty());
        let half = all
            .replace("\nmpich installed\n", "\nmpich config-files\n")
            .replace("lammps installed\n", "");
        assert_eq!(not_installed(&needed, &half), ["mpich", "lammps"]);
    }

    /// The demonstration's first job must not wait for what only tests start.
    #[test]
    fn the_demo_needs_five_packages() {
        let needed = needed(&[Use::OpenMpi, Use::Lammps]);
        assert_eq!(
            needed,
            [
                "libclang-dev",
                "libopenmpi-dev",
                "openmpi-bin",
                "patchelf",
                "lammps"
            ]
        );
    }
}
