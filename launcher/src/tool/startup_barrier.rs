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
//!
//! A rank's supervisor begins with the note `runs-RANK`, which holds the processors that the rank
//! may use: tool processes leave them to it ([`super::processors`]).
//!
//! Before all that, every process leaves `here-PROCESS` where the tool process is to find out whose
//! ranks it serves.
//!
//! One more note, `through-RANK`, is left later, and only where a rank's tool place is gone: the
//! rank is in `MPI_Finalize` or has ended.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const BEGAN: &str = "began";
const ENDED: &str = "ended-";
const LEFT: &str = "left-";
const THROUGH: &str = "through-";
const FAILED: &str = "failed-";
const RUNS_ON: &str = "runs-";
const HERE: &str = "here-";
/// How long the tool process waits for the others of its node to start: as long as a rank that is
/// held from the start waits for the tool process.
const GATHER: Duration = Duration::from_secs(60);
/// How long the last one waits for tool processes that the launcher has not even started yet.
const LEAVE: Duration = Duration::from_secs(10);

/// How long a rank that cannot be started keeps its exit status back for that.
const TIDY: Duration = Duration::from_secs(1);

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

    /// Ranks on this node.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Notes the processors that a rank may use.
    pub fn runs_on(&self, rank: u32, processors: &str) {
        // Written under another name first, as [`StartupBarrier::began`] does.
        let beside = self.dir.join(format!("running-{rank}"));
        let note = self.dir.join(format!("{RUNS_ON}{rank}"));
        let _ = std::fs::write(&beside, processors).and_then(|()| std::fs::rename(&beside, note));
    }

    /// The processors of the ranks that have noted them.
    pub fn running_on(&self) -> Vec<String> {
        let notes = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let is_one =
            |name: std::ffi::OsString| name.as_encoded_bytes().starts_with(RUNS_ON.as_bytes());
        notes
            .filter(|note| is_one(note.file_name()))
            .filter_map(|note| std::fs::read_to_string(note.path()).ok())
            .collect()
    }

    /// Notes that this process of the job is on the node.
    pub fn is_here(&self, process: u32) {
        self.note(&format!("{HERE}{process}"));
    }

    /// Waits for the notes of so many processes of the node, and gives their world ranks,
    /// ascending; nothing where `parent` is gone or they do not come.
    pub fn gather(&self, processes: u32, parent: u32) -> Option<Vec<u32>> {
        let since = Instant::now();
        loop {
            let here = self.here();
            if here.len() >= processes as usize {
                return (here.len() == processes as usize).then_some(here);
            }
            if since.elapsed() > GATHER || std::os::unix::process::parent_id() != parent {
                return None;
            }
            std::thread::sleep(poll_interval(since));
        }
    }

    fn here(&self) -> Vec<u32> {
        let notes = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let process = |note: std::fs::DirEntry| {
            let name = note.file_name();
            name.to_str()?.strip_prefix(HERE)?.parse().ok()
        };
        let mut here: Vec<u32> = notes.filter_map(process).collect();
        here.sort_unstable();
        here
    }

    /// Notes that a rank ended before.
    pub fn ended(&self, rank: u32) {
        self.note(&format!("{ENDED}{rank}"));
    }

    /// Notes that a rank without its tool place is in `MPI_Finalize`, or has ended.
    pub fn through(&self, rank: u32) {
        self.note(&format!("{THROUGH}{rank}"));
    }

    /// Whether no rank works any more, where all are without their tool place.
    pub fn all_through(&self) -> bool {
        self.count(THROUGH) + self.count(ENDED) >= self.ranks
    }

    /// Notes that this program cannot be started; whether this process is the first to do so. Ranks
    /// of several programs may be on one line, each of which the user wants to be told of once.
    pub fn is_first_to_fail(&self, program: &OsStr) -> bool {
        // Names of programs have slashes, and may be longer than names of files.
        let number = program.as_bytes().iter().fold(0u64, |number, byte| {
            number.wrapping_mul(31).wrapping_add(u64::from(*byte))
        });
        let note = self.dir.join(format!("{FAILED}{number:x}"));
        let made = std::fs::File::create_new(note);
        // Where nothing can be noted, rather often than never.
        made.map_or_else(|error| error.kind() != ErrorKind::AlreadyExists, |_| true)
    }

    /// Whether a program could not be started here.
    pub fn has_failed(&self) -> bool {
        self.count(FAILED) > 0
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

    /// Waits, not for ever, until the last tool process has removed the directory, or `parent` is
    /// gone. A launcher that sees a process fail starts none of those that it has not started yet:
    /// nobody would remove it then.
    pub fn wait_for_removal(&self, parent: u32) {
        let since = Instant::now();
        let waits = || since.elapsed() < TIDY && std::os::unix::process::parent_id() == parent;
        while self.dir.exists() && waits() {
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

    /// A rank that never called MPI ends, the others come to `MPI_Finalize`.
    #[test]
    fn each_rank_has_to_be_through() {
        let dir = tempfile::tempdir().expect("directory");
        let barrier = StartupBarrier::new(dir.path(), 3);
        barrier.ended(2);
        barrier.through(0);
        barrier.through(0);
        assert!(!barrier.all_through());
        barrier.through(1);
        assert!(barrier.all_through());
    }

    /// Nobody is waited for in a job that is being killed.
    #[test]
    fn a_killed_job_waits_for_no_tool_process() {
        let dir = tempfile::tempdir().expect("directory");
        let begun = Instant::now();
        StartupBarrier::new(dir.path(), 1).wait_for_tools(1, 1 << 30);
        assert!(begun.elapsed() < LEAVE / 2, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_failed_rank_ends_behind_the_last_tool_process() {
        let dir = tempfile::tempdir().expect("directory");
        let barrier = StartupBarrier::new(dir.path(), 1);
        barrier.ended(0);
        let late = barrier.clone();
        let root = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            late.close(0, std::os::unix::process::parent_id());
        });
        barrier.wait_for_removal(std::os::unix::process::parent_id());
        assert!(!dir.path().exists(), "not before the root");
        root.join().expect("removed");
        // Nobody waits where the launcher is gone.
        let kept = tempfile::tempdir().expect("directory");
        StartupBarrier::new(kept.path(), 1).wait_for_removal(1 << 30);
        assert!(kept.path().exists());
    }

    #[test]
    fn the_tool_process_gathers_its_node() {
        let dir = tempfile::tempdir().expect("directory");
        let barrier = StartupBarrier::new(dir.path(), 2);
        for process in [12, 3] {
            barrier.is_here(process);
        }
        let late = barrier.clone();
        let last = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            late.is_here(7);
        });
        let parent = std::os::unix::process::parent_id();
        assert_eq!(barrier.gather(3, parent), Some(vec![3, 7, 12]));
        last.join().expect("noted");
        assert_eq!(
            barrier.gather(2, parent),
            None,
            "more than the launcher said"
        );
        assert_eq!(barrier.gather(4, 1 << 30), None, "the job is being killed");
        assert_eq!(barrier.stage(), Stage::Waiting, "nobody has ended");
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
