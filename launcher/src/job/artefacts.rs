//! Where the other programs of this installation are: relative to the `invivo` binary, so that the
//! tree can be moved.
//!
//! ```text
//! bin/invivo  bin/ui-gateway  lib/invivo/client  lib/invivo/observation
//! lib/invivo/FAMILY/{libinvivo_shim.so,tool-process,self-test}
//! ```
//!
//! Programs that speak the standard's own interface have a shim of their own and the tools of
//! MPICH, see [`crate::mpi::library`].

use crate::job::environment::Family;
use crate::mpi::preload::can_preload;
use std::path::{Path, PathBuf};

/// An installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artefacts {
    root: PathBuf,
}

/// Why an installation cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArtefactError {
    /// Nobody knows where we are.
    #[error("cannot find out where this invivo is installed: /proc/self/exe cannot be read")]
    Nowhere,
    /// A file is not there.
    #[error(
        "this installation has no {} (for {family}); install the whole tree, bin and lib/invivo, \
         for that MPI",
        path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// The MPI family that needs it.
        family: &'static str,
    },
    /// The loader could not be told of the shim.
    #[error(
        "{} cannot be preloaded: the loader splits its list at blanks, colons and `$`; move the \
         installation",
        path.display()
    )]
    Unloadable {
        /// The shim.
        path: PathBuf,
    },
}

impl Artefacts {
    /// This program's own installation.
    ///
    /// # Errors
    /// When the system does not say where it is.
    pub fn of_this_program() -> Result<Artefacts, ArtefactError> {
        let exe = std::env::current_exe().map_err(|_| ArtefactError::Nowhere)?;
        Artefacts::of_binary(&exe)
    }

    fn of_binary(exe: &Path) -> Result<Artefacts, ArtefactError> {
        let root = exe
            .parent()
            .and_then(Path::parent)
            .ok_or(ArtefactError::Nowhere)?;
        Ok(Artefacts {
            root: root.to_owned(),
        })
    }

    /// The preloaded library.
    pub fn shim(&self, family: Family) -> PathBuf {
        self.of_family(family, "libinvivo_shim.so")
    }

    /// The program of every tool process.
    pub fn tool_process(&self, family: Family) -> PathBuf {
        self.of_family(family.launched_by(), "tool-process")
    }

    /// The program of `invivo doctor`, which jobs do not need.
    pub fn self_test(&self, family: Family) -> PathBuf {
        self.of_family(family.launched_by(), "self-test")
    }

    /// The gateway.
    pub fn gateway(&self) -> PathBuf {
        self.root.join("bin/ui-gateway")
    }

    /// The program with every verb that does not start jobs. Where cargo has just built it, it lies
    /// beside this one.
    pub fn client(&self) -> PathBuf {
        let installed = self.root.join("lib/invivo/client");
        let beside = std::env::current_exe().map(|exe| exe.with_file_name("invivo-client"));
        match beside {
            Ok(beside) if !installed.exists() && beside.exists() => beside,
            _ => installed,
        }
    }

    /// The program that answers for a saved observation.
    pub fn observation(&self) -> PathBuf {
        self.root.join("lib/invivo/observation")
    }

    fn of_family(&self, family: Family, name: &str) -> PathBuf {
        self.root.join("lib/invivo").join(family.name()).join(name)
    }

    /// Checks that everything is there that a job of this family needs.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self, family: Family) -> Result<(), ArtefactError> {
        let shim = self.shim(family);
        for path in [&shim, &self.tool_process(family), &self.gateway()] {
            if !path.is_file() {
                return Err(ArtefactError::Missing {
                    path: path.clone(),
                    family: family.title(),
                });
            }
        }
        if can_preload(&shim) {
            Ok(())
        } else {
            Err(ArtefactError::Unloadable { path: shim })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_is_found_and_checked_wherever_it_stands() {
        let dir = tempfile::tempdir().expect("directory");
        let artefacts = Artefacts::of_binary(&dir.path().join("bin/invivo")).expect("a root");
        for file in ["bin/ui-gateway", "lib/invivo/ompi/libinvivo_shim.so"] {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().expect("below the root")).expect("made");
            std::fs::write(file, "").expect("written");
        }
        let tools = dir.path().join("lib/invivo/ompi/tool-process");
        let missing = ArtefactError::Missing {
            path: tools.clone(),
            family: "Open MPI",
        };
        assert_eq!(artefacts.check(Family::Ompi), Err(missing));
        std::fs::create_dir_all(tools.parent().expect("below the root")).expect("made");
        std::fs::write(tools, "").expect("written");
        assert_eq!(artefacts.check(Family::Ompi), Ok(()));
        assert!(matches!(
            artefacts.check(Family::Mpich),
            Err(ArtefactError::Missing {
                family: "MPICH",
                ..
            })
        ));
    }

    /// A root that the loader cannot be told of is refused.
    #[test]
    fn a_path_the_loader_would_split_is_refused() {
        let dir = tempfile::tempdir().expect("directory");
        let root = dir.path().join("a b");
        let artefacts = Artefacts { root: root.clone() };
        for path in [
            artefacts.shim(Family::Mpich),
            artefacts.tool_process(Family::Mpich),
            artefacts.gateway(),
        ] {
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("made");
            std::fs::write(path, "").expect("written");
        }
        assert!(matches!(
            artefacts.check(Family::Mpich),
            Err(ArtefactError::Unloadable { .. })
        ));
    }
}
