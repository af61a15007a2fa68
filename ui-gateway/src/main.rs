//! `ui-gateway`: started by the supervisor of the root, ended by SIGTERM. Its log goes to standard
//! error.

#![forbid(unsafe_code)]

use anyhow::Context;
use clap::Parser;
use invivo_ui_gateway::listener::address::ListenAddress;
use invivo_ui_gateway::server::{self, Config, Options};
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Serves a running job over gRPC. Started by `invivo exec`, seldom by hand.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Unix socket to listen on, in a directory of mode 0700
    #[arg(long, value_name = "SOCKET")]
    socket: PathBuf,
    /// Unix socket of the root of the measurement
    #[arg(long, value_name = "SOCKET")]
    link: PathBuf,
    /// The job's connect.json, which holds the tokens
    #[arg(long, value_name = "FILE")]
    connect: PathBuf,
    /// Address to listen on over TCP as well, with TLS: one of this host with a port, 0 for a free
    /// one, as 10.0.0.7:0 or node17:0; connect.json then has the URL
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<ListenAddress>,
    /// What is logged: error, warn, info, debug, trace, or by module: warn,invivo_ui_gateway=debug
    #[arg(long, env = "INVIVO_LOG", default_value = "info")]
    log: String,
}

fn main() -> ExitCode {
    invivo_jobdir::no_core_dump();
    let args = Args::parse();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("invivo: gateway: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    let filter: Targets = args
        .log
        .parse()
        .with_context(|| format!("no log filter: {:?}", args.log))?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false);
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .init();

    // After the subscriber is there: a failure is logged.
    private_log();
    let options = Options {
        listen: args.listen,
        ..Options::default()
    };
    let config = Config {
        socket: args.socket,
        link: args.link,
        connect: args.connect,
    };
    // One thread: the node's cores belong to the application.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;

    runtime.block_on(async {
        // Both handlers are installed before the sockets appear, so that a SIGTERM from then on
        // ends in order.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let end = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        server::serve_with(config, options, end).await
    })
}

/// The log names users and clients: where it is a file of ours, nobody else may read it, whoever
/// opened it for us.
fn private_log() {
    use rustix::fs::{FileType, Mode, fchmod, fstat};

    let log = std::io::stderr();
    let Ok(stat) = fstat(&log) else { return };
    // Only a regular file: a terminal or a pipe must keep its mode.
    let ours = stat.st_uid == rustix::process::geteuid().as_raw();
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && ours
        && let Err(error) = fchmod(&log, Mode::RUSR | Mode::WUSR)
    {
        tracing::warn!(%error, "the log may be read by others");
    }
}
