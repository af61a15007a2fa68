//! `invivo web`: the job as a page in a browser, served by this client on its own loopback. The
//! gateway knows nothing of it: to it the page is one more client.
//!
//! ```text
//! door, guard, peer                who may come in
//! files                            what everybody gets
//! answers <- timeline              what guests ask: one answer each
//! live <- told, orders             what comes by itself, and what guests do
//! pages <- all of these            which path is which
//! listener <- pages                connections
//! ```

mod answers;
mod door;
mod files;
mod guard;
mod json;
mod listener;
mod live;
mod orders;
mod pages;
mod peer;
mod timeline;
mod told;

use crate::client::{Client, Scope, patiently};
use crate::commands::target::Target;
use crate::commands::{Outcome, note, print, print_json};
use crate::job::Job;
use crate::steer;
use anyhow::Context;
use pages::Shared;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use std::io::{IsTerminal, stdin, stdout};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at the keyboard.
const KEY_INTERVAL: Duration = Duration::from_millis(300);
/// For pages to hear that the job has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Options of `invivo web`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Prints a link that opens the page once, in one browser; Enter prints another one. It ends with the
job, or with Ctrl-C; the job is not affected by either.

The page is there for this user of this host only. To see it on another machine, as from a login
node, type there: ssh -L PORT:127.0.0.1:PORT me@login, with the port of the link. Or have the client
on that machine, which needs no port: invivo web --on me@login

Examples:
  invivo web
  invivo web --port 8080
  invivo web --on me@login --job 4711
  invivo web --scope view                 a page that cannot steer
  invivo open melt.obs -- web             the page of what was saved")]
pub struct Args {
    /// Port on this host's loopback [default: a free one]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    port: u16,
    /// What the page may do: look, or steer as well
    #[arg(long, value_enum, default_value_t = May::Control)]
    scope: May,
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum May {
    View,
    Control,
}

#[derive(Serialize)]
struct Link<'a> {
    url: &'a str,
    port: u16,
    job: &'a str,
}

/// Serves the page until the job ends.
///
/// # Errors
/// Why there is no page.
pub async fn run(args: Args) -> anyhow::Result<Outcome> {
    let json = args.target.json;
    if !json && !stdout().is_terminal() {
        anyhow::bail!(
            "the link opens the job, and would stand in a file or pipe that others may read; type \
             invivo web on a terminal, or ask for it as JSON with --json"
        );
    }
    let (job, client, steers) = found(&args)?;
    // Before a link is given that leads to nothing.
    patiently(&job, async || client.clone().hello(steer::hello()).await).await?;
    let (listener, port) = listener::listen(args.port).await.with_context(|| {
        format!(
            "cannot listen on port {} of this host's loopback; give another one with --port, or \
             none for a free one",
            args.port
        )
    })?;
    let job = Arc::new(job);
    let shared = Arc::new(Shared::new(job.clone(), client, steers, port));
    tell(&shared, port, json)?;
    tokio::select! {
        () = listener::serve(listener, pages::router(shared.clone())) => {}
        () = ended(&job) => note(&format!("job {} has ended", job.job)),
        result = keys(&shared, port), if !json => result?,
    }
    Ok(Outcome::Done)
}

/// The job, and a client that may do what the page may; whether that is to steer.
fn found(args: &Args) -> anyhow::Result<(Job, Client, bool)> {
    let job = args.target.find()?;
    let steers = args.scope == May::Control && !job.control.is_empty();
    let scope = if steers { Scope::Control } else { Scope::View };
    let client = crate::client::client(&job, scope)?;
    Ok((job, client, steers))
}

/// Prints a new link; the one before is good no more.
fn tell(shared: &Shared, port: u16, json: bool) -> anyhow::Result<()> {
    let mut door = shared.door.lock().unwrap_or_else(PoisonError::into_inner);
    let secret = door.invite(Instant::now()).context("no random numbers")?;
    drop(door);
    // Behind the hash: it is sent to nobody, and stands in no log.
    let url = format!("http://127.0.0.1:{port}/#{secret}");
    if json {
        let job = &shared.job.job;
        return print_json(&Link {
            url: &url,
            port,
            job,
        });
    }
    print(&format!("{url}\n"))?;
    note("this link opens the page once; for another one press Enter, to end Ctrl-C");
    // Logged in from elsewhere: the browser is there.
    if std::env::var_os("SSH_CONNECTION").is_some() {
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy().into_owned();
        note(&format!(
            "from your own machine type there first: ssh -N -L {port}:127.0.0.1:{port} {host}"
        ));
    }
    Ok(())
}

/// Returns when the job is over and pages have been told so.
async fn ended(job: &Job) {
    loop {
        tokio::time::sleep(job.look_interval().max(Duration::from_secs(1))).await;
        if job.has_ended().await {
            return tokio::time::sleep(LAST_WORDS).await;
        }
    }
}

/// Prints a new link each time that Enter is pressed.
async fn keys(shared: &Shared, port: u16) -> anyhow::Result<()> {
    loop {
        tokio::time::sleep(KEY_INTERVAL).await;
        if is_asked() {
            let mut line = String::new();
            // A terminal gives whole lines: this does not wait. At its end nobody types any more.
            if stdin().read_line(&mut line).unwrap_or(0) == 0 {
                return std::future::pending().await;
            }
            tell(shared, port, false)?;
        }
    }
}

/// Whether a line waits that is for us: in the background it is another's, and reading it would
/// stop this process.
fn is_asked() -> bool {
    let stdin = stdin();
    let foreground = rustix::termios::tcgetpgrp(&stdin);
    if foreground.ok() != Some(rustix::process::getpgrp()) {
        return false;
    }
    let mut one = [PollFd::new(&stdin, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut one, Some(&at_once)).is_ok_and(|ready| ready > 0)
}
