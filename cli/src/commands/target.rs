//! Which job a command means.

use crate::client::{self, Client, Scope};
use crate::connect::{self, Connect, Jobs, Liveness};
use std::fmt::Write;

/// Options of every command that talks to a job.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// The job; not needed while only one runs (see `invivo list`)
    #[arg(long, value_name = "ID", env = "INVIVO_JOB")]
    pub job: Option<String>,
    /// Print JSON; durations are in ns and sizes in bytes
    #[arg(long)]
    pub json: bool,
}

impl Target {
    /// The job that is meant.
    ///
    /// # Errors
    /// When there is none, or several and none was named.
    pub fn connect(&self) -> anyhow::Result<Connect> {
        let jobs = connect::jobs()?;
        tell_leftovers(&jobs);
        select(jobs, self.job.as_deref())
    }

    /// The job that is meant, and a client for it.
    ///
    /// # Errors
    /// As [`Target::connect`].
    pub fn client(&self, scope: Scope) -> anyhow::Result<(Connect, Client)> {
        let connect = self.connect()?;
        let client = client::client(&connect, scope)?;
        Ok((connect, client))
    }
}

/// Names what was cleaned up and what cannot be used.
pub fn tell_leftovers(jobs: &Jobs) {
    for job in &jobs.stale {
        super::note(&format!(
            "job {job} ended without cleaning up; its files have been removed"
        ));
    }
    for error in &jobs.unusable {
        super::note(&error.to_string());
    }
}

fn select(jobs: Jobs, id: Option<&str>) -> anyhow::Result<Connect> {
    const START: &str = "start one: invivo run -- mpiexec -n 4 ./app";
    let (here, elsewhere): (Vec<Connect>, Vec<Connect>) = jobs
        .running
        .into_iter()
        .map(|(_, connect)| connect)
        .partition(|connect| connect.liveness() != Liveness::Elsewhere);
    let all = here.len() + elsewhere.len();
    if let Some(id) = id {
        if let Some(connect) = elsewhere.iter().find(|connect| connect.job == id) {
            let host = &connect.host;
            anyhow::bail!(
                "job {id} runs on {host}, and its socket can only be reached there: ssh {host} invivo list"
            );
        }
        let found = here.into_iter().find(|connect| connect.job == id);
        return found.ok_or_else(|| anyhow::anyhow!("no job {id} is running here; see: invivo list"));
    }
    match <[Connect; 1]>::try_from(here) {
        Ok([only]) => Ok(only),
        Err(none) if none.is_empty() && all > 0 => {
            anyhow::bail!(
                "no job is running on this host, but {all} on others: see invivo list, and go there"
            )
        }
        Err(none) if none.is_empty() => anyhow::bail!("no job is running; {START}"),
        Err(several) => {
            let mut text = format!("{} jobs are running; say which with --job ID:", several.len());
            for connect in several {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n  {}  {}", connect.job, connect.command.join(" "));
            }
            anyhow::bail!(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn jobs(ids: &[(&str, bool)]) -> Jobs {
        let running = ids.iter().map(|(id, elsewhere)| {
            let mut connect =
                Connect::new(id, Path::new("/s"), vec!["./app".into()]).expect("random numbers");
            if *elsewhere {
                connect.host = "other".into();
            }
            (PathBuf::new(), connect)
        });
        Jobs {
            running: running.collect(),
            ..Jobs::default()
        }
    }

    fn chosen(ids: &[(&str, bool)], id: Option<&str>) -> String {
        select(jobs(ids), id).map_or_else(|error| format!("error: {error}"), |connect| connect.job)
    }

    #[test]
    fn the_only_job_is_meant_and_of_several_the_one_named() {
        assert_eq!(chosen(&[("a", false)], None), "a");
        assert_eq!(chosen(&[("a", false), ("far", true)], None), "a");
        assert_eq!(chosen(&[("a", false), ("b", false)], Some("b")), "b");
    }

    #[test]
    fn otherwise_the_error_says_what_to_do() {
        assert!(chosen(&[], None).contains("invivo run --"));
        assert!(chosen(&[("a", false)], Some("b")).contains("no job b is running here"));
        assert!(chosen(&[("far", true)], Some("far")).contains("ssh other"));
        assert!(chosen(&[("far", true)], None).contains("on this host"));
        let several = chosen(&[("a", false), ("b", false)], None);
        assert!(several.contains("--job ID") && several.contains("\n  a  ./app\n  b  ./app"));
    }
}
