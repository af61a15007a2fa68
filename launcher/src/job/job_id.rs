//! A job's name, and the directory of its sockets on this node.

use invivo_jobdir::process_stat;
use std::path::PathBuf;

/// The variable that names the job.
pub const ENV_JOB: &str = "INVIVO_JOB";

/// A job, as one of its processes knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The name in commands and lists.
    pub id: String,
    /// The launcher's process on this node: the same for all processes of the job here, another one
    /// for any other job.
    launcher: i32,
}

impl Job {
    /// The job that this process belongs to: as it is called on the command line, else by
    /// [`ENV_JOB`] (which some launchers do not pass on to other nodes), else by Slurm, else by
    /// host and launcher.
    pub fn of_this_process(called: Option<&str>) -> Job {
        let launcher = process_stat::launcher(std::process::id() as i32);
        let named = |name: &str| std::env::var(name).ok().filter(|id| !id.is_empty());
        let called = called.map(str::to_owned);
        let id = called
            .or_else(|| named(ENV_JOB))
            .or_else(|| named("SLURM_JOB_ID"));
        Job {
            id: invivo_jobdir::job_id(&id.unwrap_or_else(|| fresh_id(launcher))),
            launcher,
        }
    }

    /// The launcher's process on this node.
    pub fn launcher(&self) -> i32 {
        self.launcher
    }

    /// A second name, for when another job of this name runs: two steps of one Slurm job, for
    /// example.
    pub fn renamed(&self) -> Job {
        Job {
            id: self.unique(),
            ..self.clone()
        }
    }

    fn unique(&self) -> String {
        let suffix = format!("-{}", self.launcher);
        if self.id.ends_with(&suffix) {
            self.id.clone()
        } else {
            invivo_jobdir::job_id(&format!("{}{suffix}", self.id))
        }
    }

    /// The directory of the job's sockets on this node. It is not named by the id alone: two jobs
    /// of one name must not meet in it.
    ///
    /// # Errors
    /// When it cannot be made or is not ours.
    pub fn runtime_dir(&self) -> Result<PathBuf, invivo_jobdir::PlaceError> {
        // With the launcher's start, so that what a killed job left is not taken for this one's.
        let start = process_stat::stat(self.launcher).map_or(0, |stat| stat.start);
        invivo_jobdir::runtime_dir(&invivo_jobdir::job_id(&format!(
            "{}.{start}",
            self.unique()
        )))
    }
}

/// `HOST-PID`.
pub fn fresh_id(pid: i32) -> String {
    invivo_jobdir::job_id(&format!("{}-{pid}", host()))
}

/// This host's name, without its domain.
pub fn host() -> String {
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy();
    host.split('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_jobs_of_one_name_do_not_meet() {
        let one = Job {
            id: "4711".into(),
            launcher: 10,
        };
        let two = Job {
            id: "4711".into(),
            launcher: 11,
        };
        assert_ne!(one.unique(), two.unique());
        assert_ne!(one.renamed().id, two.renamed().id);
        assert_eq!(
            one.renamed().unique(),
            one.unique(),
            "another name, the same directory"
        );
        let fresh = Job {
            id: fresh_id(10),
            launcher: 10,
        };
        assert_eq!(fresh.unique(), fresh.id);
        invivo_jobdir::check_job_id(&fresh.id).expect("a job's name");
    }
}
