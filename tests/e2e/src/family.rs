//! The MPIs of the tests: how each launches, compiles, and keeps the ranks' output apart. Debian's
//! two are what most tests use; newer members of their families come from pip (see
//! `xtask/src/setup.rs`).

use crate::{apps, places};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The libraries that every process of a job loads first.
pub const PRELOAD: &str = "LD_PRELOAD";

/// An MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Debian's Open MPI 4.1.
    Ompi,
    /// Debian's MPICH 4.0.
    Mpich,
    /// Open MPI 5.0.
    Ompi5,
    /// MPICH 5.0.
    Mpich5,
    /// MPICH 5.0 by the standard's own interface.
    Abi5,
    /// Intel MPI, for the long tests.
    Impi,
}

impl Family {
    /// Debian's.
    pub const ALL: [Family; 2] = [Family::Ompi, Family::Mpich];
    /// The newer ones.
    pub const NEW: [Family; 3] = [Family::Ompi5, Family::Mpich5, Family::Abi5];

    /// As directories are called.
    pub fn name(self) -> &'static str {
        match self {
            Family::Ompi => "ompi",
            Family::Mpich => "mpich",
            Family::Ompi5 => "ompi5",
            Family::Mpich5 => "mpich5",
            Family::Abi5 => "abi5",
            Family::Impi => "impi",
        }
    }

    /// The family's name as Invivo says it.
    pub fn interface(self) -> &'static str {
        match self {
            Family::Ompi | Family::Ompi5 => "ompi",
            Family::Mpich | Family::Mpich5 | Family::Impi => "mpich",
            Family::Abi5 => "abi",
        }
    }

    /// Whether it is an Open MPI; the others are MPICH's kin.
    pub fn is_open_mpi(self) -> bool {
        self.interface() == "ompi"
    }

    /// As its makers call it, with the version.
    pub fn title(self) -> &'static str {
        match self {
            Family::Ompi => "Open MPI 4.1",
            Family::Mpich => "MPICH 4.0",
            Family::Ompi5 => "Open MPI 5.0",
            Family::Mpich5 => "MPICH 5.0",
            Family::Abi5 => "MPICH 5.0 as standard ABI",
            Family::Impi => "Intel MPI 2021",
        }
    }

    /// As Debian's alternatives and mpi4py call it.
    pub fn debian_name(self) -> &'static str {
        if self.is_open_mpi() {
            "openmpi"
        } else {
            "mpich"
        }
    }

    /// Where pip put it; nothing for Debian's.
    pub fn prefix(self) -> Option<PathBuf> {
        let name = match self {
            Family::Ompi | Family::Mpich => return None,
            Family::Ompi5 => "openmpi5",
            Family::Mpich5 | Family::Abi5 => "mpich5",
            Family::Impi => "impi",
        };
        let prefix = places::root().join("target/mpi").join(name);
        assert!(
            prefix.exists(),
            "{} is missing: run `cargo xtask setup` first",
            prefix.display()
        );
        Some(prefix)
    }

    /// The file of Debian's library, which its compiler links.
    pub fn library(self) -> PathBuf {
        let name = if self.is_open_mpi() {
            "libmpi.so.40"
        } else {
            "libmpich.so.12"
        };
        Path::new("/usr/lib/x86_64-linux-gnu").join(name)
    }

    /// A compiler (`mpicc`, `mpicxx`, `mpifort`) of this MPI. Intel MPI takes what that of its kin
    /// makes.
    pub fn compiler(self, name: &str) -> Command {
        match self.prefix() {
            Some(_) if self == Family::Impi => Family::Mpich5.compiler(name),
            None => Command::new(format!("{name}.{}", self.debian_name())),
            Some(prefix) if self == Family::Abi5 => {
                Command::new(prefix.join(format!("bin/{name}_abi")))
            }
            Some(prefix) => Command::new(prefix.join("bin").join(name)),
        }
    }

    /// The launcher.
    pub fn launcher(self) -> OsString {
        match self.prefix() {
            None => format!("mpiexec.{}", self.debian_name()).into(),
            Some(prefix) => prefix.join("bin/mpiexec").into(),
        }
    }

    /// The launcher's arguments: so many processes, on however few cores, output by rank in files
    /// in `output`.
    pub fn launcher_arguments(self, processes: u32, output: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        match self {
            Family::Ompi => {
                let mut files = output.as_os_str().to_owned();
                files.push(":nocopy");
                arguments.extend(["--oversubscribe".into(), "--output-filename".into(), files]);
            }
            Family::Ompi5 => {
                // Told to make a directory for each, it keeps only the first stream of each that
                // says something.
                let mut files = OsString::from("file=");
                files.push(output.join("process"));
                files.push(":nocopy");
                arguments.extend(["--map-by".into(), ":OVERSUBSCRIBE".into()]);
                arguments.extend(["--output".into(), files]);
            }
            _ => {
                for (option, stream) in [
                    ("-outfile-pattern", "stdout"),
                    ("-errfile-pattern", "stderr"),
                ] {
                    arguments.extend([option.into(), output.join(format!("%r.{stream}")).into()]);
                }
            }
        }
        arguments.extend(["-n".into(), processes.to_string().into()]);
        arguments
    }

    /// The file that a process of a job of so many wrote `stream` (`stdout` or `stderr`) to.
    pub fn output_file(self, output: &Path, process: u32, processes: u32, stream: &str) -> PathBuf {
        match self {
            // As many digits for all as the last one has.
            Family::Ompi => {
                let digits = processes.saturating_sub(1).to_string().len();
                output.join(format!("1/rank.{process:0digits$}/{stream}"))
            }
            // `process.prterun-HOST-PID@1.3.out`: its own name is in it.
            Family::Ompi5 => {
                let is_it = |name: &str| {
                    let (number, kind) = name.rsplit_once("@1.")?.1.split_once('.')?;
                    Some(number.parse() == Ok(process) && stream == format!("std{kind}"))
                };
                let entries = std::fs::read_dir(output).into_iter().flatten().flatten();
                let mut paths = entries.map(|entry| entry.path());
                let found = paths.find(|path| {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    is_it(&name) == Some(true)
                });
                found.unwrap_or_else(|| output.join(format!("no {stream} of {process}")))
            }
            _ => output.join(format!("{process}.{stream}")),
        }
    }

    /// Variables that jobs of this MPI run with.
    pub fn environment(self) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<(&str, OsString)> = vec![
            // Containers and test machines run as root.
            ("OMPI_ALLOW_RUN_AS_ROOT", "1".into()),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".into()),
            ("PRTE_ALLOW_RUN_AS_ROOT", "1".into()),
            ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1".into()),
            ("MPI4PY_MPIABI", self.debian_name().into()),
        ];
        if self == Family::Ompi5 {
            // It spins while it waits, unless told otherwise, also where there are as many cores as
            // processes but others want them, too.
            variables.push(("OMPI_MCA_mpi_yield_when_idle", "1".into()));
        }
        if matches!(self, Family::Mpich | Family::Mpich5 | Family::Abi5) {
            // The same for those who cannot be told.
            variables.push((PRELOAD, apps::considerate(self).into()));
        }
        match self {
            Family::Ompi => {}
            // mpi4py looks for libmpi.so.12, which Debian calls libmpich.so.12; `cargo xtask`
            // leaves a link.
            Family::Mpich => {
                variables.push(("LD_LIBRARY_PATH", crate::python::mpich_directory().into()));
            }
            // For mpi4py alone: what their compilers make finds its library by itself.
            Family::Ompi5 | Family::Mpich5 | Family::Abi5 => {
                let lib = self.prefix().map(|prefix| prefix.join("lib"));
                variables.extend(lib.map(|lib| ("LD_LIBRARY_PATH", lib.into())));
            }
            Family::Impi => {
                let prefix = self.prefix().unwrap_or_default();
                variables.push(("LD_LIBRARY_PATH", prefix.join("lib").into()));
                // On one node it needs no network.
                variables.push(("I_MPI_FABRICS", "shm".into()));
                variables.push(("I_MPI_ROOT", prefix.into()));
            }
        }
        variables
    }

    /// The variable by which its launcher tells a process its number in the whole job.
    pub fn number_variable(self) -> &'static str {
        if self.is_open_mpi() {
            "OMPI_COMM_WORLD_RANK"
        } else {
            "PMI_RANK"
        }
    }

    /// Where programs of this MPI are built.
    pub fn built(self) -> PathBuf {
        places::built().join(self.name())
    }
}
