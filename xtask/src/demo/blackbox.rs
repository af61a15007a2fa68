//! `cargo xtask demo --blackbox`: a rank is killed, and every rank's last seconds are there.

use super::example::{Demo, START_MAX, wait, wait_until_it_answers};
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The rank that is killed.
const VICTIM: u32 = 2;
/// From the kill to the sentence and the timeline.
const SENTENCE_MAX: Duration = Duration::from_secs(3);
/// From the kill to the end of the job.
const END_MAX: Duration = Duration::from_secs(30);
/// What stands above the picture in a report.
const PICTURE: &str = "MPI time by rank";
/// How long the ranks run before.
const BEFORE: Duration = Duration::from_secs(3);

/// Runs it; the tree must have been built.
pub fn run() -> Result<()> {
    let demo = Demo::prepare()?;
    demo.say(
        "LAMMPS on four ranks again. Nobody watches; after a while rank 2 is killed with SIGKILL.",
    );

    let bare = bare(&demo)?;

    let begun = Instant::now();
    let (job, took) = observed(&demo)?;

    let line =
        line(&demo)?.context("Invivo said nothing of the job; see target/demo/lammps.err")?;
    println!("\n{line}\n");
    print!("{}", picture(&demo)?);

    ensure!(
        took < SENTENCE_MAX,
        "that came {took:.1?} after the kill, at most {SENTENCE_MAX:?} is promised"
    );

    ensure!(
        code(job) == code(bare),
        "exit status {job}, and {bare} without Invivo"
    );

    let timeline = demo.folder.join("report.pftrace");
    let bytes = timeline.metadata().context("the timeline")?.len();
    ensure!(bytes > 0, "{} is empty", timeline.display());

    for part in [
        format!("rank {VICTIM} was killed by signal 9 (SIGKILL)").as_str(),
        format!("waiting for rank {VICTIM}").as_str(),
        "report.pftrace",
    ] {
        ensure!(line.contains(part), "the line says nothing of {part:?}");
    }

    demo.say(&format!(
        "{took:.1?} after the kill: which rank died, in which call, who was waiting for it. The \
         exit status is {}, as without Invivo. \
         The last seconds of every rank ({} KiB) are in target/demo/report.pftrace: drop it onto \
         https://ui.perfetto.dev.",
        code(job),
        bytes / 1024
    ));
    eprintln!("xtask: both runs took {:.1?}", begun.elapsed());
    Ok(())
}

/// What a shell would show.
fn code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Runs the job without Invivo and kills the same rank: the status must be the same.
fn bare(demo: &Demo) -> Result<ExitStatus> {
    let mut launch = Command::new("mpiexec.openmpi");
    launch.args("--oversubscribe -n 4 lmp -in in.melt".split(' '));
    crate::run::allow_root(&mut launch);
    launch
        .current_dir(&demo.folder)
        .stdin(Stdio::null())
        .stdout(File::create(demo.folder.join("bare.out"))?)
        .stderr(File::create(demo.folder.join("bare.err"))?);

    let mut job = launch.spawn().context("starting mpiexec")?;
    let killed = kill_later(demo, &mut job);
    let status = wait(&mut job, END_MAX);
    // The job is waited for also where the kill failed.
    killed?;
    status
}

/// Runs the job under Invivo; the status, and the time from the kill to the line about it.
fn observed(demo: &Demo) -> Result<(ExitStatus, Duration)> {
    let words = "run --report report.txt -- mpiexec.openmpi --oversubscribe -n 4 lmp -in in.melt";
    let mut launch = demo.invivo(&words.split(' ').collect::<Vec<_>>());
    launch
        .stdin(Stdio::null())
        .stdout(File::create(demo.folder.join("lammps.out"))?)
        .stderr(File::create(demo.folder.join("lammps.err"))?);

    let mut job = launch.spawn().context("starting invivo run")?;
    let answers = wait_until_it_answers(demo, &mut job);
    if answers.is_err() {
        // Ours to end: nothing of a failed demonstration stays behind.
        let _ = job.kill();
    }

    answers.and_then(|()| kill_later(demo, &mut job))?;
    // The line is awaited while the job may still be ending.
    let begun = Instant::now();
    while line(demo)?.is_none() && job.try_wait()?.is_none() && begun.elapsed() < END_MAX {
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = begun.elapsed();
    Ok((wait(&mut job, END_MAX)?, took))
}

/// The one line that Invivo leaves in every job's output, once it is there.
fn line(demo: &Demo) -> Result<Option<String>> {
    let said = std::fs::read_to_string(demo.folder.join("lammps.err"))?;
    let mut lines = said.split_inclusive('\n');
    // Only a whole line: it may be read while it is written.
    let line = lines.find(|line| line.starts_with("invivo: job ") && line.ends_with('\n'));
    Ok(line.map(|line| line.trim_end().to_owned()))
}

/// The picture in the report.
fn picture(demo: &Demo) -> Result<String> {
    let report = std::fs::read_to_string(demo.folder.join("report.txt"))?;
    let lines = report.lines().skip_while(|line| *line != PICTURE).skip(1);
    let picture: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    ensure!(!picture.is_empty(), "the report has no picture:\n{report}");
    Ok(picture.join("\n") + "\n")
}

/// Kills the victim after a while; the job itself if there is none.
fn kill_later(demo: &Demo, job: &mut Child) -> Result<()> {
    let begun = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(100));
        // Polls instead of sleeping: a job that ends early is reported at once.
        if begun.elapsed() < BEFORE {
            continue;
        }
        if let Some(process) = victim(&demo.folder)? {
            println!("$ kill -9 {process}");
            return crate::run::check(Command::new("kill").args(["-9", &process.to_string()]));
        }
        if let Some(status) = job.try_wait()? {
            bail!("the job ended with {status} before a rank could be killed");
        }
        if begun.elapsed() > START_MAX {
            job.kill()?;
            bail!("no rank {VICTIM} was found");
        }
    }
}

/// The process of the victim: that of LAMMPS with its number, in the folder of the demonstration.
fn victim(folder: &Path) -> Result<Option<u32>> {
    let wanted = format!("OMPI_COMM_WORLD_RANK={VICTIM}");
    for entry in std::fs::read_dir("/proc")? {
        let path: PathBuf = entry?.path();
        let Some(number) = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok())
        else {
            continue;
        };

        let read = |name: &str| std::fs::read(path.join(name)).unwrap_or_default();
        // All three: other jobs of this machine may have the same rank number or the same program.
        let is_lammps = read("comm").trim_ascii() == b"lmp";
        let is_here = std::fs::read_link(path.join("cwd")).is_ok_and(|there| there == folder);
        let environment = read("environ");
        let mut variables = environment.split(|byte| *byte == 0);
        if is_lammps && is_here && variables.any(|one| one == wanted.as_bytes()) {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_told_as_a_shell_does() {
        assert_eq!(code(ExitStatus::from_raw(9)), 137);
        assert_eq!(code(ExitStatus::from_raw(3 << 8)), 3);
    }

    #[test]
    fn nobody_is_the_victim_where_nobody_runs() {
        assert!(matches!(victim(Path::new("/nowhere")), Ok(None)));
    }
}
