//! `invivo exec`: the program that a launcher starts for every process of the job. It finds its
//! position in the world and takes its role.

use crate::command_line::launcher_options;
use crate::job::artefacts::Artefacts;
use crate::job::environment::{self, Environment, Family, Numbers, World};
use crate::job::job_id::Job;
use crate::job::job_options::{JobArgs, JobOptions, Switch};
use crate::job::node_share::{self, NodeShare, Part};
use crate::job::placement::{self, HostsError, Placement};
use crate::job::preflight;
use crate::job::slurm_fence;
use crate::job::spread::Spread;
use crate::mpi::library::{self, Library};
use crate::mpi::preload::Preload;
use crate::mpi::program;
use crate::mpi::shim_copy::shim_for;
use crate::output::{say, say_for_all};
use crate::process::child::{self, Ended};
use crate::process::signals::Signals;
use crate::rank::assignment::RankAssignment;
use crate::rank::shared_memory::{RankIdentity, StartState};
use crate::rank::supervisor::supervise;
use crate::root::assignment::RootAssignment;
use crate::root::supervisor as root_supervisor;
use crate::tool::command::{loaded, tool_on};
use crate::tool::process_proxy::continue_behind_proxy;
use crate::tool::startup_barrier::{Stage, StartupBarrier, poll_interval};
use crate::tool::{processors, test_hooks, tool_supervisor};
use clap::Args;
use invivo_proto::ids::{Rank, WorldRank};
use invivo_tbon::layout::Plan;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// The variable that names the MPI library of a program that loads it late, where the likely one is
/// wrong.
const MPI: &str = "INVIVO_MPI";

/// Start one process of a job under Invivo; the launcher's total counts application ranks and tool
/// processes.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  mpiexec -n 5 invivo exec -- ./app        4 ranks and 1 tool process (see invivo plan)
  mpiexec -n 9 invivo exec --app 6 -- ./app          6 ranks, 2 tool places, 1 root
  mpiexec -n 5 invivo exec --report report.json -- ./app

