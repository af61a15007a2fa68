//! Faults and taps in tool processes for tests, switched on by environment variables. Compiled in
//! with the feature `test-hooks` only: released programs do not read these variables.

use std::process::Command;

/// The variable that names a directory for every record of the job.
#[cfg(feature = "test-hooks")]
const TAP: &str = "INVIVO_TAP";
/// The variable that names a directory: a role of a tool process panics when a file `place`, `node`
/// or `root` appears there.
#[cfg(feature = "test-hooks")]
const PANIC: &str = "INVIVO_PANIC";

/// Hands a tool process what a test wants of it.
#[cfg(feature = "test-hooks")]
pub fn add(command: &mut Command) {
    for (option, variable) in [("--tap", TAP), ("--panic-when", PANIC)] {
        if let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
            command.arg(option).arg(value);
        }
    }
}

/// Nothing: tests have a build of their own.
#[cfg(not(feature = "test-hooks"))]
pub fn add(_: &mut Command) {}
