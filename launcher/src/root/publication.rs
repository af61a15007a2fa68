//! Publishes a job: its entry in the list of jobs, and its gateway.

use crate::job::job_id::Job;
use crate::output::say;
use crate::root::assignment::RootAssignment;
use crate::root::gateway_process::{self, Gateway};
use invivo_jobdir::{Connect, PlaceError};
use nix::sys::signal::SigSet;
use std::path::{Path, PathBuf};

/// A published job.
pub struct Publication {
    /// The job, by the name under which it is published.
    pub job: Job,
    /// The gateway.
    pub gateway: Gateway,
}

impl Publication {
    /// Publishes the job and starts the gateway. Where that fails, the user gets a line, and the
    /// job runs without.
    pub fn open(assignment: &RootAssignment, dir: &Path, mask: SigSet) -> Option<Publication> {
        match Publication::try_open(assignment, dir, mask) {
            Ok(publication) => Some(publication),
            Err(error) => {
                say(&format!(
                    "this job cannot be watched while it runs: {error}"
                ));
                None
            }
        }
    }

    fn try_open(
        assignment: &RootAssignment,
        dir: &Path,
        mask: SigSet,
    ) -> Result<Publication, PlaceError> {
        let socket = dir.join("gateway.sock");
        let publish = |job: &Job| {
            let command = assignment.command.clone();
            let connect =
                Connect::new(&job.id, &socket, command).map_err(|source| PlaceError::Io {
                    what: "read random numbers for",
                    path: PathBuf::from(invivo_jobdir::FILE_NAME),
                    source,
                })?;
            invivo_jobdir::publish(&connect)
        };
        let (job, path) = match publish(&assignment.job) {
            // Another step of the same batch job, most likely.
            Err(PlaceError::Running { .. }) => {
                let job = assignment.job.renamed();
                publish(&job).map(|path| (job, path))?
            }
            other => (assignment.job.clone(), other?),
        };
        let gateway = Gateway::start(gateway_process::Settings {
            program: assignment.artefacts.gateway(),
            socket,
            link: link(dir),
            log: path.with_file_name("gateway.log"),
            connect: path,
            listen: assignment
                .options
                .config
                .listen
                .as_ref()
                .map(|address| address.0.clone()),
            mask,
        });
        Ok(Publication { job, gateway })
    }

    /// Takes the job off the list.
    pub fn withdraw(&self) {
        if let Err(error) = invivo_jobdir::withdraw(&self.job.id) {
            say(&error.to_string());
        }
    }
}

/// Where the root listens for the gateway.
pub fn link(dir: &Path) -> PathBuf {
    dir.join("link.sock")
}