The last process of each node becomes the tool (with --fan-in: the last ones); the application sees
a world without them.")]
pub struct ExecArgs {
    #[command(flatten)]
    job: JobArgs,
    /// Ranks of the application, where the total alone does not say it.
    #[arg(long, value_name = "N")]
    app: Option<u32>,
    /// What the job is called; `invivo run` says so.
    #[arg(long = "job", value_name = "ID", hide = true)]
    called: Option<String>,
    /// Ranks that the user has asked for; `invivo run` says so.
    #[arg(long, hide = true)]
    ranks: Option<u32>,
    /// Where Slurm's processes are to be; `invivo run` says so.
    #[arg(long, hide = true)]
    spread: Option<Spread>,
    /// A terminal waits for the report; `invivo run` says so.
    #[arg(long, hide = true)]
    terminal: bool,
    /// The application with its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Runs one process of the job. For the application's ranks it does not return: the process leaves
/// as the application left.
pub fn exec(args: ExecArgs) -> ExitCode {
    let environment: Environment = std::env::vars_os().collect();
    let world = match environment::world(&environment) {
        Ok(world) => world,
        Err(error) => {
            // Tasks without an MPI environment have no rank, but Slurm numbers them.
            let speaks = environment
                .get(OsStr::new("SLURM_PROCID"))
                .is_none_or(|number| number == "0");
            say_for_all(
                speaks,
                &wrong_side(&args.program).unwrap_or_else(|| error.to_string()),
            );
            return ExitCode::from(2);
        }
    };
    match start(args, environment, world) {
        Ok(never) => match never {},
        Err(Refusal { why, alone }) => {
            say_for_all(alone || world.speaks(), &why);
            // Hydra waits for the others where one process leaves before MPI, however it leaves but
            // by a signal; they would wait for it in `MPI_Init`.
            if alone && world.family != Family::Ompi {
                child::leave_as(Ended::Signal(libc::SIGTERM));
            }
            ExitCode::from(2)
        }
    }
}

/// Why a process takes no part in the job.
struct Refusal {
    why: String,
    /// Others do not see it, and go on.
    alone: bool,
}

impl From<String> for Refusal {
    fn from(why: String) -> Refusal {
        Refusal { why, alone: false }
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
    launcher_options::is_launcher(program.first()?).then(|| {
        format!(
            "`invivo exec` stands behind the launcher, not before it; type: invivo run -- {}",
            line()
        )
    })
}

fn start(args: ExecArgs, environment: Environment, world: World) -> Result<Infallible, Refusal> {
    let options = args.job.resolve()?;
    let request = options.tree_request(args.app);
    // Slurm tells every process what all nodes have: none begins a job that others refuse.
    let unfit = match placement::is_planned(&world, request) {
        _ if !world.by_srun => None,
        true => environment::unequal_nodes(&environment),
        false => environment::has_node_of_one(&environment)
            .then(|| HostsError::NoRoom { size: world.size }.to_string()),
    };
    let elsewhere = || args.spread?.differs(&environment);
    if let Some(why) = unfit.or_else(elsewhere) {
        return Err(why.into());
    }
    let placement = placement::placement(&world, request);
    let placement = placement.map_err(|error| Refusal {
        alone: matches!(error, HostsError::NoRoom { .. }),
        why: error.to_string(),
    })?;
    let artefacts = Artefacts::of_this_program().map_err(|error| error.to_string())?;
    let library = library(&args.program, &environment, &world)?;
    let name = args.program.first().map_or(OsStr::new(""), |name| name);
    let path = environment::search_path(&environment);
    if program::find(name, path).is_some_and(|file| program::has_mpi_inside(&file)) {
        return Err(program::static_mpi(name).into());
    }
    // Elsewhere rank 0 warns. Under srun each task would be a job of its own and end well.
    let foreign = foreign(&library, &world, &environment);
    if foreign && world.by_srun {
        return Err(singletons(name, &library).into());
    }

    preflight::addresses()?;
    artefacts
        .check(library.family)
        .map_err(|error| error.to_string())?;
    if let (true, Some((_, here)), false) = (world.speaks(), world.local, *options.config.quiet)
        && let Some(warning) = preflight::shared_memory(here)
    {
        say(&warning);
    }

    let job = Job::of_this_process(args.called.as_deref());
    let (part, share) = match placement {
        Placement::Planned(_) => node_share::part(&world, placement, None, |_| None)?,
        Placement::OnNode { .. } => {
            let notes = StartupBarrier::new(&runtime_dir(&job)?, 0);
            notes.is_here(world.rank);
            let parent = std::os::unix::process::parent_id();
            let gather = |processes| notes.gather(processes, parent);
            let part = node_share::part(&world, placement, args.ranks, gather);
            // Where all know how many nodes there are, all refuse for that.
            let alone = world.nodes.is_none();
            part.map_err(|why| Refusal { why, alone })?
        }
    };
    // Where the launcher does not give the processes of this node, their notes cannot be counted.
    let barrier = match world.local {
        Some(_) => Some(StartupBarrier::new(&runtime_dir(&job)?, share.ranks)),
        None => None,
    };
    let process = Process {
        options,
        share,
        fence: slurm_fence::advice(&environment, &world),
        world,
        artefacts,
        library,
        foreign,
        job,
        barrier,
    };
    if matches!(part, Part::Tool { .. }) {
        invivo_jobdir::remove_orphans(&runtime_dir(&process.job)?);
    }
    Ok(match part {
        Part::Rank { planned, numbers } => {
            process.rank(planned, numbers, args.program, environment)
        }
        Part::Tool {
            plan,
            is_root: true,
            is_alone,
        } => process.root(plan, is_alone, &args.program, args.terminal),
        Part::Tool { plan, .. } => process.tool(&plan),
    }?)
}

/// The directory of the job's sockets, which nobody takes for an orphan while this process lives.
fn runtime_dir(job: &Job) -> Result<PathBuf, String> {
    let dir = job.runtime_dir().map_err(|error| error.to_string())?;
    invivo_jobdir::hold_runtime_dir(&dir);
    Ok(dir)
}

/// What every process of the job knows before it takes its role.
struct Process {
    options: JobOptions,
    /// What of the job is on this node.
    share: NodeShare,
    world: World,
    artefacts: Artefacts,
    /// The MPI that the program will load, as far as that can be told before.
    library: Library,
    /// The program is of another MPI than the launcher: each of its processes is a world of its
    /// own.
    foreign: bool,
    job: Job,
    /// How to wait for the application; nothing where it cannot be told.
    barrier: Option<StartupBarrier>,
    /// What to say of a tool process that dies in `MPI_Init`, where Slurm's fence may be why.
    fence: Option<String>,
}

impl Process {
    fn rank(
        self,
        planned: Option<(Rank, WorldRank)>,
        numbers: Numbers,
        program: Vec<OsString>,
        environment: Environment,
    ) -> Result<Infallible, String> {
        if self.world.rank == 0 && self.foreign {
            let name = program.first().map_or(OsStr::new(""), |name| name);
            warn_of_mismatch(name, &self.library, self.world);
        }
        if let Some(barrier) = &self.barrier {
            processors::note(barrier, self.world.rank);
        }
        let preload = (!self.foreign).then(|| {
            let shim = self.artefacts.shim(self.library.family);
            let shim = shim_for(&shim, &self.library.file, || {
                invivo_jobdir::preload_dir().ok()
            });
            let path = environment::search_path(&environment);
            let file = program.first().and_then(|name| program::find(name, path));
            let first = file.and_then(|file| library::comes_first(&file, &environment));
            Preload { shim, first }
        });
        let assignment = RankAssignment {
            identity: match planned {
                Some((rank, place)) => RankIdentity {
                    rank: rank.0,
                    ranks: numbers.ranks,
                    place: place.0,
                },
                None => RankIdentity::to_be_found(self.world.rank),
            },
            start_state: StartState {
                held: self.options.hold_lease_ns() > 0,
                recording: self.options.recording == Switch::On,
                back_pressure: *self.options.config.back_pressure,
                rules: self.options.config.selection.rules.clone(),
            },
            numbers,
            world: self.world,
            launcher: self.job.launcher(),
            environment,
            program,
            preload,
            barrier: self.barrier,
        };
        child::leave_as(supervise(&assignment, let_go_of_standard_streams))
    }

