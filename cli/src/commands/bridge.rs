//! `invivo bridge`: the far side of `--on`. Standard input and output are a connection to the
//! gateway of a job of this host, behind a line that says which job it is.

use super::{Outcome, target};
use crate::client::{PATIENCE, RETRY_INTERVAL};
use crate::job::Job;
use crate::ssh::greeting::Greeting;
use crate::ssh::login::{Login, May, quoted};
use anyhow::Context;
use invivo_grpc::channel;
use invivo_jobdir::Liveness;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use tokio::time::Instant;

/// Read at once, in bytes: some frames of HTTP/2.
const BUFFER_BYTES: usize = 64 * 1024;

/// Options of `invivo bridge`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Commands with --on start it by ssh; nobody needs to call it.

Example, by hand:
  ssh me@login invivo bridge --job 4711")]
pub struct Args {
    /// The job, or a part of its name that fits no other
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// Go no further, where the job is on another host than this
    #[arg(long, hide = true)]
    here: bool,
}

/// Connects standard input and output with a gateway, until either side ends.
///
/// # Errors
/// When the connection cannot be made, or breaks.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let job = match target::find_on_any_host(args.job.as_deref()) {
        Ok(job) => job,
        Err(why) => return refuse(&super::sentence(&why)),
    };
    if job.liveness() == Liveness::Elsewhere {
        return go_on(&args, &job);
    }
    let socket = connect(&job).await?.into_std()?;
    socket.set_nonblocking(false)?;
    say(&Greeting::Job(Box::new(job.connect.clone())))?;
    carry(socket)?;
    Ok(Outcome::Done)
}

/// Waits for a gateway that is starting again.
async fn connect(job: &Job) -> anyhow::Result<tokio::net::UnixStream> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match channel::connect_to_own(&job.socket).await {
            Ok(socket) => return Ok(socket),
            Err(error) if Instant::now() >= deadline => {
                anyhow::bail!("the gateway of job {} does not answer: {error}", job.job)
            }
            Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
        }
    }
}

/// The job is on a node behind this one, where the same user may log in.
fn go_on(args: &Args, job: &Job) -> anyhow::Result<Outcome> {
    let host = &job.host;
    if args.here {
        return refuse(&format!(
            "job {} runs on {host}, which is another host",
            job.job
        ));
    }
    let program = std::env::current_exe().context("the name of this program")?;
    let mut program = quoted(&program.to_string_lossy());
    // A shell there does not know where this one was told to look.
    if let Ok(state) = std::env::var("XDG_STATE_HOME") {
        program = format!("XDG_STATE_HOME={} {program}", quoted(&state));
    }
    let login = Login::new(host, &program)?;
    let error = login
        .command(May::NotAsk, &["bridge", "--job", &job.job, "--here"])
        .exec();
    Err(error).context("ssh cannot be started")
}

fn refuse(why: &str) -> anyhow::Result<Outcome> {
    say(&Greeting::Refused(why.to_owned()))?;
    Ok(Outcome::Incomplete)
}

fn say(greeting: &Greeting) -> anyhow::Result<()> {
    let mut output = output()?;
    output.write_all(&greeting.line()?)?;
    Ok(())
}

/// Standard output without a buffer, which would hold bytes back.
fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Copies both ways until the gateway ends. The end of the input is passed on to it.
fn carry(socket: UnixStream) -> io::Result<()> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut up = socket.try_clone()?;
    // Not waited for: it stands in a read as long as the other side is there.
    std::thread::spawn(move || {
        // Whether it broke or ended, nothing more comes.
        let _ = pour(&mut input, &mut up);
        let _ = up.shutdown(Shutdown::Write);
    });
    pour(&mut &socket, &mut output()?)
}

/// Copies what there is as soon as it is there. `io::copy` would let the kernel move it, which
/// holds bytes back until there are more.
fn pour(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(bytes) => to.write_all(&buffer[..bytes])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
