//! The example job of both demonstrations: LAMMPS on four ranks, and commands as a user types them.

use crate::run::{allow_root, dist, root, show};
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Some 15 s on two cores: long enough to look at the job from another terminal.
const INPUT: &str = include_str!("in.melt");
/// From the launcher's start to a job that answers.
pub const START_MAX: Duration = Duration::from_secs(30);

/// The folder of a demonstration, and the name of its job.
pub struct Demo {
    pub folder: PathBuf,
    pub job: String,
}

impl Demo {
    /// Writes the input into `target/demo`.
    pub fn prepare() -> Result<Demo> {
        let folder = root().join("target/demo");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("in.melt"), INPUT)?;
        Ok(Demo {
            folder,
            job: format!("demo-{}", std::process::id()),
        })
    }

    pub fn say(&self, words: &str) {
        println!("\n# {words}");
    }

    /// A command of the tree, as a newcomer would type it with the tree in PATH.
    pub fn invivo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("invivo");
        command.args(arguments).current_dir(&self.folder);
        println!("$ {}", show(&command));

        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [dist().join("bin")]
            .into_iter()
            .chain(std::env::split_paths(&path));
        // Names the job for both terminals: another job of the same user may be running.
        command
            .env("PATH", std::env::join_paths(folders).unwrap_or(path))
            .env("INVIVO_JOB", &self.job);
        allow_root(&mut command);
        command
    }
}

/// The status of a child that ends by itself; after `most` it is ended.
pub fn wait(child: &mut Child, most: Duration) -> Result<ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() > most {
            child.kill()?;
            bail!(
                "the job did not end within {} s and was ended",
                most.as_secs()
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Polls quietly: the job is there when its root answers.
pub fn wait_until_it_answers(demo: &Demo, job: &mut Child) -> Result<()> {
    let begun = Instant::now();
    let invivo = dist().join("bin/invivo");
    loop {
        let mut ask = Command::new(&invivo);
        ask.args(["status", "--json"])
            .env("INVIVO_JOB", &demo.job)
            .stderr(Stdio::null());
        if ask
            .output()
            .is_ok_and(|answer| answer.status.success() && running(&answer.stdout))
        {
            return Ok(());
        }

        if let Some(status) = job.try_wait()? {
            bail!(
                "the job ended ({status}) before it could be watched; see target/demo/lammps.out"
            );
        }
        if begun.elapsed() > START_MAX {
            bail!("the job did not answer within {} s", START_MAX.as_secs());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Whether all ranks of an answer have initialised MPI.
fn running(answer: &[u8]) -> bool {
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
    let ranks = &answer["status"]["ranks"];
    let counted = |state: &str| ranks[state].as_u64().unwrap_or(0);
    // The root answers before the ranks have initialised MPI.
    counted("starting") == 0 && counted("computing") + counted("in_mpi") > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_runs_when_every_rank_has_initialised() {
        let answer =
            |ranks: &str| running(format!(r#"{{"status":{{"ranks":{ranks}}}}}"#).as_bytes());
        assert!(answer(r#"{"starting":0,"computing":1,"in_mpi":3}"#));
        assert!(!answer(r#"{"starting":1,"computing":0,"in_mpi":3}"#));
        assert!(!answer(
            r#"{"starting":0,"computing":0,"in_mpi":0,"finished":4}"#
        ));
        assert!(!running(b"no json"));
    }
}
