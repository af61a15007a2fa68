//! Faults and taps in tool processes for tests, switched on by environment variables. Compiled in
//! with the feature `test-hooks` only: released programs do not read these variables.

#[cfg(feature = "test-hooks")]
use std::path::Path;
use std::process::Command;

/// The variable that names a directory for every record of the job.
#[cfg(feature = "test-hooks")]
const TAP: &str = "INVIVO_TAP";
/// The variable that says for how many calls a sample is made up in the sampler's stead.
#[cfg(feature = "test-hooks")]
const SAMPLES: &str = "INVIVO_SAMPLES";
/// The variable that names a directory: a tool process panics when a file `place`, `node` or `root`
/// appears there.
#[cfg(feature = "test-hooks")]
const PANIC: &str = "INVIVO_PANIC";

/// Hands a tool process of this name (`place`, `node`, `root`) what a test wants of it.
#[cfg(feature = "test-hooks")]
pub fn add(command: &mut Command, name: &str) {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if name == "place" {
        for (option, variable) in [("--tap", TAP), ("--samples", SAMPLES)] {
            if let Some(value) = set(variable) {
                command.arg(option).arg(value);
            }
        }
    }
    if let Some(directory) = set(PANIC) {
        command
            .arg("--panic-when")
            .arg(Path::new(&directory).join(name));
    }
}

/// Nothing: tests have a build of their own.
#[cfg(not(feature = "test-hooks"))]
pub fn add(_: &mut Command, _: &str) {}
