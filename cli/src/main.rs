//! The client program: every verb of `invivo` that does not start jobs.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    invivo_jobdir::no_core_dump();
    invivo_cli::Cli::of_this_process().run()
}
