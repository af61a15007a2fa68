//! What decides about the slots of this machine: a resource manager, or its cores.

use crate::job::environment::Environment;
use std::ffi::OsStr;
use std::path::PathBuf;

/// A resource manager decides about slots here.
pub fn is_managed(environment: &Environment) -> bool {
    let jobs = [
        "SLURM_JOB_ID",
        "PBS_JOBID",
        "LSB_JOBID",
        "JOB_ID",
        "COBALT_JOBID",
    ];
    jobs.iter()
        .any(|name| environment.contains_key(OsStr::new(name)))
}

/// Cores of this machine as Open MPI counts its slots: hardware threads of one core are one.
pub fn cores() -> Option<u32> {
    let listing = std::fs::read_dir("/sys/devices/system/cpu").ok()?;
    let siblings = listing.filter_map(|entry| {
        let path: PathBuf = entry.ok()?.path().join("topology/thread_siblings_list");
        std::fs::read_to_string(path).ok()
    });
    let cores = siblings.collect::<std::collections::BTreeSet<_>>().len() as u32;
    (cores > 0).then_some(cores)
}
