//! Finds the job that a command is for: by `--job`, by `--connect`, by `--on` behind a login, or
//! the only one that runs.

use crate::client::{self, Client, Scope};
use crate::job::Job;
use crate::ssh::Far;
use crate::ssh::login::{self, Login};
use invivo_jobdir::{Connect, Jobs, Liveness};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Options of every command that talks to a job.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// The job, or a part of its name that fits no other, as the number at its end; not needed
    /// while only one runs (see `invivo list`)
    #[arg(long, value_name = "ID", env = "INVIVO_JOB")]
    pub job: Option<String>,
    /// The job's connect.json, also a copy of it on another host if the job listens there (`invivo
    /// run --listen`)
    #[arg(
        long,
        value_name = "FILE",
        env = "INVIVO_CONNECT",
        conflicts_with = "on"
    )]
    pub connect: Option<PathBuf>,
    #[command(flatten)]
    pub there: There,
    /// Print JSON; durations are in ns and sizes in bytes
    #[arg(long)]
    pub json: bool,
}

/// Options of every command that works behind a login too.
#[derive(Clone, Debug, clap::Args)]
pub struct There {
    /// Look for the job on this host, which ssh reaches (me@login); the connection goes through ssh
    #[arg(long, value_name = "HOST", env = "INVIVO_ON")]
    pub on: Option<String>,
    /// With --on: where `invivo` is there, if it is not in the PATH
    #[arg(long, value_name = "PATH", env = "INVIVO_ON_PROGRAM", default_value = login::PROGRAM)]
    #[arg(hide_default_value = true)]
    pub on_program: String,
}

impl There {
    /// The login, if there is one.
    ///
    /// # Errors
    /// When what was given is no host.
    pub fn login(&self) -> anyhow::Result<Option<Login>> {
        let on = self.on.as_deref();
        on.map(|host| Login::new(host, &self.on_program))
            .transpose()
    }
}

impl Target {
    /// The job that is meant.
    ///
    /// # Errors
    /// When there is none, or several and none was named.
    pub fn find(&self) -> anyhow::Result<Job> {
        self.find_with(tell_leftovers)
    }

    /// As [`Target::find`] without messages, for repeated attempts.
    ///
    /// # Errors
    /// As [`Target::find`].
    pub fn find_silently(&self) -> anyhow::Result<Job> {
        self.find_with(|_| {})
    }

    fn find_with(&self, tell: fn(&Jobs)) -> anyhow::Result<Job> {
        if let Some(login) = self.there.login()? {
            let (connect, far) = Far::find(login, self.job.as_deref())?;
            return Ok(Job::of_far(connect, far));
        }
        if let Some(path) = &self.connect {
            // A file that was named counts wherever it lies: it may be a copy from another host.
            return named(path, self.job.as_deref());
        }
        let jobs = invivo_jobdir::jobs()?;
        tell(&jobs);
        select(jobs, self.job.as_deref(), is_reached_from_here)
    }

    /// The job that is meant, and a client for it.
    ///
    /// # Errors
    /// As [`Target::find`].
    pub fn client(&self, scope: Scope) -> anyhow::Result<(Job, Client)> {
        let job = self.find()?;
        let client = client::client(&job, scope)?;
        Ok((job, client))
    }
}

