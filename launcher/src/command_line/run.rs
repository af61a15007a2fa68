//! `invivo run`: puts Invivo into a launcher's command line and becomes the launcher, so that its
//! exit status, its signals and its terminal are exactly what they would be.

use crate::command_line::binding;
use crate::command_line::launcher_options::{Line, LineError, is_launcher, read};
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
use invivo_tbon::layout::{Layout, Policy};
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::ExitCode;

/// Run an MPI program under Invivo; -n counts the application's ranks, the tool processes are
/// added.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  invivo run -- mpiexec -n 4 ./app
  invivo run --report report.json -- mpirun -np 8 --oversubscribe ./app input
  invivo run --hold -- mpiexec -n 4 ./app         stands right behind MPI_Init until invivo resume
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
    let resolved = args
        .line
        .first()
        .and_then(|name| program::find(name, path)?.canonicalize().ok());
    let read = |words: &[OsString]| {
        read(words, resolved.as_deref()).map_err(|error| usage(explain(&error, words)))
    };
    let line = read(&args.line)?;
    if line
        .programs(&args.line)
        .any(|program| is_ours(&program[0]))
    {
        return Err(usage(
            "the line has `invivo` in it already; type it without `invivo exec`, or leave `invivo \
             run --` away"
                .to_owned(),
        ));
    }

    // It cannot be observed, and would count the tool processes as ranks: it runs without us.
    if let Some(name) = with_mpi_inside(&line, &args.line, path) {
        say(&program::static_mpi(name));
        return Err(become_launcher(&args.line));
    }
    let options = args.job.resolve().map_err(usage)?;
    let policy = match options.nodes {
        Some(hosts) if hosts > 1 => Policy::PerNode { hosts },
        _ => Policy::Tail,
    };
    if line.parts.len() > 1 && policy != Policy::Tail {
        return Err(usage(explain(&LineError::SeveralPrograms, &args.line)));
    }

    let layout = Layout::for_app(line.ranks(), *options.config.fan_in, policy)
        .map_err(|error| usage(error.to_string()))?;
    let tools = layout.total() - layout.app();
    let mut words = args.line.clone();
    if policy == Policy::Tail {
        let kept = binding::kept(
            &line,
            resolved.as_deref(),
            tools,
            cores().unwrap_or(0),
            environment,
        );
        words.splice(1..1, kept);
    }
    // Read again: the positions of count and program have moved.
    let placed = read(&words)?;
    let invivo = std::env::current_exe()
        .map_err(|error| (1, format!("cannot find this program: {error}")))?;
    if args.dry_run {
        let inserted = inserted(&invivo, &options, &[]);
        println!("{}", quoted(&placed.extended(&words, tools, &inserted)));
        return Ok(());
    }

    // Better here than in every process of the job.
    if let Some(family) = line.flavour.family() {
        let artefacts = Artefacts::of_this_program().map_err(|error| (1, error.to_string()))?;
        artefacts
            .check(family)
            .map_err(|error| (1, error.to_string()))?;
    }
    if !*options.config.quiet {
        start_message::print(&line, &args.line, &layout, environment);
    }
    let inserted = inserted(&invivo, &options, &of_this_run(environment));
    let real = placed.extended(&words, tools, &inserted);
    Err(become_launcher(&real))
}

/// Becomes the launcher. Returns why that is not possible.
fn become_launcher(line: &[OsString]) -> (u8, String) {
    let error = child::become_program(child::command(line), signals::mask());
    let (code, what) = child::failure(&error);
    let name = line[0].to_string_lossy();
    (
        code as u8,
        format!("cannot start {name}: {what} ({error}); is an MPI installed and in PATH?"),
    )
}

/// The first program of the line that has its MPI linked into itself.
fn with_mpi_inside<'a>(
    line: &Line,
    words: &'a [OsString],
    path: Option<&OsStr>,
) -> Option<&'a OsStr> {
    let names = line.programs(words).filter_map(|program| program.first());
    names
        .map(OsString::as_os_str)
        .find(|name| program::find(name, path).is_some_and(|file| program::has_mpi_inside(&file)))
}

/// The options of this run alone. Not by variables: launchers pass few of them on to other nodes.
fn of_this_run(environment: &Environment) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
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

/// The corrected line for `mpiexec -n 4 invivo run ./app`.
fn wrong_side(line: &[OsString], processes: u32) -> String {
    let corrected = if line.first().is_some_and(|first| is_launcher(first)) {
        quoted(line)
    } else {
        format!("mpiexec -n {processes} {}", quoted(line))
    };
    format!(
        "`invivo run` stands before the launcher, not behind it; type: invivo run -- {corrected}"
    )
}

fn is_ours(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("invivo"))
}

/// What is wrong with a line, and what to type.
fn explain(error: &LineError, args: &[OsString]) -> String {
    let launcher = args
        .first()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let by_hand = "by hand: take the total from `invivo plan -n N` and put `invivo exec --` before \
        the program";
    match error {
        LineError::NotALauncher { launcher: true } => {
            format!("`invivo run` does not read the options of {launcher} yet; {by_hand}")
        }
        LineError::NotALauncher { launcher: false } => {
            format!(
                "{launcher} is no MPI launcher; type: invivo run -- mpiexec -n 4 {}",
                quoted(args)
            )
        }
        LineError::NoCount => format!(
            "nothing says how many ranks to start; type for example: invivo run -- {} -n 4 {}",
            launcher,
            quoted(&args[1..]),
        ),
        LineError::BadCount(text) => {
            format!("{text:?} is no number of ranks; give 1 or more, as in -n 4")
        }
        LineError::TwoCounts => "the number of ranks is given twice; give it once".to_owned(),
        LineError::UnknownOption(option) => format!(
            "whether a value follows {option} is not known, so neither is where the program \
             begins; {by_hand}"
        ),
        LineError::NoValue(option) => format!("a value is missing behind {option}"),
        LineError::NoProgram => {
            format!(
                "there is no program on the line; type for example: invivo run -- {launcher} -n 4 \
                 ./app"
            )
        }
        LineError::ProgramFile(option) => {
            format!(
                "{option} takes the programs from a file, where nothing can be put before them; \
                 name the program"
            )
        }
        LineError::SeveralPrograms => {
            format!(
                "several programs in one job (`:`) are read for mpiexec on one node only; {by_hand}"
            )
        }
    }
}

/// A line that can be pasted into a shell.
fn quoted(words: &[OsString]) -> String {
    let quote = |word: &OsString| {
        let quoted = shlex::bytes::try_quote(word.as_bytes()).map(|quoted| quoted.into_owned());
        // Only a zero byte cannot be quoted, and no argument has one.
        OsString::from_vec(quoted.unwrap_or_else(|_| word.as_bytes().to_vec()))
            .to_string_lossy()
            .into_owned()
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
