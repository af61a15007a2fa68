//! Lines that the launcher writes to the user's terminal.

use std::io::Write;

/// Writes one line to stderr that begins with our name.
pub fn say(line: &str) {
    // In one piece, so that lines of several processes do not mix; nobody may listen.
    let _ = std::io::stderr().write_all(format!("invivo: {line}\n").as_bytes());
}

/// How long the processes that say nothing wait for the one that does.
const LET_SPEAK: std::time::Duration = std::time::Duration::from_secs(2);

/// Says once what all processes of a node met alike; `speaks` in one of them. The launcher ends the
/// job as soon as one process has failed: the silent ones leave the one that speaks the time to do
/// it.
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