/// The job of a `connect.json`.
fn named(path: &Path, id: Option<&str>) -> anyhow::Result<Job> {
    let connect = Connect::read(path)?;
    let file = path.display();
    if let Some(id) = id.filter(|id| *id != connect.job) {
        anyhow::bail!(
            "{file} is of job {}, and job {id} was asked for; leave one of them away",
            connect.job
        );
    }
    if connect.liveness() == Liveness::Stale {
        anyhow::bail!(
            "job {} of {file} is over; see which run: invivo list",
            connect.job
        );
    }
    // Its Unix socket is of no use here: only a gateway that listens on TCP can be reached.
    if connect.liveness() == Liveness::Elsewhere && connect.url.is_none() {
        let why = connect
            .tls_trouble
            .as_deref()
            .unwrap_or("it was not asked to");
        anyhow::bail!(
            "job {} runs on {} and does not listen to other hosts ({why}); start it with invivo \
             run --listen HOST:0, \
             and copy its connect.json again",
            connect.job,
            connect.host
        );
    }
    Ok(Job::of_file(connect, path.to_owned()))
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

/// The job that is meant, whichever host it runs on: the way to it is the caller's.
///
/// # Errors
/// As [`Target::find`].
pub fn find_on_any_host(id: Option<&str>) -> anyhow::Result<Job> {
    select(invivo_jobdir::jobs()?, id, |_| true)
}

/// A job on another host that listens there is as good as one here.
fn is_reached_from_here(job: &Job) -> bool {
    job.liveness() != Liveness::Elsewhere || job.url.is_some()
}

fn select(jobs: Jobs, id: Option<&str>, is_reached: fn(&Job) -> bool) -> anyhow::Result<Job> {
    const START: &str = "start one: invivo run -- mpiexec -n 4 ./app";
    let (here, elsewhere): (Vec<Job>, Vec<Job>) = jobs
        .running
        .into_iter()
        .map(|(path, connect)| Job::of_file(connect, path))
        .partition(is_reached);
    let all = here.len() + elsewhere.len();
    if let Some(id) = id {
        let id = full(id, here.iter().chain(&elsewhere));
        let id = id.as_str();
        if let Some(job) = elsewhere.iter().find(|job| job.job == id) {
            let host = &job.host;
            anyhow::bail!(
                "job {id} runs on {host}, and its socket can only be reached there: ssh {host} \
                 invivo list; to reach \
                 the next one from here, start it with invivo run --listen {host}:0"
            );
        }
        let found = here.into_iter().find(|job| job.job == id);
        return found
            .ok_or_else(|| anyhow::anyhow!("no job {id} is running here; see: invivo list"));
    }
    match <[Job; 1]>::try_from(here) {
        Ok([only]) => Ok(only),
        Err(none) if none.is_empty() && all > 0 => {
            anyhow::bail!(
                "no job is running on this host, but {all} on others: see invivo list, and go there"
            )
        }
        Err(none) if none.is_empty() => anyhow::bail!("no job is running; {START}"),
        Err(several) => {
            let mut text = format!(
                "{} jobs are running; say which with --job ID:",
                several.len()
            );
            for job in several {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n  {}  {}", job.job, job.command.join(" "));
            }
            anyhow::bail!(text)
        }
    }
}

/// The job's whole id, where a part of it names one job: what stands behind its last dash, as
/// `4711` of `node17-4711`, or how it begins. Otherwise as it was given.
fn full<'a>(id: &str, jobs: impl Iterator<Item = &'a Job> + Clone) -> String {
    let named = |is_meant: &dyn Fn(&str) -> bool| {
        let mut meant = jobs.clone().filter(|job| is_meant(&job.job));
        let only = meant.next().filter(|_| meant.next().is_none());
        only.map(|job| job.job.clone())
    };
    let number = |job: &str| job.rsplit_once('-').is_some_and(|(_, number)| number == id);
    named(&|job| job == id)
        .or_else(|| named(&number))
        .or_else(|| named(&|job| !id.is_empty() && job.starts_with(id)))
        .unwrap_or_else(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        select(jobs(ids), id, is_reached_from_here)
            .map_or_else(|error| format!("error: {error}"), |job| job.job.clone())
    }

    /// The only job is meant and of several the one named.
    #[test]
    fn the_only_job_is_meant_else_the_one_named() {
        assert_eq!(chosen(&[("a", false)], None), "a");
        assert_eq!(chosen(&[("a", false), ("far", true)], None), "a");
        assert_eq!(chosen(&[("a", false), ("b", false)], Some("b")), "b");
    }

    #[test]
    fn a_part_of_the_name_that_fits_one_is_enough() {
        let jobs = [("node-47", false), ("node-4", false), ("melt-run", false)];
        for (part, meant) in [("47", "node-47"), ("4", "node-4"), ("melt", "melt-run")] {
            assert_eq!(chosen(&jobs, Some(part)), meant);
        }
        assert!(
            chosen(&jobs, Some("node")).contains("no job node"),
            "two of them"
        );
        assert!(chosen(&jobs, Some("")).contains("no job"));
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
