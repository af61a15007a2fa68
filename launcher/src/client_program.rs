//! Hands every verb that looks at a running job to the client, the installation's other program.
//!
//! The client has gRPC and the terminal in it and is many times as large: a job's processes, which
//! are `invivo exec`, should not carry that.

use crate::job::artefacts::Artefacts;
use crate::output::say;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// Becomes the client, with the same arguments and under the same name. Returns only where there is
/// no client.
pub fn replace_this_process(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let program = match Artefacts::of_this_program() {
        Ok(artefacts) => artefacts.client(),
        Err(error) => {
            say(&error.to_string());
            return ExitCode::FAILURE;
        }
    };

    let error = Command::new(&program).arg0("invivo").args(arguments).exec();
    say(&format!(
        "cannot start {}: {error}; install the whole tree, bin and lib/invivo",
        program.display()
    ));
    ExitCode::FAILURE
}
