//! Keeps the ranks bound to the cores that they would have without us. Pure.
//!
//! Open MPI 4 binds by the number of processes that it starts: up to two of them to a core each,
//! more to a socket each, and none where there are more of them than slots. With the tool processes
//! beside them, one or two ranks would lose their cores. So binding to cores is requested, where
//! the user has not chosen one. Where ranks and tool processes do not fit the cores together, the
//! tool processes share those of the ranks.

use crate::command_line::launchers::{Flavour, Line};
use crate::job::environment::Environment;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The most processes that Open MPI 4 binds to cores by itself.
const BOUND_TO_CORES: u32 = 2;
/// What makes it do so with any number.
const TO_CORES: [&str; 4] = ["--map-by", "core", "--bind-to", "core:overload-allowed"];
/// Variables that may say something about it.
const SETTINGS: [&[u8]; 4] = [
    b"OMPI_MCA_hwloc",
    b"OMPI_MCA_rmaps",
    b"OMPI_MCA_orte",
    b"OMPI_MCA_mca_base",
];

/// Words to put behind the launcher's name.
pub fn kept(
    line: &Line,
    launcher: Option<&Path>,
    cores: u32,
    environment: &Environment,
) -> Vec<OsString> {
    // All names of Open MPI 4's launcher lead to this file; other versions are left alone.
    let four = launcher.is_some_and(|file| file.ends_with("orterun"));
    let said = line.bound
        || environment.keys().any(|name| {
            SETTINGS
                .iter()
                .any(|setting| name.as_bytes().starts_with(setting))
        });
    let bare_is_bound = line.parts.len() == 1 && line.ranks() <= BOUND_TO_CORES.min(cores);
    if line.flavour == Flavour::OpenMpi && four && !said && bare_is_bound {
        TO_CORES.map(OsString::from).to_vec()
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::launchers::read;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn only_what_the_bare_run_has_is_asked_for() {
        let kept = |text: &str, launcher: &str, cores: u32, environment: &Environment| {
            let launcher = Path::new(launcher);
            let line = read(&words(text), Some(launcher)).expect("a line");
            !kept(&line, Some(launcher), cores, environment).is_empty()
        };
        let none = Environment::new();
        let here = |text: &str| kept(text, "/usr/bin/orterun", 4, &none);
        assert!(here("mpiexec -n 2 ./app") && here("mpiexec --oversubscribe -n 1 ./app"));
        for text in [
            "mpiexec -n 3 ./app",
            "mpiexec --bind-to none -n 2 ./app",
            "mpiexec --map-by slot -n 2 ./app",
            "mpiexec --mca a b -n 2 ./app",
            "mpiexec -n 1 ./a : -n 1 ./b",
        ] {
            assert!(!here(text), "{text}");
        }
        assert!(
            !kept("mpiexec -n 2 ./app", "/usr/bin/orterun", 1, &none),
            "too few cores"
        );
        assert!(!kept(
            "mpiexec -n 2 ./app",
            "/opt/bin/mpiexec.hydra",
            4,
            &none
        ));
        assert!(
            !kept("mpirun -n 2 ./app", "/opt/bin/prterun", 4, &none),
            "Open MPI 5"
        );
        let set = Environment::from([("OMPI_MCA_hwloc_base_binding_policy".into(), "none".into())]);
        assert!(!kept("mpiexec -n 2 ./app", "/usr/bin/orterun", 4, &set));
    }
}
