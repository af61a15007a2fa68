//! The real program, and what it costs.
#![allow(dead_code, reason = "each test program uses a part")]

use crate::support::JobDir;
use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A running gateway; it is killed when this is dropped.
pub struct Program {
    child: Child,
}

impl Program {
    /// Starts the program with these further arguments, listening with TLS as well if one of them
    /// says so; with at most `descriptors` open files, where that is said.
    pub fn start(
        job: &JobDir,
        arguments: &[&str],
        descriptors: Option<u32>,
        log: Option<File>,
    ) -> Program {
        let config = job.config();
        let limit = descriptors.map_or(String::new(), |most| format!("ulimit -n {most} && "));
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("{limit}exec \"$0\" \"$@\""))
            .arg(env!("CARGO_BIN_EXE_ui-gateway"))
            .arg("--socket")
            .arg(config.socket)
            .arg("--link")
            .arg(config.link)
            .arg("--connect")
            .arg(config.connect)
            .args(arguments)
            .stderr(log.map_or(Stdio::null(), Stdio::from));
        Program {
            child: command.spawn().expect("started"),
        }
    }

    /// Its resident size in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: u64 = line
            .and_then(|line| line.trim().strip_suffix(" kB"))
            .and_then(|kib| kib.parse().ok())
            .expect("a size");
        kib * 1024
    }

    /// Its open files.
    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))
            .expect("it runs")
            .count()
    }

    /// Waits until it ends by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "it does not end");
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Sends it a signal and waits until it has ended.
    pub async fn end(mut self, signal: rustix::process::Signal) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("signalled");
        self.ended().await
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
