//! `invivo exec`: what every process of the job starts as. It finds its place in the world and takes its role.

use super::artefacts::Artefacts;
use super::child::{self, Ended};
use super::environment::{self, Environment, World};
use super::job::Job;
use super::memory::Identity;
use super::opening::{Opening, Stage, look_again};
use super::signals::{Signals, for_tools};
use super::supervisor::{Assignment, supervise};
use super::{launcher, program, root, say, size};
use clap::Args;
use invivo_tbon::layout::{FAN_IN_DEFAULT, Layout, Role};
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Start one process of a job under Invivo; the launcher's total counts application ranks and tool processes.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  mpiexec -n 6 invivo exec -- ./app        4 ranks, 1 tool place, 1 root (see invivo plan)
  mpiexec -n 9 invivo exec --app 6 -- ./app
  mpiexec -n 6 invivo exec --report report.json -- ./app

The last processes become the tools; the application sees a world without them.")]
pub struct ExecArgs {
    #[command(flatten)]
    pub(super) tool: ToolArgs,
    /// Ranks of the application, where the total alone does not say it.
    #[arg(long, value_name = "N")]
    pub(super) app: Option<u32>,
    /// The application with its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(super) program: Vec<OsString>,
}

/// Options of the tool itself: of `invivo run` and `invivo exec` alike.
#[derive(Args, Clone, Debug)]
pub struct ToolArgs {
    /// Write the report at the end of the job: text, or JSON when the name ends in .json.
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// Print nothing: neither the report nor the line at the end.
    #[arg(long)]
    pub(super) quiet: bool,
    /// Ranks that one tool place takes.
    #[arg(long, value_name = "F", default_value_t = FAN_IN_DEFAULT)]
    pub(super) fan_in: u32,
    /// Memory for the records of one location (a thread of a rank); the oldest give way when it is full.
    #[arg(long, value_name = "SIZE", default_value = BUFFER_DEFAULT, value_parser = size::bytes)]
    pub(super) buffer: u64,
    /// Memory for all buffers of one tool place. Unless given: a buffer for each of its ranks, four times over,
    /// for ranks with threads.
    #[arg(long, value_name = "SIZE", value_parser = size::bytes)]
    pub(super) budget: Option<u64>,
}

/// Memory of one location unless another size is asked for.
pub(super) const BUFFER_DEFAULT: &str = "16MiB";
/// Locations per rank that the budget of a place has room for unless another one is asked for.
const LOCATIONS_PER_RANK: u64 = 4;

impl ToolArgs {
    /// Memory for all buffers of a place.
    pub(super) fn budget(&self) -> u64 {
        let buffers = u64::from(self.fan_in).saturating_mul(LOCATIONS_PER_RANK);
        self.budget.unwrap_or(self.buffer.saturating_mul(buffers))
    }
}

/// Does it. For the application's ranks it does not return: the process leaves as the application left.
pub fn exec(args: ExecArgs) -> ExitCode {
    let environment: Environment = std::env::vars_os().collect();
    let world = match environment::world(&environment) {
        Ok(world) => world,
        Err(error) => {
            // Singletons do not know of each other, but Slurm numbers them.
            if environment
                .get(OsStr::new("SLURM_PROCID"))
                .is_none_or(|number| number == "0")
            {
                say(&wrong_side(&args.program).unwrap_or_else(|| error.to_string()));
            }
            return ExitCode::from(2);
        }
    };
    match start(args, environment, world) {
        Ok(never) => match never {},
        Err(why) => {
            if world.speaks() {
                say(&why);
            }
            ExitCode::from(2)
        }
    }
}

/// The corrected line, when the program is itself a launcher.
fn wrong_side(program: &[OsString]) -> Option<String> {
    let line = || {
        program
            .iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    };
    launcher::is_launcher(program.first()?).then(|| {
        format!(
            "`invivo exec` stands behind the launcher, not before it; type: invivo run -- {}",
            line()
        )
    })
}