    fn root(
        self,
        plan: Plan,
        is_alone: bool,
        program: &[OsString],
        terminal: bool,
    ) -> Result<Infallible, String> {
        let signals = apart()?;
        let command = program
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        let assignment = RootAssignment {
            others_here: self.share.tools - 1,
            ranks_max: self.world.size,
            plan,
            is_alone,
            artefacts: self.artefacts,
            library: self.library,
            foreign: self.foreign,
            job: self.job,
            barrier: self.barrier,
            options: self.options,
            terminal,
            fence: self.fence,
            command: command.collect(),
        };
        child::leave_as(root_supervisor::supervise(&assignment, signals)?)
    }

    /// Starts a tool process without the root once the application has called MPI.
    fn tool(self, plan: &Plan) -> Result<Infallible, String> {
        let mut command = Command::new(self.artefacts.tool_process(self.library.family));
        let sockets = runtime_dir(&self.job)?;
        command.arg("--runtime-dir").arg(&sockets);
        test_hooks::add(&mut command);
        command.arg("--layout").arg(plan.to_string());
        let is_last_tool = self.share.is_last_tool;
        // While it waits, signals to the application must not end it; those that ask for the end
        // act later.
        let signals = apart()?;
        let parent = std::os::unix::process::parent_id();
        if let Some(barrier) = &self.barrier
            && wait_for_ranks(barrier, parent) == Stage::Over
        {
            barrier.left(self.world.rank);
            if is_last_tool {
                barrier.close(self.share.tools, parent);
            }
            child::leave_as(Ended::Code(0));
        }
        let cannot = |error: std::io::Error| format!("cannot start the tool process: {error}");
        processors::step_aside(
            self.job.launcher(),
            self.barrier.as_ref(),
            processors::NOTES_WITHIN,
        );
        tool_on(&mut command, &loaded(self.barrier.as_ref(), self.library));
        let fence = self.fence.filter(|_| !*self.options.config.quiet);
        let supervised = tool_supervisor::supervise(command, sockets, is_last_tool, fence, signals);
        child::leave_as(supervised.map_err(cannot)?)
    }
}

/// Blocks the signals of a process that becomes a tool, and goes on behind a process proxy.
fn apart() -> Result<Signals, String> {
    let signals = Signals::take().map_err(|error| format!("no descriptor for signals: {error}"))?;
    continue_behind_proxy(&signals);
    Ok(signals)
}

/// Waits until a rank is in `MPI_Init`, or none can be any more.
fn wait_for_ranks(barrier: &StartupBarrier, parent: u32) -> Stage {
    let since = Instant::now();
    loop {
        match barrier.stage() {
            // A launcher that was killed would leave us here for ever.
            Stage::Waiting if std::os::unix::process::parent_id() == parent => {
                std::thread::sleep(poll_interval(since))
            }
            Stage::Waiting => return Stage::Over,
            stage => return stage,
        }
    }
}

/// Replaces our standard input and output by `/dev/null`: when the application closes its own, the
/// other end of the pipe should notice.
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

/// The program's MPI library: the one that the user names, else the one that it is linked with,
/// else the one that it will find when it loads MPI late, else any of the launcher's family.
fn library(
    program: &[OsString],
    environment: &Environment,
    world: &World,
) -> Result<Library, String> {
    if let Some(named) = environment
        .get(OsStr::new(MPI))
        .filter(|name| !name.is_empty())
    {
        return library::named(Path::new(named));
    }
    let path = environment::search_path(environment);
    let file = program.first().and_then(|name| program::find(name, path));
    Ok(file
        .as_ref()
        .and_then(|file| library::of_program(file, environment))
        .or_else(|| library::expected(file.as_deref(), world.family, environment))
        .unwrap_or_else(|| Library::anywhere(world.family)))
}

/// Whether the launcher speaks another protocol than the program's MPI, unless the user has said
/// which MPI it is.
fn foreign(library: &Library, world: &World, environment: &Environment) -> bool {
    let said = environment
        .get(OsStr::new(MPI))
        .is_some_and(|name| !name.is_empty());
    !said && library.family.launched_by() != world.family
}

/// MPI itself breaks when launcher and program are of different families; the user should know why.
fn warn_of_mismatch(program: &OsStr, library: &Library, world: World) {
    let launched_by = library.family.launched_by();
    say(&format!(
        "{} was built for {}, but the launcher is {}'s: every process is a world of its own, and \
         nothing is observed; \
         use the launcher of {}",
        program.display(),
        launched_by.title(),
        world.family.title(),
        launched_by.title(),
    ));
}

/// Slurm starts such processes without a word, and each ends well.
fn singletons(program: &OsStr, library: &Library) -> String {
    let family = library.family.launched_by();
    format!(
        "{} was built for {}, and srun speaks another protocol to it: every task would be a world \
         of its own; type \
         srun --mpi={}",
        program.display(),
        family.title(),
        slurm_protocol(family),
    )
}

/// The value of `srun --mpi` for an MPI.
fn slurm_protocol(family: Family) -> &'static str {
    match family {
        Family::Ompi => "pmix",
        Family::Mpich | Family::Abi => "pmi2",
    }
}
