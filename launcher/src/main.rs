//! `invivo`: starts jobs itself, and hands every other verb to the client.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1);
    if invivo_launcher::is_ours(first.as_deref()) {
        invivo_launcher::Launcher::parse().run()
    } else {
        invivo_launcher::become_client(std::env::args_os().skip(1))
    }
}
