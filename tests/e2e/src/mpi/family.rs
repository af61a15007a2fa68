//! An MPI of the tests: its compilers, its launcher, and the files that its launcher writes.
//!
//! Debian's two are what most tests use; newer members of their families come from pip (see
//! `xtask/src/setup.rs`).

use crate::paths;
use crate::remarks::not_tested;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An installed MPI library with its launcher.
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
    /// Debian's two.
    pub const ALL: [Family; 2] = [Family::Ompi, Family::Mpich];
    /// Newer members of their families, from pip.
    pub const NEW: [Family; 3] = [Family::Ompi5, Family::Mpich5, Family::Abi5];

    /// The name in directories and variables of the tests.
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

    /// The family's name in Invivo's reports.
    pub fn interface(self) -> &'static str {
        match self {
            Family::Ompi | Family::Ompi5 => "ompi",
            Family::Mpich | Family::Mpich5 | Family::Impi => "mpich",
            Family::Abi5 => "abi",
        }
    }

    /// Whether it is an Open MPI; the others descend from MPICH.
    pub fn is_open_mpi(self) -> bool {
        self.interface() == "ompi"
    }

    /// The name that its makers give it, with the version.
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

    /// The name of its kind in Debian's alternatives and in mpi4py.
    pub fn debian_name(self) -> &'static str {
        if self.is_open_mpi() {
            "openmpi"
        } else {
            "mpich"
        }
    }

    /// Whether it was installed; Intel MPI is large, and not offered everywhere. Where it is
    /// missing, that is said.
    pub fn is_installed(self) -> bool {
        let folder = self.folder();
        let is_there = folder.is_none_or(|folder| folder.join("installed").exists());
        if !is_there {
            not_tested(&format!("jobs of {}: it is not installed", self.title()));
        }
        is_there
    }

    /// The folder of an MPI from pip; `None` for Debian's.
    pub fn prefix(self) -> Option<PathBuf> {
        let prefix = self.folder()?;
        // Asserted here, so that a missing MPI is one clear message instead of failing starts.
        assert!(
            prefix.exists(),
            "{} is missing: run `cargo xtask setup` first",
            prefix.display()
        );
        Some(prefix)
    }

    /// That folder, also where it is not there.
    fn folder(self) -> Option<PathBuf> {
        let name = match self {
            Family::Ompi | Family::Mpich => return None,
            Family::Ompi5 => "openmpi5",
            Family::Mpich5 | Family::Abi5 => "mpich5",
            Family::Impi => "impi",
        };
        Some(paths::root().join("target/mpi").join(name))
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

    /// A compiler (`mpicc`, `mpicxx`, `mpifort`) of this MPI. Programs for Intel MPI are compiled
    /// with MPICH 5.0, which has the same binary interface.
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

    /// The launcher, `mpiexec`.
    pub fn launcher(self) -> OsString {
        match self.prefix() {
            None => format!("mpiexec.{}", self.debian_name()).into(),
            Some(prefix) => prefix.join("bin/mpiexec").into(),
        }
    }

    /// The launcher's arguments for so many processes on however few cores, with the output of each
    /// in files in `output`. `-n` comes last.
    pub fn launcher_arguments(self, processes: u32, output: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();

        match self {
            Family::Ompi => {
                let mut files = output.as_os_str().to_owned();
                // `nocopy`: the outputs are not repeated on the launcher's own.
                files.push(":nocopy");
                arguments.extend(["--oversubscribe".into(), "--output-filename".into(), files]);
            }
            Family::Ompi5 => {
                // With a directory for each process it keeps only the first of a process' streams
                // that is not empty.
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
        // Last: the caller inserts options before the last two words.
        arguments.extend(["-n".into(), processes.to_string().into()]);
        arguments
    }

    /// The file with `stream` (`stdout` or `stderr`) of one process of a job of `processes`.
    pub fn output_file(self, output: &Path, process: u32, processes: u32, stream: &str) -> PathBuf {
        match self {
            // All numbers have as many digits as the last one.
            Family::Ompi => {
                let digits = processes.saturating_sub(1).to_string().len();
                output.join(format!("1/rank.{process:0digits$}/{stream}"))
            }
            // `process.prterun-HOST-PID@1.3.out`: the launcher's own name is a part of it.
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

    /// The variable in which its launcher gives a process its rank in the whole job, tools
    /// included.
    pub fn number_variable(self) -> &'static str {
        if self.is_open_mpi() {
            "OMPI_COMM_WORLD_RANK"
        } else {
            "PMI_RANK"
        }
    }

    /// The folder in which programs of this MPI are built.
    pub fn built(self) -> PathBuf {
        paths::built().join(self.name())
    }
}
