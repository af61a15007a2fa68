//! `invivo list`.

use super::{Outcome, print, print_json, target};
use crate::ssh::login::{Login, May};
use anyhow::{Context, bail};
use invivo_jobdir::{Connect, Liveness};
use invivo_report::table::{Side, Table};
use invivo_report::units::duration;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Options of `invivo list`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  invivo list
  invivo list --on me@login
  invivo list --json | jq -r '.jobs[].job'")]
pub struct Args {
    #[command(flatten)]
    there: target::There,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Jobs<'a> {
    jobs: Vec<Row<'a>>,
}

/// A job as JSON shows it; never with its tokens.
#[derive(Serialize)]
struct Row<'a> {
    job: &'a str,
    pid: u32,
    host: &'a str,
    /// Whether the socket can be reached from here.
    here: bool,
    started_unix: u64,
    /// The same in job time, in which JSON gives points in time.
    started_ns: u64,
    command: &'a [String],
    /// The directory of the saved observation that answers instead of a job.
    observation: Option<&'a Path>,
    socket: &'a Path,
    connect: &'a Path,
}

/// Lists the jobs.
///
/// # Errors
/// When the state directory cannot be read.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    if let Some(login) = args.there.login()? {
        return there(&login, args.json);
    }
    let jobs = invivo_jobdir::jobs()?;
    // On standard error, so that JSON stays JSON.
    target::tell_leftovers(&jobs);
    if args.json {
        print_json(&Jobs {
            jobs: jobs.running.iter().map(row).collect(),
        })?;
    } else if jobs.running.is_empty() {
        print("no job is running; start one: invivo run -- mpiexec -n 4 ./app\n")?;
    } else {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        print(&text(&jobs.running, now))?;
    }
    Ok(Outcome::Done)
}

/// The list of another host, as `invivo` prints it there.
fn there(login: &Login, json: bool) -> anyhow::Result<Outcome> {
    let arguments: &[&str] = if json { &["list", "--json"] } else { &["list"] };
    let mut ssh = login.command(May::Ask, arguments);
    let status = ssh.status().context("ssh cannot be started")?;
    match status.code() {
        Some(0) => Ok(Outcome::Done),
        Some(127) => bail!("{}", login.no_program()),
        _ => bail!("there is no list of {login}; try: ssh {login}"),
    }
}

fn row((path, connect): &(PathBuf, Connect)) -> Row<'_> {
    Row {
        job: &connect.job,
        pid: connect.pid,
        host: &connect.host,
        // A state directory on a shared file system holds the jobs of all hosts.
        here: connect.liveness() != Liveness::Elsewhere,
        started_unix: connect.started_unix,
        started_ns: connect.started_ns,
        command: &connect.command,
        observation: connect.observation.as_deref(),
        socket: &connect.socket,
        connect: path,
    }
}

fn text(jobs: &[(PathBuf, Connect)], now_unix: u64) -> String {
    let columns = [
        ("job", Side::Left),
        ("for", Side::Right),
        ("host", Side::Left),
        ("command", Side::Left),
    ];
    let mut table = Table::new(columns);
    for (_, connect) in jobs {
        let age = now_unix.saturating_sub(connect.started_unix);
        let of = match &connect.observation {
            Some(dir) => format!("observation {}", dir.display()),
            None => connect.command.join(" "),
        };
        table.row([
            connect.job.clone(),
            duration(age.saturating_mul(1_000_000_000)),
            connect.host.clone(),
            of,
        ]);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_listed_without_tokens() {
        let mut connect = Connect::new("a", Path::new("/s"), vec!["./app".into(), "-v".into()])
            .expect("random numbers");
        connect.host = "far.invalid".into();
        connect.started_unix = 1000;
        let jobs = [(PathBuf::from("/state/connect.json"), connect)];
        assert_eq!(
            text(&jobs, 1012),
            "job     for  host         command\na    12.0 s  far.invalid  ./app -v\n"
        );
        let json = serde_json::to_string(&row(&jobs[0])).expect("json");
        assert!(!json.contains(&jobs[0].1.view) && !json.contains(&jobs[0].1.control));
        assert!(json.contains("\"here\":false") && json.contains("/state/connect.json"));
    }
}
