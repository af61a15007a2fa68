//! Runtime directories that nobody removes: Slurm may kill all processes of a step on a node at
//! once. The next job of the same user on that node removes them.
//!
//! A directory is an orphan when the launcher in its name is gone, and when nobody holds it: a
//! launcher in another PID namespace looks as if it were gone, a lock does not.

use crate::directories::remove_runtime_dir;
use crate::process_stat;
use std::fs::File;
use std::path::Path;

/// The file in a runtime directory that every process of the job has locked, shared.
const HELD: &str = "held";
/// Directories that one job looks at: more than a user has at once, and an end for a folder that
/// somebody has filled.
const LOOKED_AT_MAX: usize = 256;

/// Holds a runtime directory until this process ends, and with it those that it becomes or forks.
/// Where that is not possible, the directory is one that the next job may take for an orphan, once
/// its launcher is gone.
pub fn hold_runtime_dir(dir: &Path) {
    let held = File::options()
        .create(true)
        .append(true)
        .open(dir.join(HELD));
    if let Ok(file) = held
        && file.lock_shared().is_ok()
    {
        // The kernel takes the lock back with the process.
        std::mem::forget(file);
    }
}

/// Removes orphans beside this runtime directory.
pub fn remove_orphans(dir: &Path) {
    let Some(base) = dir.parent() else { return };
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    let others = entries.map(|entry| entry.path()).filter(|path| path != dir);
    for orphan in others.take(LOOKED_AT_MAX).filter(|path| is_orphan(path)) {
        // Somebody else may be about to do it as well.
        let _ = remove_runtime_dir(&orphan);
    }
}

fn is_orphan(dir: &Path) -> bool {
    let Some((pid, start)) = dir.file_name().and_then(|name| launcher_of(name.to_str()?)) else {
        return false;
    };
    let lives = process_stat::stat(pid).is_some_and(|stat| stat.start == start);
    // Without the file the directory is only just being made, or half removed.
    let is_nameless = dir
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
    let held = || File::open(dir.join(HELD)).map_or(!is_nameless, |file| file.try_lock().is_err());
    !lives && !held()
}

/// The launcher's process and its start, from `JOB-PID.START`, or from the name that a directory
/// has while it is removed, `.JOB-PID.START-REMOVER`: who did that may have been killed, too.
fn launcher_of(mut name: &str) -> Option<(i32, u64)> {
    while let Some(nameless) = name.strip_prefix('.') {
        (name, _) = nameless.rsplit_once('-')?;
    }
    let (job, start) = name.rsplit_once('.')?;
    let (_, pid) = job.rsplit_once('-')?;
    Some((pid.parse().ok()?, start.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::DirBuilderExt;

    #[test]
    fn only_what_nobody_holds_is_an_orphan() {
        let base = tempfile::tempdir().expect("a directory");
        let make = |name: &str, held: bool| {
            let dir = base.path().join(name);
            std::fs::DirBuilder::new()
                .mode(0o700)
                .create(&dir)
                .expect("a directory");
            if held {
                std::fs::write(dir.join(HELD), "").expect("a file");
            }
            dir
        };
        // The largest number of a process is below 2^22.
        let gone = 1 << 23;
        let half_removed = make(&format!(".a.b-{gone}.8-77"), false);
        let mine = make(&format!("mine-{gone}.1"), true);
        let orphan = make(&format!("a.b-{gone}.7"), true);
        let me = std::process::id() as i32;
        let start = process_stat::stat(me).expect("this process").start;
        let running = make(&format!("a-{me}.{start}"), true);
        let reused = make(&format!("a-{me}.{}", start + 1), true);
        let new = make(&format!("b-{gone}.7"), false);
        let other = make("other", true);
        let preload = make(".preload", true);
        let held = make(&format!("c-{gone}.7"), true);
        // A lock of another open file, as another process has it.
        let lock = File::open(held.join(HELD)).expect("the file");
        lock.lock_shared().expect("the lock");
        remove_orphans(&mine);
        for (dir, stays) in [
            (&mine, true),
            (&orphan, false),
            (&half_removed, false),
            (&running, true),
            (&reused, false),
            (&new, true),
            (&other, true),
            (&preload, true),
            (&held, true),
        ] {
            assert_eq!(dir.exists(), stays, "{}", dir.display());
        }
    }

    #[test]
    fn a_held_directory_stays() {
        let base = tempfile::tempdir().expect("a directory");
        let dir = base.path().join("a-8388608.7");
        std::fs::create_dir(&dir).expect("a directory");
        hold_runtime_dir(&dir);
        remove_orphans(&base.path().join("mine"));
        assert!(dir.exists());
    }
}
