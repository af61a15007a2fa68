//! Keeps the ranks bound to the cores that they would have without us. Pure.
//!
//! Open MPI 4 binds by the number of processes that it starts: up to two of them to a core each,
//! more to the cores of a NUMA node, in turn, and none where there are more of them than slots.
//! With the tool processes beside them, one or two ranks would lose their cores, and the ranks of a
//! full machine their NUMA nodes. So the binding of the bare run is requested, where the user has
//! not chosen one. Where ranks and tool processes do not fit the cores together, the tool processes
//! share those of the ranks.
//!
//! Open MPI 5 binds any number of processes to cores, one after the other, and none at all where it
//! is told to oversubscribe, so that tool processes change nothing.

use crate::command_line::launcher_options::{Flavour, Line};
use crate::command_line::machine::is_managed;
use crate::job::environment::Environment;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The most processes that Open MPI 4 binds to cores by itself.
const BOUND_TO_CORES: u32 = 2;
/// What makes it do so with any number.
const TO_CORES: &[&str] = &["--map-by", "core", "--bind-to", "core:overload-allowed"];
/// What makes it bind more processes than slots to NUMA nodes. Placed by those they are anyway.
const TO_NUMA_NODES: &[&str] = &["--bind-to", "numa:overload-allowed"];
/// Variables that may say something about it.
const SETTINGS: [&[u8]; 4] = [
    b"OMPI_MCA_hwloc",
    b"OMPI_MCA_rmaps",
    b"OMPI_MCA_orte",
    b"OMPI_MCA_mca_base",
];

/// Words to put behind the launcher's name, for a job with so many tool processes on a machine of
/// so many cores.
pub fn kept(
    line: &Line,
    launcher: Option<&Path>,
    tools: u32,
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
    if line.flavour != Flavour::OpenMpi || !four || said {
        return Vec::new();
    }
    let ranks = line.ranks();
    // Where nobody says otherwise, each core is a slot.
    let slots_are_cores = !line.hosts && !is_managed(environment);
    let fill = slots_are_cores && ranks <= cores && ranks.saturating_add(tools) > cores;
    let words = if line.parts.len() == 1 && ranks <= BOUND_TO_CORES.min(cores) {
        TO_CORES
    } else if ranks > BOUND_TO_CORES && fill {
        TO_NUMA_NODES
    } else {
        &[]
    };
    words.iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::launcher_options::read;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    /// What is requested for a job with two tool processes.
    fn asked_for(
        text: &str,
        launcher: &str,
        cores: u32,
        environment: &Environment,
    ) -> Vec<OsString> {
        let launcher = Path::new(launcher);
        let line = read(&words(text), Some(launcher)).expect("a line");
        kept(&line, Some(launcher), 2, cores, environment)
    }

    /// The binding is that of Open MPI 4.1.4 on eight cores of two NUMA nodes, as it shows it.
    #[test]
    fn a_full_machine_keeps_its_numa_nodes() {
        let asked = |text: &str, environment: &Environment| {
            asked_for(text, "/usr/bin/orterun", 8, environment)
        };
        let none = Environment::new();
        for (text, words) in [
            ("mpiexec -n 2 ./app", TO_CORES),
            ("mpiexec -n 3 ./app", &[]),
            ("mpiexec -n 6 ./app", &[]),
            ("mpiexec --oversubscribe -n 7 ./app", TO_NUMA_NODES),
            ("mpiexec --oversubscribe -n 8 ./app", TO_NUMA_NODES),
            ("mpiexec --oversubscribe -n 4 ./a : -n 4 ./b", TO_NUMA_NODES),
            ("mpiexec --oversubscribe -n 9 ./app", &[]),
            ("mpiexec --oversubscribe --bind-to none -n 8 ./app", &[]),
            ("mpiexec --oversubscribe -H here:8 -n 8 ./app", &[]),
        ] {
            assert_eq!(asked(text, &none), words, "{text}");
        }
        let managed = Environment::from([("SLURM_JOB_ID".into(), "1".into())]);
        assert!(asked("mpiexec --oversubscribe -n 8 ./app", &managed).is_empty());
    }

    #[test]
    fn only_what_the_bare_run_has_is_asked_for() {
        let kept = |text: &str, launcher: &str, cores: u32, environment: &Environment| {
            !asked_for(text, launcher, cores, environment).is_empty()
        };
        let none = Environment::new();
        let here = |text: &str| kept(text, "/usr/bin/orterun", 4, &none);
        assert!(here("mpiexec -n 2 ./app") && here("mpiexec --oversubscribe -n 1 ./app"));
        for text in [
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
