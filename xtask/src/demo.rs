//! `cargo xtask demo`: what a newcomer would do with two terminals, with every command shown before
//! it runs.

mod blackbox;

use crate::run::{allow_root, check, dist, root, show};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Debian's input of the LAMMPS melt example.
const INPUT: &str = "/usr/share/lammps/examples/melt/in.melt";
/// Its own 250 steps are over before a reader has found the other terminal.
const STEPS: (&str, &str) = ("run\t\t250", "run\t\t10000");
/// From the launcher's start to a job that answers.
const START_MAX: Duration = Duration::from_secs(30);
/// The whole run: some 15 s on two cores.
const RUN_MAX: Duration = Duration::from_secs(300);

/// Runs it, or the one about a rank that dies; the tree must have been built.
pub fn run(black_box: bool) -> Result<()> {
    if black_box {
        return blackbox::run();
    }
    let demo = Demo::prepare()?;
    demo.say("A real, unmodified program: LAMMPS as Debian ships it, on four ranks, with 10,000 steps of its melt example.");
    demo.say("Invivo adds two processes (a tool place and the root) that LAMMPS cannot see.");
    let mut job = demo.start()?;
    let shown = demo.show(&mut job);
    if shown.is_err() {
        // Ours to end: nothing of a failed demonstration stays behind.
        let _ = job.kill();
    }
    shown.and(demo.finish(&mut job))
}

struct Demo {
    folder: PathBuf,
    job: String,
}

impl Demo {
    fn prepare() -> Result<Demo> {
        let folder = root().join("target/demo");
        std::fs::create_dir_all(&folder)?;
        let input = std::fs::read_to_string(INPUT).with_context(|| format!("reading {INPUT}"))?;
        let (few, many) = STEPS;
        anyhow::ensure!(
            input.contains(few),
            "{INPUT} is not the example that this demonstration knows"
        );
        std::fs::write(folder.join("in.melt"), input.replace(few, many))?;
        Ok(Demo {
            folder,
            job: format!("demo-{}", std::process::id()),
        })
    }

    fn say(&self, words: &str) {
        println!("\n# {words}");
    }

    /// A command of the tree, as a newcomer would type it with the tree in PATH.
    fn invivo(&self, arguments: &[&str]) -> Command {
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

    fn start(&self) -> Result<Child> {
        self.say("Terminal 1 (its output goes to target/demo/lammps.out):");
        let line =
            "run --report report.txt -- mpiexec.openmpi --oversubscribe -n 4 lmp -in in.melt";
        let mut launch = self.invivo(&line.split(' ').collect::<Vec<_>>());
        launch
            .stdin(Stdio::null())
            .stdout(File::create(self.folder.join("lammps.out"))?);
        let child = launch.spawn().context("starting invivo run")?;
        Ok(child)
    }

    fn show(&self, job: &mut Child) -> Result<()> {
        self.wait_until_it_answers(job)?;
        self.say("Terminal 2: which jobs are running, and what the ranks are doing.");
        check(&mut self.invivo(&["list"]))?;
        check(&mut self.invivo(&["status"]))?;
        self.say("The same, live.");
        check(&mut self.invivo(&["watch", "--count", "3"]))?;
        self.say("Where the time in MPI goes.");
        check(&mut self.invivo(&["functions"]))?;
        self.say("The application stands still ...");
        check(&mut self.invivo(&["pause"]))?;
        println!("$ sleep 2");
        std::thread::sleep(Duration::from_secs(2));
        check(&mut self.invivo(&["watch", "--count", "1"]))?;
        self.say("... and goes on as if nothing had happened.");
        check(&mut self.invivo(&["resume"]))?;
        self.say("Who sends how much to whom.");
        check(&mut self.invivo(&["matrix"]))
    }

    /// Polls quietly: the job is there when its root answers.
    fn wait_until_it_answers(&self, job: &mut Child) -> Result<()> {
        let begun = Instant::now();
        let invivo = dist().join("bin/invivo");
        loop {
            let mut ask = Command::new(&invivo);
            ask.args(["status", "--json"])
                .env("INVIVO_JOB", &self.job)
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

    fn finish(&self, job: &mut Child) -> Result<()> {
        self.say("Terminal 1: LAMMPS runs to its end ...");
        let status = wait(job, RUN_MAX)?;
        if !status.success() {
            bail!("the job ended with {status}; see target/demo/lammps.out");
        }
        let output = std::fs::read_to_string(self.folder.join("lammps.out"))?;
        let end = output.lines().find(|line| line.starts_with("Loop time"));
        println!(
            "{}",
            end.context("LAMMPS did not finish its loop; see target/demo/lammps.out")?
        );
        self.say("... and Invivo leaves a page.");
        println!("$ cat report.txt");
        print!(
            "{}",
            std::fs::read_to_string(self.folder.join("report.txt")).context("the report")?
        );
        self.say(
            "That was it. With this tree in your PATH, put `invivo run --` before your own mpiexec line:",
        );
        println!("export PATH={}:$PATH", shorten(&dist().join("bin")));
        Ok(())
    }
}

/// Whether all ranks of an answer have initialised MPI.
fn running(answer: &[u8]) -> bool {
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
    let ranks = &answer["status"]["ranks"];
    let counted = |state: &str| ranks[state].as_u64().unwrap_or(0);
    counted("starting") == 0 && counted("computing") + counted("in_mpi") > 0
}

fn wait(child: &mut Child, most: Duration) -> Result<ExitStatus> {
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

fn shorten(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).map_or_else(
        |_| path.display().to_string(),
        |rest| format!("$PWD/{}", rest.display()),
    )
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
