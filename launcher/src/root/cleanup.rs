//! Removes a job's files when the root's supervisor is killed with SIGKILL.
//!
//! A shell waits in a process group of its own, which launchers do not know of, for the end of its
//! input, and removes what others could find of the job.

use crate::process::child;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};

/// `$1` is the directory of sockets, `$2` that of the job in the list of jobs; the log of commands
/// in it stays.
const SCRIPT: &str = r#"
    read -r _
    rm -rf -- "$1"
    [ -n "$2" ] && { rm -f -- "$2/connect.json" "$2/gateway.log"; rmdir "$2"; }"#;

/// Lives as long as its owner.
#[derive(Debug)]
pub struct Cleanup {
    _input: ChildStdin,
}

impl Cleanup {
    /// Of a job with this directory of sockets, and this name where it is published. Nothing where
    /// there is no shell: then what is left is recognised as dead by whoever finds it.
    pub fn start(sockets: &Path, published: Option<&str>) -> Option<Cleanup> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "invivo-cleanup"]).arg(sockets);
        shell.arg(
            published
                .and_then(|id| invivo_jobdir::job_dir(id).ok())
                .unwrap_or_default(),
        );
        shell
            .env_remove(crate::mpi::preload::PRELOAD)
            .process_group(0);
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        child::inherit_nothing(&mut shell).ok()?;
        // Its input ends when we end, however that is: the kernel closes our end of the pipe. It
        // outlives us, so it is never waited for.
        let mut child = shell.spawn().ok()?;
        Some(Cleanup {
            _input: child.stdin.take()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn it_removes_what_is_left_once_its_owner_is_gone() {
        let dir = tempfile::tempdir().expect("directory");
        let sockets = dir.path().join("sockets of a job");
        std::fs::create_dir(&sockets).expect("made");
        std::fs::write(sockets.join("place-1.sock"), "").expect("written");
        let cleanup = Cleanup::start(&sockets, None).expect("a shell");
        std::thread::sleep(Duration::from_millis(100));
        assert!(sockets.exists(), "while the owner lives");
        drop(cleanup);
        let begun = Instant::now();
        while sockets.exists() {
            assert!(begun.elapsed() < Duration::from_secs(10), "removed");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
