//! `invivo`: see lib.rs for what is where.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    invivo_cli::Cli::parse().run()
}
