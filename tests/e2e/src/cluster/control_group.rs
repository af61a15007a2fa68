//! A control group with a memory limit, as batch systems and containers set it.

use crate::processes::Process;
use crate::remarks::not_tested;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Where the system shows control groups.
const GROUPS: &str = "/sys/fs/cgroup";
/// The longest that the last of a group's processes takes to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// A control group directly below the root. Memory that its processes touch counts, not what they
/// may address. Dropped, it is removed.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
}

impl ControlGroup {
    /// A group whose processes have so many bytes together. Where this machine allows none, that is
    /// said.
    pub fn with_memory(bytes: u64) -> Option<ControlGroup> {
        match ControlGroup::made(bytes) {
            Ok(group) => Some(group),
            Err(why) => {
                not_tested(&format!(
                    "limits of memory: this machine forbids control groups ({why}); run as root"
                ));
                None
            }
        }
    }

    fn made(bytes: u64) -> std::io::Result<ControlGroup> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let all = Path::new(GROUPS);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("invivo-test-{}-{number}", std::process::id());
        let bytes = bytes.to_string();
        // The first version has a hierarchy for memory alone, the second one for all.
        let first = all.join("memory");
        if first.join("memory.limit_in_bytes").exists() {
            let path = first.join(name);
            fs::create_dir(&path)?;
            let group = ControlGroup { path };
            fs::write(group.path.join("memory.limit_in_bytes"), &bytes)?;
            return Ok(group);
        }
        fs::write(all.join("cgroup.subtree_control"), "+memory")?;
        let path = all.join(name);
        fs::create_dir(&path)?;
        let group = ControlGroup { path };
        // Without swap, so that the limit is hit instead of slowing the test down.
        fs::write(group.path.join("memory.max"), &bytes)?;
        fs::write(group.path.join("memory.swap.max"), "0")?;
        Ok(group)
    }

    /// Takes a process in. What it has already is not counted.
    pub fn take_in(&self, process: &Process) {
        let members = self.path.join("cgroup.procs");
        fs::write(members, process.pid.to_string()).expect("a member of the group");
    }

    /// The line of a shell that puts itself into the group.
    pub fn join(&self) -> String {
        format!("echo $$ > {}/cgroup.procs", self.path.display())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let since = Instant::now();
        // The kernel refuses while a process of the group is left.
        while fs::remove_dir(&self.path).is_err() && since.elapsed() < GONE_WITHIN {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
