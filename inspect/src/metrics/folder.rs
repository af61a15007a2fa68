//! The folder of a process in /proc, and its files.
//!
//! It stays that of this process: of one that has its number later nothing is read.

use invivo_proto::control::metrics::NoMetric;
use rustix::fs::{Access, AtFlags, CWD, Dir, Mode, OFlags, accessat, openat, statat};
use rustix::io::{Errno, pread};
use rustix::path::Arg;
use rustix::process::{Pid, test_kill_process};
use std::borrow::Cow;
use std::os::fd::OwnedFd;

/// Bytes that are read at first, which is enough as a rule, and bytes that are read at most.
const BYTES_MIN: usize = 4096;
const BYTES_MAX: usize = 1 << 20;

/// The folder of a process.
pub struct Folder(OwnedFd);

impl Folder {
    /// Of this process.
    ///
    /// # Errors
    /// That it is gone, or hidden from us.
    pub fn open(pid: Pid) -> Result<Folder, NoMetric> {
        match Folder::at(format!("/proc/{}", pid.as_raw_nonzero())) {
            Ok(folder) => Ok(folder),
            // /proc may be mounted in a way that shows nothing of other users.
            Err(Errno::NOENT) if test_kill_process(pid) == Err(Errno::SRCH) => Err(NoMetric::Ended),
            Err(Errno::NOENT) => Err(NoMetric::Unreadable),
            Err(error) => Err(reason(error)),
        }
    }

    /// One that has this path.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn at(path: impl Arg) -> Result<Folder, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(CWD, path, flags, Mode::empty()).map(Folder)
    }

    /// Whether the process is still there; it is until somebody has waited for its end.
    pub fn is_there(&self) -> bool {
        self.has("stat")
    }

    fn has(&self, path: &str) -> bool {
        accessat(&self.0, path, Access::EXISTS, AtFlags::empty()).is_ok()
    }

    /// Opens a file about the whole process.
    ///
    /// # Errors
    /// Why that cannot be.
    pub fn file(&self, name: &str) -> Result<Kept, NoMetric> {
        self.open_file(name).map_err(|error| match error {
            Errno::NOENT if self.is_there() => NoMetric::Unsupported,
            Errno::NOENT => NoMetric::Ended,
            other => reason(other),
        })
    }

    /// Opens a file about one thread.
    ///
    /// # Errors
    /// Why that cannot be.
    pub fn file_of_thread(&self, tid: i32, name: &str) -> Result<Kept, NoMetric> {
        let file = self.open_file(&format!("task/{tid}/{name}"));
        file.map_err(|error| match error {
            Errno::NOENT if self.has(&format!("task/{tid}/stat")) => NoMetric::Unsupported,
            Errno::NOENT => NoMetric::Ended,
            other => reason(other),
        })
    }

    fn open_file(&self, path: &str) -> Result<Kept, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        openat(&self.0, path, flags, Mode::empty()).map(Kept)
    }

    /// Its threads, the oldest first as a rule. Some may be missing where threads end meanwhile.
    ///
    /// # Errors
    /// Why they cannot be listed.
    pub fn tids(&self) -> Result<Vec<i32>, NoMetric> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let task = openat(&self.0, "task", flags, Mode::empty()).and_then(Dir::new);
        let entries = task.map_err(gone_or)?.flatten();
        let mut tids: Vec<i32> = entries
            .filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok())
            .collect();
        tids.sort_unstable();
        Ok(tids)
    }

    /// How many threads it has. Unlike their list, this takes no descriptor.
    pub fn threads(&self) -> Option<usize> {
        let task = statat(&self.0, "task", AtFlags::empty()).ok()?;
        // Each is a folder in it, which has two links without any.
        usize::try_from(task.st_nlink).ok()?.checked_sub(2)
    }
}

/// A file that is kept open.
pub struct Kept(OwnedFd);

impl Kept {
    /// What it says now. Names in it may be no UTF-8.
    ///
    /// # Errors
    /// Why it says nothing: that its process or thread has ended, above all.
    pub fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> Result<Cow<'a, str>, NoMetric> {
        if buffer.is_empty() {
            buffer.resize(BYTES_MIN, 0);
        }
        loop {
            let length = pread(&self.0, &mut **buffer, 0).map_err(reason)?;
            // The end may be missing: on large machines lists of processors are long.
            if length == buffer.len() && length < BYTES_MAX {
                buffer.resize(2 * length, 0);
                continue;
            }
            return Ok(String::from_utf8_lossy(&buffer[..length]));
        }
    }
}

/// Of what each process has.
fn gone_or(error: Errno) -> NoMetric {
    match error {
        Errno::NOENT => NoMetric::Ended,
        other => reason(other),
    }
}

/// Why a file that is there cannot be opened or read.
fn reason(error: Errno) -> NoMetric {
    match error {
        Errno::SRCH => NoMetric::Ended,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => NoMetric::NoRoom,
        // Above all EACCES and EPERM.
        _ => NoMetric::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn long_files_are_read_whole() {
        let mut file = tempfile::tempfile().expect("a file");
        let text = "cpus: 0-1\n".repeat(1000);
        file.write_all(text.as_bytes()).expect("room");
        let kept = Kept(file.into());
        let mut buffer = Vec::new();
        for _ in 0..2 {
            let read = kept.read(&mut buffer);
            assert_eq!(read.as_deref(), Ok(&*text));
        }
        assert!(buffer.len() > text.len() && buffer.len() <= BYTES_MAX);
    }

    #[test]
    fn errors_of_the_kernel_have_reasons() {
        for (errno, expected) in [
            (Errno::ACCESS, NoMetric::Unreadable),
            (Errno::PERM, NoMetric::Unreadable),
            (Errno::SRCH, NoMetric::Ended),
            (Errno::MFILE, NoMetric::NoRoom),
        ] {
            assert_eq!(reason(errno), expected, "{errno:?}");
        }
    }

    #[test]
    fn a_file_that_the_kernel_lacks_is_unsupported() {
        let own = rustix::process::getpid();
        let folder = Folder::open(own).expect("our own");
        let why = |kept: Result<Kept, NoMetric>| kept.err();
        assert_eq!(why(folder.file("no-stat")), Some(NoMetric::Unsupported));
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let missing = |tid| why(folder.file_of_thread(tid, "no-stat"));
        assert_eq!(missing(own), Some(NoMetric::Unsupported));
        assert_eq!(missing(i32::MAX), Some(NoMetric::Ended), "no thread");
        assert!(folder.threads() >= Some(1));
        assert!(folder.is_there() && folder.tids().is_ok_and(|tids| tids.contains(&own)));
        let nobody = Pid::from_raw(i32::MAX).expect("a number");
        assert_eq!(Folder::open(nobody).err(), Some(NoMetric::Ended));
    }
}
