//! `cargo xtask demo`: starts a job, looks at it from a second terminal, pauses and resumes it.

use super::example::{Demo, wait, wait_until_it_answers};
use crate::run::{check, dist};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// The whole run: some 15 s on two cores.
const RUN_MAX: Duration = Duration::from_secs(300);

/// Runs it; the tree must have been built.
pub fn run() -> Result<()> {
    let demo = Demo::prepare()?;
    demo.say(
        "A real, unmodified program: LAMMPS as Debian ships it, on four ranks, with 10,000 steps \
         of its melt example.",
    );
    demo.say("Invivo adds one process (tool place and root) that LAMMPS cannot see.");
    let mut job = start(&demo)?;

    let shown = show(&demo, &mut job);
    if shown.is_err() {
        // Ours to end: nothing of a failed demonstration stays behind.
        let _ = job.kill();
    }
    shown.and(finish(&demo, &mut job))
}

fn start(demo: &Demo) -> Result<Child> {
    demo.say("Terminal 1 (its output goes to target/demo/lammps.out):");
    let line = "run --report report.txt -- mpiexec.openmpi --oversubscribe -n 4 lmp -in in.melt";
    let mut launch = demo.invivo(&line.split(' ').collect::<Vec<_>>());
    launch
        .stdin(Stdio::null())
        .stdout(File::create(demo.folder.join("lammps.out"))?);
    let child = launch.spawn().context("starting invivo run")?;
    Ok(child)
}

fn show(demo: &Demo, job: &mut Child) -> Result<()> {
    wait_until_it_answers(demo, job)?;
    demo.say("Terminal 2: which jobs are running, and what the ranks are doing.");
    check(&mut demo.invivo(&["list"]))?;
    check(&mut demo.invivo(&["status"]))?;
    demo.say("The same, live.");
    check(&mut demo.invivo(&["watch", "--count", "3"]))?;
    demo.say("Where the time in MPI goes.");
    check(&mut demo.invivo(&["functions"]))?;
    demo.say("The application stands still ...");
    check(&mut demo.invivo(&["pause"]))?;
    println!("$ sleep 2");
    std::thread::sleep(Duration::from_secs(2));
    check(&mut demo.invivo(&["watch", "--count", "1"]))?;
    demo.say("... and goes on as if nothing had happened.");
    check(&mut demo.invivo(&["resume"]))?;
    demo.say("Who sends how much to whom.");
    check(&mut demo.invivo(&["matrix"]))
}

fn finish(demo: &Demo, job: &mut Child) -> Result<()> {
    demo.say("Terminal 1: LAMMPS runs to its end ...");
    let status = wait(job, RUN_MAX)?;
    if !status.success() {
        bail!("the job ended with {status}; see target/demo/lammps.out");
    }

    let output = std::fs::read_to_string(demo.folder.join("lammps.out"))?;
    let end = output.lines().find(|line| line.starts_with("Loop time"));
    println!(
        "{}",
        end.context("LAMMPS did not finish its loop; see target/demo/lammps.out")?
    );

    demo.say("... and Invivo leaves a page.");
    println!("$ cat report.txt");
    print!(
        "{}",
        std::fs::read_to_string(demo.folder.join("report.txt")).context("the report")?
    );
    demo.say(
        "That was it. With this tree in your PATH, put `invivo run --` before your own mpiexec \
         line:",
    );
    println!("export PATH={}:$PATH", shorten(&dist().join("bin")));
    Ok(())
}

fn shorten(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).map_or_else(
        |_| path.display().to_string(),
        |rest| format!("$PWD/{}", rest.display()),
    )
}
