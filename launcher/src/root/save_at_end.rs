//! The client that saves what the buffers hold at the end of a job.

use crate::process::child::{self, Inheritance};
use crate::tool::command::tool;
use invivo_report::units::{count, counted};
use nix::sys::signal::SigSet;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A save that is under way.
#[derive(Debug)]
pub struct SaveAtEnd {
    client: Pid,
    /// What it says on standard output.
    said: File,
    dir: PathBuf,
}

impl SaveAtEnd {
    /// Begins to save the job of a `connect.json` to a new directory.
    ///
    /// # Errors
    /// When the client cannot be started.
    pub fn start(
        client: &Path,
        connect: &Path,
        dir: PathBuf,
        mask: SigSet,
    ) -> std::io::Result<SaveAtEnd> {
        let (said, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut command = Command::new(client);
        command.arg0("invivo").arg("save").arg(&dir);
        command.arg("--json").arg("--connect").arg(connect);
        for other in ["INVIVO_JOB", "INVIVO_ON"] {
            command.env_remove(other);
        }
        tool(&mut command).stdin(Stdio::null()).stdout(theirs);
        let inheritance = Inheritance {
            mask,
            descriptors: &[],
            nothing_else: true,
        };
        Ok(SaveAtEnd {
            client: child::start(command, inheritance)?,
            said: said.into(),
            dir,
        })
    }

    /// Whether the client has ended.
    pub fn is_over(&self) -> bool {
        child::ended(self.client).is_some()
    }

    /// Ends the client, which has had its time; what is to be said of it.
    pub fn give_up(self) -> String {
        child::end(self.client);
        let dir = self.dir.display();
        format!("saving to {dir} took too long and was given up: nothing is there")
    }

    /// What was saved, in a sentence; nothing where it has failed, which the client has said. To be
    /// called when it is over.
    pub fn line(mut self) -> Option<String> {
        let mut said = String::new();
        self.said.read_to_string(&mut said).ok()?;
        let said: Value = serde_json::from_str(&said).ok()?;
        let number = |name: &str| said[name].as_u64().unwrap_or(0);
        let dir = self.dir.display();
        let ranks = counted(number("ranks"), "rank");
        let calls = counted(number("kept"), "call");
        let reduced = match number("reduced") {
            0 => String::new(),
            reduced => format!(" ({} had been given up)", count(reduced)),
        };
        Some(format!(
            "{calls} of {ranks} saved to {dir}{reduced}; look at them: invivo open {dir}"
        ))
    }
}
