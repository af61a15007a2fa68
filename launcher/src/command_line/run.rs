//! `invivo run`: puts Invivo into a launcher's command line and becomes the launcher, so that its
//! exit status, its signals and its terminal are exactly what they would be.

use crate::command_line::advice::wrong_side;
use crate::command_line::insertion::{
    Prepared, Surroundings, names_of_programs, prepare, resolved,
};
use crate::command_line::launcher_options;
use crate::command_line::machine::cores;
use crate::command_line::start_message;
use crate::job::artefacts::Artefacts;
use crate::job::environment::{self, Environment};
use crate::job::job_id::{ENV_JOB, fresh_id};
use crate::job::job_options::{JobArgs, JobOptions};
use crate::mpi::program;
use crate::output::{say, say_for_all};
use crate::process::child;
use crate::process::signals;
use clap::Args;
use rustix::fs::MemfdFlags;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Run an MPI program under Invivo; -n counts the application's ranks, the tool processes are
/// added.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  invivo run -- mpiexec -n 4 ./app
  invivo run --report report.json -- mpirun -np 8 --oversubscribe ./app input
  invivo run --hold -- mpiexec -n 4 ./app         stands right behind MPI_Init until invivo resume
  invivo run -- srun -N 4 --ntasks-per-node=32 ./app       33 processes on each node
  invivo run -- srun -N 4 -n 8 --multi-prog FILE           several programs, as FILE says
  invivo run --nodes 2 -- mpiexec -n 8 --hostfile hosts ./app      (see invivo plan -n 8 --nodes 2)
  invivo run --dry-run -- mpiexec -n 4 ./app      prints the line that would be run")]
pub struct RunArgs {
    #[command(flatten)]
    job: JobArgs,
    /// Print the launcher's line instead of running it.
    #[arg(long)]
    dry_run: bool,
    /// The launcher's command line, as without Invivo.
    #[arg(required = true, trailing_var_arg = true, value_name = "LAUNCHER")]
    line: Vec<OsString>,
}

/// Becomes the launcher; returns only when that cannot be started, and after `--dry-run`.
pub fn run(args: RunArgs) -> ExitCode {
    let environment: Environment = std::env::vars_os().collect();
    // Typed behind a launcher by mistake, every process would print the same message.
    let world = environment::world(&environment);
    match launch(&args, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, why)) => {
            say_for_all(world.map_or(true, |world| world.speaks()), &why);
            ExitCode::from(code)
        }
    }
}

/// What a shell answers for wrong usage.
const USAGE: u8 = 2;

fn launch(args: &RunArgs, environment: &Environment) -> Result<(), (u8, String)> {
    let usage = |why: String| (USAGE, why);
    if let Ok(world) = environment::world(environment) {
        return Err(usage(wrong_side(&args.line, world.size)));
    }
    let path = environment::search_path(environment);
    let resolved = resolved(&args.line, path);
    let options = args.job.resolve().map_err(usage)?;
    let read_file = |path: &Path| std::fs::read_to_string(path).ok();
    // It cannot be observed, and would count the tool processes as ranks: it runs without us.
    if let Ok(line) = launcher_options::read(&args.line, resolved.as_deref()) {
        let names = names_of_programs(&line, &args.line, &read_file);
        if let Some(name) = names.iter().find(|name| has_mpi_inside(name, path)) {
            say(&program::static_mpi(name));
            return Err(become_launcher(child::command(&args.line)));
        }
    }
    let around = Surroundings {
        environment,
        launcher: resolved.as_deref(),
        cores: cores().unwrap_or(0),
        read_file: &read_file,
    };
    let prepared =
        prepare(&args.line, *options.config.fan_in, options.nodes, &around).map_err(usage)?;
    let options = JobOptions {
        nodes: prepared.nodes,
        ..options
    };
    let invivo = std::env::current_exe()
        .map_err(|error| (1, format!("cannot find this program: {error}")))?;
    if args.dry_run {
        let inserted = inserted(&invivo, &options, &[]);
        println!("{}", prepared.typed(&inserted).map_err(usage)?);
        return Ok(());
    }

    // Better here than in every process of the job.
    if let Some(family) = prepared.line.flavour.family() {
        let artefacts = Artefacts::of_this_program().map_err(|error| (1, error.to_string()))?;
        artefacts
            .check(family)
            .map_err(|error| (1, error.to_string()))?;
    }
    if !*options.config.quiet {
        let Prepared {
            line,
            words,
            layout,
            ..
        } = &prepared;
        start_message::print(line, words, layout, environment);
    }
    // One tool process on each node: on more of them than is known here, ranks would be missing.
    let layout = &prepared.layout;
    let expected = layout.is_one_per_node().then(|| layout.app());
    let mut of_this_run = of_this_run(environment, expected);
    if let Some(spread) = prepared.spread {
        of_this_run.extend(["--spread".into(), spread.to_string().into()]);
    }
    let inserted = inserted(&invivo, &options, &of_this_run);
    let line = match prepared.file(&inserted).map_err(usage)? {
        Some(text) => {
            let file = kept_in_memory(&text);
            let file = file.map_err(|error| (1, format!("no file of programs: {error}")))?;
            prepared.real_with_file(file.as_os_str())
        }
        None => prepared.real(&inserted),
    };
    let mut command = child::command(&line);
    command.envs(prepared.variable);
    Err(become_launcher(command))
}

/// Becomes the launcher. Returns why that is not possible.
fn become_launcher(command: Command) -> (u8, String) {
    let name = command.get_program().to_string_lossy().into_owned();
    let error = child::become_program(command, signals::mask());
    let (code, what) = child::failure(&error);
    (
        code as u8,
        format!("cannot start {name}: {what} ({error}); is an MPI installed and in PATH?"),
    )
}

/// Whether a program has its MPI linked into itself.
fn has_mpi_inside(name: &OsStr, path: Option<&OsStr>) -> bool {
    program::find(name, path).is_some_and(|file| program::has_mpi_inside(&file))
}

/// A file without a place in the file system, for the launcher that this process becomes: nobody
/// has to remove it. `srun` sends the text on to the nodes.
fn kept_in_memory(text: &str) -> std::io::Result<PathBuf> {
    // Not closed at exec.
    let file = rustix::fs::memfd_create("programs", MemfdFlags::empty())?;
    let mut file = File::from(file);
    file.write_all(text.as_bytes())?;
    Ok(format!("/proc/self/fd/{}", file.into_raw_fd()).into())
}

/// The options of this run alone. Not by variables: launchers pass few of them on to other nodes.
fn of_this_run(environment: &Environment, expected: Option<u32>) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    if let Some(ranks) = expected {
        words.extend(["--ranks".into(), ranks.to_string().into()]);
    }
    let named = environment
        .get(OsStr::new(ENV_JOB))
        .filter(|id| !id.is_empty())
        .cloned();
    let in_slurm = environment.contains_key(OsStr::new("SLURM_JOB_ID"));
    // This process becomes the launcher and keeps its number; under Slurm `exec` takes Slurm's id.
    let fresh = || (!in_slurm).then(|| fresh_id(std::process::id() as i32).into());
    if let Some(id) = named.or_else(fresh) {
        words.extend(["--job".into(), id]);
    }
    if std::io::stderr().is_terminal() {
        words.push("--terminal".into());
    }
    words
}

/// What goes before the program.
fn inserted(invivo: &Path, options: &JobOptions, of_this_run: &[OsString]) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![invivo.into(), "exec".into()];
    words.extend(options.to_flags());
    words.extend_from_slice(of_this_run);
    words.push("--".into());
    words
}

#[cfg(test)]
mod tests;
