//! Debian's two MPIs: how each launches, compiles, and keeps the ranks' output apart.

use crate::places;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Open MPI.
    Ompi,
    /// MPICH.
    Mpich,
}

impl Family {
    /// Both.
    pub const ALL: [Family; 2] = [Family::Ompi, Family::Mpich];

    /// As Invivo calls it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Ompi => "ompi",
            Family::Mpich => "mpich",
        }
    }

    /// As Debian's alternatives and mpi4py call it.
    pub fn debian_name(self) -> &'static str {
        match self {
            Family::Ompi => "openmpi",
            Family::Mpich => "mpich",
        }
    }

    /// A compiler (`mpicc`, `mpicxx`, `mpifort`) of this MPI.
    pub fn compiler(self, name: &str) -> Command {
        Command::new(format!("{name}.{}", self.debian_name()))
    }

    /// The launcher's name.
    pub fn launcher(self) -> String {
        format!("mpiexec.{}", self.debian_name())
    }

    /// The launcher's arguments: so many processes, on however few cores, output by rank in files in `output`.
    pub fn launcher_arguments(self, processes: u32, output: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        match self {
            Family::Ompi => {
                let mut files = output.as_os_str().to_owned();
                files.push(":nocopy");
                arguments.extend(["--oversubscribe".into(), "--output-filename".into(), files]);
            }
            Family::Mpich => {
                for (option, stream) in [("-outfile-pattern", "stdout"), ("-errfile-pattern", "stderr")] {
                    arguments.extend([option.into(), output.join(format!("%r.{stream}")).into()]);
                }
            }
        }
        arguments.extend(["-n".into(), processes.to_string().into()]);
        arguments
    }

    /// The file that a process of the job wrote `stream` (`stdout` or `stderr`) to.
    pub fn output_file(self, output: &Path, process: u32, stream: &str) -> PathBuf {
        match self {
            Family::Ompi => output.join(format!("1/rank.{process}/{stream}")),
            Family::Mpich => output.join(format!("{process}.{stream}")),
        }
    }

    /// Variables that jobs of this MPI run with.
    pub fn environment(self) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<(&str, OsString)> = vec![
            // Containers and test machines run as root.
            ("OMPI_ALLOW_RUN_AS_ROOT", "1".into()),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".into()),
            ("MPI4PY_MPIABI", self.debian_name().into()),
        ];
        if self == Family::Mpich {
            // mpi4py looks for libmpi.so.12, which Debian calls libmpich.so.12; `cargo xtask` leaves a link.
            variables.push(("LD_LIBRARY_PATH", crate::python::mpich_directory().into()));
        }
        variables
    }

    /// Where programs of this MPI are built.
    pub fn built(self) -> PathBuf {
        places::built().join(self.name())
    }
}
