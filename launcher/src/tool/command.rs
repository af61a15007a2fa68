//! What every tool process gets on its command line and in its environment.

use crate::mpi::library::Library;
use crate::mpi::preload::{PRELOAD, can_preload};
use crate::tool::startup_barrier::StartupBarrier;
use std::ffi::OsStr;
use std::process::Command;

/// What holds for every process of ours: it is not observed by what the user preloads for the
/// application.
pub fn tool(command: &mut Command) -> &mut Command {
    command
        .env_remove(PRELOAD)
        .env_remove(invivo_proto::channel::ENV_DESCRIPTORS)
}

/// A process of the tree besides has the application's MPI.
pub fn tool_on<'a>(command: &'a mut Command, library: &Library) -> &'a mut Command {
    let file = library.of_tools();
    // A path that `LD_PRELOAD` cannot hold: by its name alone the loader may find another file.
    let name = file.file_name().map_or(OsStr::new(""), |name| name);
    let known = if can_preload(&file) {
        file.as_os_str()
    } else {
        name
    };
    tool(command).env(PRELOAD, known)
}

/// The library that the ranks here have loaded, or the expected one where that is not known.
pub fn loaded(barrier: Option<&StartupBarrier>, expected: Library) -> Library {
    barrier
        .and_then(StartupBarrier::library)
        .and_then(|file| Library::of_file(&file))
        .unwrap_or(expected)
}
