//! The analysis node's process: MPI below, the gateway's socket above, the station in between.
#![deny(unsafe_code)]

use clap::Parser;
use invivo_analysis_node::gateway::Gateway;
use invivo_analysis_node::report::Report;
use invivo_analysis_node::station::{Action, Station};
use invivo_mpi_link::clock::{cpu_ns, monotonic_ns};
use invivo_mpi_link::idle::Idle;
use invivo_mpi_link::{Link, LinkError, signals};
use invivo_proto::channel::{TAG_DOWN, TAG_UP};
use invivo_proto::control::encode;
use invivo_proto::control::link::Job;
use invivo_proto::control::tree::JobInfo;
use invivo_tbon::layout::Layout;
use invivo_tbon::node::Seat;
use rustix::event::{PollFd, Timespec, poll};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the last messages may take when MPI is not finalised, which would see to them.
const FAREWELL: Duration = Duration::from_millis(500);

/// The root of Invivo's tree. Started by `invivo exec`.
#[derive(Parser)]
#[command(name = "analysis-node", version)]
struct Args {
    /// Ranks of the application.
    #[arg(long)]
    app: u32,
    /// Ranks per place.
    #[arg(long)]
    fan_in: u32,
    /// The job's id.
    #[arg(long)]
    job: String,
    /// Where to listen for the gateway.
    #[arg(long)]
    link: PathBuf,
    /// The descriptor on which our supervisor awaits the result.
    #[arg(long)]
    report_fd: i32,
    /// Bytes of one location's buffer.
    #[arg(long)]
    buffer_bytes: u64,
    /// Bytes of all buffers of one place.
    #[arg(long)]
    budget_bytes: u64,
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("invivo: the analysis node failed: {error}; the application runs on unobserved");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let asked_to_end = signals::asked_to_end()?;
    let report = Report::inherited(args.report_fd)?;
    let layout = Layout::for_app(args.app, args.fan_in)?;
    let mut link = Link::start()?;
    let me = link.rank();
    let seat = Seat::of(&layout, me).filter(|_| me == layout.root() && link.size() == layout.total());
    let seat =
        seat.ok_or_else(|| format!("process {me} of {} is not the root of this layout", link.size()))?;
    let gateway = match Gateway::listen(&args.link) {
        Ok(gateway) => Some(gateway),
        Err(error) => {
            eprintln!(
                "invivo: cannot listen at {}: {error}; the job cannot be watched",
                args.link.display()
            );
            None
        }
    };
    let library = link.library();
    let job = Job {
        id: args.job.clone(),
        ranks: layout.app(),
        places: layout.places(),
        nodes: layout.nodes(),
        family: family(&library).to_owned(),
        library,
    };
    let info = JobInfo {
        id: args.job,
        buffer_bytes: args.buffer_bytes,
        budget_bytes: args.budget_bytes,
    };
    let mut station = Station::new(monotonic_ns(), seat, job, info, gateway);
    let finalize = drive(&mut link, &mut station, report, &asked_to_end)?;
    drop(station);
    if finalize {
        link.finish()?;
    } else {
        link.flush(FAREWELL)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the root to the job's end; whether MPI is to be finalised.
fn drive(
    link: &mut Link,
    station: &mut Station,
    mut report: Report,
    asked_to_end: &AtomicBool,
) -> Result<bool, LinkError> {
    let mut idle = Idle::default();
    let mut reporting = false;
    loop {
        let mut worked = false;
        while let Some(message) = link.receive(TAG_UP)? {
            worked = true;
            station.up(monotonic_ns(), message.from, &message.bytes);
        }
        if asked_to_end.load(Ordering::Relaxed) {
            station.asked_to_end(monotonic_ns());
        }
        if reporting && report.look() {
            station.dealt_with();
        }
        worked |= station.hear_gateway(monotonic_ns());
        station.tick(monotonic_ns(), cpu_ns());
        for action in station.take_actions() {
            worked = true;
            match action {
                // Commands and questions are small: they can be encoded.
                Action::Send(to, message) => {
                    if let Ok(bytes) = encode(&message) {
                        link.send(to, TAG_DOWN, bytes)?;
                    }
                }
                Action::Report(result) => {
                    reporting = true;
                    if let Err(error) = report.write(&result) {
                        eprintln!("invivo: the report cannot be made: {error}");
                        station.dealt_with();
                    }
                }
                Action::Leave { finalize } => return Ok(finalize),
            }
        }
        link.progress()?;
        let rest = idle.after(worked).unwrap_or(Duration::ZERO);
        let timeout = Timespec::try_from(rest).unwrap_or_default();
        let mut fds: Vec<PollFd<'_>> = station.gateway().map(Gateway::poll_fd).into_iter().collect();
        // Whatever it says, everything is looked at.
        let _ = poll(&mut fds, Some(&timeout));
    }
}

/// The binary family of an MPI library, by its own line about itself.
fn family(library: &str) -> &'static str {
    if library.starts_with("Open MPI") {
        "ompi"
    } else {
        "mpich"
    }
}
