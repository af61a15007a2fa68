//! Answers the gateway: questions from the observation, and commands with a refusal.

use crate::load::Loaded;
use invivo_analysis::hang::Surroundings;
use invivo_analysis_node::gateway::Gateway;
use invivo_analysis_node::root_server::present;
use invivo_archive::saved::SavedObservation;
use invivo_proto::control::link::{Answer, Ask, JobDescription, ObservationDescription, Request};
use invivo_proto::control::tree::{Partial, Query};
use invivo_proto::ids::WorldRank;
use rustix::event::poll;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

/// An observation that is open.
pub struct Served {
    loaded: Loaded,
    job: JobDescription,
    missing: Vec<WorldRank>,
    /// What stands with every status.
    notes: Vec<String>,
}

impl Served {
    /// Of what was read.
    pub fn new(saved: &SavedObservation, loaded: Loaded) -> Served {
        let about = saved.about();
        let hosts: BTreeSet<&str> = saved.locations().iter().map(|one| &*one.host).collect();
        let observation = ObservationDescription {
            from_ns: about.from_ns,
            to_ns: about.to_ns,
            saved_unix_ns: about.saved_unix_ns,
            calls: loaded.calls,
            reduced: loaded.reduced,
        };
        let job = JobDescription {
            id: about.job.id.clone(),
            ranks: about.job.ranks,
            places: hosts.len() as u32,
            nodes: 0,
            family: about.job.family.clone(),
            library: about.job.library.clone(),
            observation: Some(observation),
        };
        Served {
            notes: notes(&job.id, &loaded),
            job,
            missing: about.missing.iter().copied().map(WorldRank).collect(),
            loaded,
        }
    }

    /// Calls in it.
    pub fn calls(&self) -> u64 {
        self.loaded.calls
    }

    /// Listens for the gateway.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn listen(&self, link: &Path) -> std::io::Result<Gateway> {
        Gateway::listen(link)
    }

    /// Answers until this process is killed.
    ///
    /// # Errors
    /// When the kernel does not say what has come.
    pub fn serve(mut self, mut gateway: Gateway) -> anyhow::Result<()> {
        loop {
            for (connection, Request { id, ask }) in gateway.poll() {
                let answer = self.answer(ask);
                gateway.answer(connection, id, answer, self.missing.clone());
            }
            match poll(&mut [gateway.poll_fd()], None).map_err(std::io::Error::from) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
                _ => {}
            }
        }
    }

    fn answer(&mut self, ask: Ask) -> Answer {
        let query =
            match ask {
                Ask::Job => return Answer::Job(self.job.clone()),
                Ask::Command { .. } => return Answer::Refused(self.refusal(
                    "nothing of it runs that could be steered; commands go to running jobs, see: \
                 invivo list",
                )),
                Ask::Query(query) => query,
            };
        let why = match query {
            Query::Hang { .. } | Query::Stacks { .. } => {
                "what its processes are waiting for, and where they are, is asked while they run"
            }
            Query::Sites { .. } => {
                "buffers keep no call sites; a job is asked for them while it runs"
            }
            Query::Functions { .. }
            | Query::WaitStates { .. }
            | Query::Matrix { .. }
            | Query::Messages { .. }
            | Query::Regions { past: Some(_), .. } => {
                "tables of it are of all its time; save a shorter one while the job runs: invivo \
                 save --interval"
            }
            Query::Regions { .. } => {
                "buffers keep no regions; a job is asked for them while it runs"
            }
            Query::Selection => {
                "buffers keep no rules; a job is asked what is recorded while it runs"
            }
            Query::Metrics | Query::Grid(_) => {
                "buffers keep no metrics; a job is asked what is measured while it runs"
            }
            _ => "it has no answer to that",
        };
        let Some((mut partial, coverage)) = self.loaded.observed.answer(query) else {
            return Answer::Refused(self.refusal(why));
        };
        if let Partial::Status(status) = &mut partial {
            status.notes.extend(self.notes.iter().cloned());
        }
        let around = Surroundings {
            ranks: self.job.ranks,
            members: &|_| None,
        };
        present(partial, coverage, &around)
    }

    fn refusal(&self, why: &str) -> String {
        format!("this is a saved observation of job {}: {why}", self.job.id)
    }
}

/// The sentences that say what answers are made of.
fn notes(job: &str, loaded: &Loaded) -> Vec<String> {
    let calls = loaded.calls;
    let mut notes = vec![format!(
        "this is a saved observation of job {job}, with {calls} calls: nothing of it runs"
    )];
    if loaded.reduced > 0 {
        notes.push(format!(
            "{} calls had been given up by the buffers when it was saved: no answer has them",
            loaded.reduced
        ));
    }
    notes
}
