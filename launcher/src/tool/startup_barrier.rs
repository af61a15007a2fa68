//! Tool processes wait with `MPI_Init` until a rank of the application is in it.
//!
//! A program may end without ever calling MPI: it prints its usage, or is no MPI program at all.
//! Were the tool processes in `MPI_Init` by then, they would wait there for ever (MPICH), or the
//! launcher would take the program's end for a failure (Open MPI). So they wait outside, and leave
//! when all ranks have.
//!
//! The ranks' supervisors leave notes, files in the job's directory on this node: `began` when a
//! rank is in `MPI_Init` (it names the MPI library that the rank has loaded, which the tool
//! processes load, too), and empty ones: `ended-RANK` when one ended before. A tool process that
//! leaves because of that notes `left-PROCESS`, for which the last one waits before it removes the
//! directory: one that starts late would find no notes. With several nodes, each has ranks of its
//! own, whose notes its own tool processes read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const BEGAN: &str = "began";
const ENDED: &str = "ended-";
const LEFT: &str = "left-";
/// How long the last one waits for tool processes that the launcher has not even started yet.
const LEAVE: Duration = Duration::from_secs(10);

/// Between two polls for something that no event announces: short at first, because most programs
/// call MPI at once, and longer after a second, because some compute for hours before.
pub fn poll_interval(since: Instant) -> Duration {
    if since.elapsed() < Duration::from_secs(1) {
        Duration::from_millis(5)
    } else {
        Duration::from_millis(50)
    }
}

/// How far the application is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No rank has called MPI, and some run.
    Waiting,
    /// A rank is in `MPI_Init`, or was.
    Began,
    /// All ranks have ended without MPI.
    Over,
}

/// The notes of one job on one node.
#[derive(Clone, Debug)]
pub struct StartupBarrier {
    dir: PathBuf,
    ranks: u32,
}

impl StartupBarrier {
    /// Of a job with `ranks` ranks on this node whose directory here is `dir`.
    pub fn new(dir: &Path, ranks: u32) -> StartupBarrier {
        StartupBarrier {
            dir: dir.to_owned(),
            ranks,
        }
    }

    /// Notes that a rank is in `MPI_Init`, and with which library where that can be seen.
    pub fn began(&self, library: Option<&Path>) {
        let name = library.map_or(&b""[..], |file| file.as_os_str().as_bytes());
        // Written under another name first: tool processes read it as soon as it is there.
        let beside = self.dir.join(format!("begins-{}", std::process::id()));
        // Where it cannot be written the tool processes cannot have sockets either: they end the
        // job.
        let _ = std::fs::write(&beside, name)
            .and_then(|()| std::fs::rename(&beside, self.dir.join(BEGAN)));
    }

    /// The library that the ranks have loaded, once one began.
    pub fn library(&self) -> Option<PathBuf> {
        let name = std::fs::read(self.dir.join(BEGAN)).ok()?;
        (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(&name)))
    }

    /// Notes that a rank ended before.
    pub fn ended(&self, rank: u32) {
        self.note(&format!("{ENDED}{rank}"));
    }

    /// Notes that a tool process leaves, because all ranks have ended.
    pub fn left(&self, process: u32) {
        self.note(&format!("{LEFT}{process}"));
    }

    /// Waits, not for ever, until so many tool processes have left, or the process that started
    /// this one, `parent`, is gone: then the job is being killed, and others may not have noted
    /// that they leave.
    pub fn wait_for_tools(&self, tools: u32, parent: u32) {
        let since = Instant::now();
        let waits = || since.elapsed() < LEAVE && std::os::unix::process::parent_id() == parent;
        while self.count(LEFT) < tools && waits() {
            std::thread::sleep(poll_interval(since));
        }
    }

    /// Waits as [`StartupBarrier::wait_for_tools`] does, and then removes the directory.
    pub fn close(&self, tools: u32, parent: u32) {
        self.wait_for_tools(tools, parent);
        // It may be gone because the job is to end.
        let _ = invivo_jobdir::remove_runtime_dir(&self.dir);
    }

    fn count(&self, kind: &str) -> u32 {
        let notes = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let of_kind =
            |name: std::ffi::OsString| name.as_encoded_bytes().starts_with(kind.as_bytes());
        notes.map(|note| u32::from(of_kind(note.file_name()))).sum()
    }

    fn note(&self, name: &str) {
        // Where it cannot be written the tool processes have no sockets there either.
        let _ = std::fs::File::create(self.dir.join(name));
    }

    /// How far the application is.
    pub fn stage(&self) -> Stage {
        // A directory that is gone was removed because the job is to end.
        let Ok(notes) = std::fs::read_dir(&self.dir) else {
            return Stage::Over;
        };
        let mut ended = 0;
        for note in notes.flatten() {
            let name = note.file_name();
            if name == BEGAN {
                return Stage::Began;
            }
            ended += u32::from(name.as_encoded_bytes().starts_with(ENDED.as_bytes()));
        }
        if ended >= self.ranks {
            Stage::Over
        } else {
            Stage::Waiting
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_waits_for_a_place_that_starts_late() {
        let dir = tempfile::tempdir().expect("directory");
        let barrier = StartupBarrier::new(dir.path(), 1);
        barrier.ended(0);
        barrier.left(0);
        let late = barrier.clone();
        let place = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(late.stage(), Stage::Over, "the notes are still there");
            late.left(1);
        });
        barrier.close(2, std::os::unix::process::parent_id());
        place.join().expect("seen");
        assert!(!dir.path().exists(), "the last one tidies up");
    }

    /// Nobody is waited for in a job that is being killed.
    #[test]
    fn a_killed_job_waits_for_no_tool_process() {
        let dir = tempfile::tempdir().expect("directory");
        let begun = Instant::now();
        StartupBarrier::new(dir.path(), 1).wait_for_tools(1, 1 << 30);
        assert!(begun.elapsed() < LEAVE / 2, "{:?}", begun.elapsed());
    }

    /// One rank in mpi is enough and without it all must have ended.
    #[test]
    fn one_rank_in_mpi_suffices_else_all_must_end() {
        let dir = tempfile::tempdir().expect("directory");
        let barrier = StartupBarrier::new(dir.path(), 2);
        assert_eq!(barrier.stage(), Stage::Waiting);
        barrier.ended(1);
        barrier.ended(1);
        assert_eq!(barrier.stage(), Stage::Waiting);
        std::fs::write(dir.path().join("gateway.sock"), "").expect("written");
        assert_eq!(barrier.stage(), Stage::Waiting, "other files say nothing");
        barrier.ended(0);
        assert_eq!(barrier.stage(), Stage::Over);
        assert_eq!(barrier.library(), None);
        barrier.began(Some(Path::new("/opt/libmpi.so.12")));
        assert_eq!(
            barrier.library().as_deref(),
            Some(Path::new("/opt/libmpi.so.12"))
        );
        assert_eq!(
            barrier.stage(),
            Stage::Began,
            "a rank that began needs the tools, whoever ended"
        );
        std::fs::remove_dir_all(dir.path()).expect("removed");
        assert_eq!(barrier.stage(), Stage::Over);
    }
}
