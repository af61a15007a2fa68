//! The program `analysis-node`: runs the root of the tree or an inner node, as the layout says.
#![deny(unsafe_code)]

use clap::{Parser, ValueEnum};
use invivo_analysis_node::gateway::Gateway;
use invivo_analysis_node::report::Report;
use invivo_analysis_node::roles::{BranchRole, RootRole};
use invivo_analysis_node::root_server::RootServer;
use invivo_analysis_node::watchdog::Watchdog;
use invivo_mpi_link::bell::whereabouts;
use invivo_mpi_link::clock::monotonic_ns;
use invivo_mpi_link::panics::{PanicGuard, report_panics};
use invivo_mpi_link::runtime::{self, Exit};
use invivo_mpi_link::{Link, signals};
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::link::JobDescription;
use invivo_proto::control::strategy::Strategy;
use invivo_proto::control::tree::JobInfo;
use invivo_tbon::layout::Layout;
use invivo_tbon::node::Position;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A node of Invivo's tree above the tool places. Started by `invivo exec`.
#[derive(Parser)]
#[command(name = "analysis-node", version)]
struct Args {
    /// Who is who in the job, such as `8:4,16:tail`.
    #[arg(long)]
    layout: Layout,
    /// Panic when this file appears; for tests.
    #[cfg(feature = "test-hooks")]
    #[arg(long)]
    panic_when: Option<PathBuf>,
    #[command(flatten)]
    root: RootArgs,
}

/// What only the root needs.
#[derive(clap::Args)]
struct RootArgs {
    /// The job's id.
    #[arg(long, default_value = "")]
    job: String,
    /// The binary family of the application's MPI.
    #[arg(long, default_value = "")]
    family: String,
    /// Where to listen for the gateway.
    #[arg(long)]
    link: Option<PathBuf>,
    /// The descriptor on which our supervisor awaits the result.
    #[arg(long)]
    report_fd: Option<i32>,
    /// Bytes of one location's buffer.
    #[arg(long, default_value_t = 0)]
    buffer_bytes: u64,
    /// Bytes of all buffers of one place.
    #[arg(long, default_value_t = 0)]
    budget_bytes: u64,
    /// Hold the ranks right after MPI_Init, for so many nanoseconds at most; 0 does not.
    #[arg(long, default_value_t = 0)]
    hold_ns: u64,
    /// Whether calls are recorded from the start.
    #[arg(long, value_enum, default_value_t = Recording::On)]
    recording: Recording,
    /// Say when the job has stood still for so many nanoseconds; 0 does not.
    #[arg(long, default_value_t = 0)]
    watchdog_ns: u64,
    /// What buffers keep when not everything fits, such as `duration:1ms`.
    #[arg(long, default_value_t, value_parser = Strategy::parse)]
    strategy: Strategy,
    /// The analyses that are on from the start, such as `functions,matrix`.
    #[arg(long, default_value_t)]
    analyses: AnalysisSet,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Recording {
    On,
    Off,
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!(
                "invivo: an analysis node failed: {error}; the application runs on unobserved"
            );
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let end_asked = signals::end_asked()?;
    // Before MPI starts: it opens descriptors, and one of them could get this number.
    let report = args.root.report_fd.map(Report::inherited).transpose()?;
    let layout = args.layout;
    let link = Link::start()?;
    let me = link.rank();
    // A layout for another number of processes would address messages to wrong ones.
    let position = Position::of(&layout, me)
        .filter(|position| position.local.is_none() && link.size() == layout.total());
    let position = position.ok_or_else(|| {
        format!(
            "process {me} of {} is no analysis node in layout {layout}",
            link.size()
        )
    })?;

    let name = if report.is_some() {
        "the root"
    } else {
        "analysis node"
    };
    report_panics(format!("{name} {me}"));
    #[cfg(feature = "test-hooks")]
    let guard = PanicGuard::panic_when(args.panic_when);
    #[cfg(not(feature = "test-hooks"))]
    let guard = PanicGuard::new();

    let exit = match (layout.parent(me), report) {
        (Some(parent), _) => {
            let role = BranchRole::new(position, parent, monotonic_ns).located(whereabouts());
            runtime::run(link, role, guard, &end_asked)?
        }
        (None, Some(report)) => {
            let server = root_server(&link, &layout, position, args.root);
            let role = RootRole::new(server, report);
            runtime::run(link, role, guard, &end_asked)?
        }
        (None, None) => return Err("the root needs --report-fd".into()),
    };
    // Launchers report the exit status of any process as the job's: of these exits only a lost root
    // is a failure.
    Ok(match exit {
        Exit::Finalize | Exit::Abandon => ExitCode::SUCCESS,
        Exit::RootLost => ExitCode::FAILURE,
    })
}

fn root_server(link: &Link, layout: &Layout, position: Position, args: RootArgs) -> RootServer {
    let job = JobDescription {
        id: args.job.clone(),
        ranks: layout.app(),
        places: layout.places(),
        nodes: layout.nodes(),
        family: args.family,
        library: link.library(),
    };
    let info = JobInfo {
        id: args.job,
        buffer_bytes: args.buffer_bytes,
        budget_bytes: args.budget_bytes,
        hold_lease_ns: args.hold_ns,
        recording: args.recording == Recording::On,
        strategy: args.strategy,
    };
    let gateway = args.link.as_deref().and_then(listen);
    let watchdog = Watchdog::new(monotonic_ns(), args.watchdog_ns);
    let info = (info, args.analyses);
    RootServer::new(monotonic_ns(), position, job, info, gateway)
        .watched_by(watchdog)
        .located(whereabouts())
}

fn listen(path: &Path) -> Option<Gateway> {
    match Gateway::listen(path) {
        Ok(gateway) => Some(gateway),
        Err(error) => {
            // The result at the end needs no gateway: the root goes on without one.
            eprintln!(
                "invivo: cannot listen at {}: {error}; the job cannot be watched",
                path.display()
            );
            None
        }
    }
}
