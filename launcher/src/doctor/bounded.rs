//! Runs other people's commands with a time limit.

use rustix::process::{Pid, Signal};
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Between two polls of a command.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What a command did.
#[derive(Debug)]
pub struct Done {
    /// How it ended; nothing when it did not, and was ended.
    pub status: Option<ExitStatus>,
    /// What it printed.
    pub stdout: String,
    /// What it printed to standard error.
    pub stderr: String,
}

impl Done {
    /// It ended by itself and well.
    pub fn well(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The first line that says something, of errors first.
    pub fn complaint(&self) -> String {
        let lines = self.stderr.lines().chain(self.stdout.lines());
        let said = lines
            .map(str::trim)
            .find(|line| line.chars().any(char::is_alphanumeric));
        match (said, self.status) {
            (Some(line), _) => line.to_owned(),
            (None, Some(status)) => status.to_string(),
            (None, None) => "no answer in time".to_owned(),
        }
    }
}

/// Runs a command for at most `limit`; then it is killed, with everything that it started.
///
/// # Errors
/// When it cannot be started, or what it printed cannot be kept.
pub fn run(command: &mut Command, limit: Duration) -> std::io::Result<Done> {
    // Files and not pipes: a pipe that nobody reads fills up, and one that a grandchild keeps open
    // never ends.
    let (mut stdout, mut stderr) = (scratch()?, scratch()?);
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .process_group(0);
    let mut child = command.spawn()?;
    let until = Instant::now() + limit;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if Instant::now() >= until => {
                if let Some(group) = Pid::from_raw(child.id() as i32) {
                    let _ = rustix::process::kill_process_group(group, Signal::KILL);
                }
                child.wait()?;
                break None;
            }
            None => std::thread::sleep(POLL_INTERVAL),
        }
    };
    let text = |file: &mut std::fs::File| -> std::io::Result<String> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Done {
        status,
        stdout: text(&mut stdout)?,
        stderr: text(&mut stderr)?,
    })
}

/// A file without a name.
fn scratch() -> std::io::Result<std::fs::File> {
    let fd = rustix::fs::memfd_create("invivo-doctor", rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(fd.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn sh(script: &str, limit: Duration) -> Done {
        run(Command::new("sh").args(["-c", script]), limit).expect("sh runs")
    }

    /// What a command says is kept and one that hangs is ended.
    #[test]
    fn output_is_kept_and_a_hanging_command_ended() {
        let done = sh("echo out; echo; echo '--'; echo bad >&2; exit 3", PATIENCE);
        assert_eq!((done.stdout.as_str(), done.well()), ("out\n\n--\n", false));
        assert_eq!(done.complaint(), "bad");
        let begun = Instant::now();
        let done = sh("sleep 60 & sleep 60", Duration::from_millis(500));
        assert!(done.status.is_none() && !done.well());
        assert_eq!(done.complaint(), "no answer in time");
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert!(sh("true", PATIENCE).well());
        assert!(run(&mut Command::new("/nonexistent"), Duration::from_secs(1)).is_err());
    }
}
