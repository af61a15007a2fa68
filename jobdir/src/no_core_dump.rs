//! Keeps the tokens in a process' memory out of core files, and from debuggers of the same user.

#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::process::{Resource, Rlimit, setrlimit};

/// No core file is written of this process, whatever its limits were. The application is started by
/// other processes, so that its own core files stay.
pub fn no_core_dump() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Where the system forbids it, the process goes on as it was: the other one mostly works.
    let _ = setrlimit(Resource::Core, none);
    #[cfg(target_os = "linux")]
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