fn start(args: ExecArgs, environment: Environment, world: World) -> Result<Infallible, String> {
    let layout =
        Layout::of_total(world.size, args.tool.fan_in, args.app).map_err(|error| error.to_string())?;
    let role = layout
        .role(invivo_proto::ids::WorldRank(world.rank))
        .ok_or("the layout has no such process")?;
    let artefacts = Artefacts::of_this_program().map_err(|error| error.to_string())?;
    artefacts.check(world.family).map_err(|error| error.to_string())?;
    let job = Job::of_this_process();
    match role {
        Role::Application(rank) => {
            if rank.0 == 0 {
                warn_of_mismatch(&args.program, &environment, world);
            }
            let place = layout.place_of(rank).0;
            let opening = match world.one_node() {
                true => Some(Opening::new(
                    &job.runtime_dir().map_err(|error| error.to_string())?,
                    layout.app(),
                )),
                false => None,
            };
            let assignment = Assignment {
                identity: Identity {
                    rank: rank.0,
                    ranks: layout.app(),
                    place,
                },
                world,
                environment,
                program: args.program,
                shim: artefacts.shim(world.family),
                opening,
            };
            child::leave_as(supervise(&assignment, let_go_of_standard_streams))
        }
        Role::Place { index } => {
            let dir = job.runtime_dir().map_err(|error| error.to_string())?;
            // While it waits, signals to the application must not end it; those that ask for the end act later.
            let signals = Signals::take().map_err(|error| format!("no descriptor for signals: {error}"))?;
            if world.one_node() {
                let opening = Opening::new(&dir, layout.app());
                if wait_for_ranks(&opening) == Stage::Over {
                    opening.left(index);
                    child::leave_as(Ended::Code(0));
                }
            }
            let mut command = Command::new(artefacts.tool_place(world.family));
            command.arg("--app").arg(layout.app().to_string());
            command.arg("--fan-in").arg(layout.fan_in().to_string());
            command.arg("--runtime-dir").arg(dir);
            tool(&mut command);
            let error = child::become_program(command, for_tools(signals.mask_before));
            Err(format!("cannot start the tool place: {error}"))
        }
        Role::Root => {
            let command = args
                .program
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            let assignment = root::Assignment {
                layout,
                world,
                artefacts,
                job,
                tool: args.tool,
                command,
            };
            child::leave_as(root::supervise(&assignment)?)
        }
        Role::Node { .. } => Err("this version runs no analysis nodes but the root".to_owned()),
    }
}

/// Waits until a rank is in `MPI_Init`, or none can be any more.
fn wait_for_ranks(opening: &Opening) -> Stage {
    let since = Instant::now();
    let launcher = std::os::unix::process::parent_id();
    loop {
        match opening.stage() {
            // A launcher that was killed would leave us here for ever.
            Stage::Waiting if std::os::unix::process::parent_id() == launcher => {
                std::thread::sleep(look_again(since))
            }
            Stage::Waiting => return Stage::Over,
            stage => return stage,
        }
    }
}

/// When the application closes its input or output, whoever is at the other end should notice.
fn let_go_of_standard_streams() {
    // Where there is no /dev/null, the streams stay open a little longer than without us.
    if let Ok(null) = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
    {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}

/// What holds for every tool process: it must not be observed by what the user preloads for the application.
pub(super) fn tool(command: &mut Command) -> &mut Command {
    command
        .env_remove(environment::PRELOAD)
        .env_remove(invivo_proto::channel::ENV_DESCRIPTORS)
}

/// MPI itself breaks when launcher and program are of different families; the user should know why.
fn warn_of_mismatch(command: &[OsString], environment: &Environment, world: World) {
    let path = environment.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let Some(file) = command.first().and_then(|name| program::find(name, path)) else {
        return;
    };
    if let Some(family) = program::family(&file).filter(|family| *family != world.family) {
        say(&format!(
            "{} was built for {}, but the launcher is {}'s; use the launcher of {}",
            file.display(),
            family.title(),
            world.family.title(),
            family.title(),
        ));
    }
}
