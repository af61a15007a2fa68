//! Lines that the launcher writes to the user's terminal.

use invivo_report::terminal;
use std::io::Write;

/// Writes one line to stderr that begins with our name.
pub fn say(line: &str) {
    // In one write, so that lines of several processes do not mix. The other end may be closed.
    let _ = std::io::stderr().write_all(format!("invivo: {}\n", terminal::lines(line)).as_bytes());
}

/// How long the silent processes wait for the one that prints.
const LET_SPEAK: std::time::Duration = std::time::Duration::from_secs(2);

/// Prints an error of all processes of a node once; `speaks` is true in one of them. The launcher
/// ends the job as soon as one process has failed, so the silent ones wait until the other has
/// printed.
pub fn say_for_all(speaks: bool, line: &str) {
    match speaks {
        true => say(line),
        false => std::thread::sleep(LET_SPEAK),
    }
}

/// Prints a result to stdout; a reader that closes its end early is no error.
pub fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
