//! Writes the audit log's file: one line of JSON per event of a control command.
//!
//! A thread of its own writes it, because the job's directory may lie on a network file system that
//! hangs, and a pause must not wait for it.

use crate::limits;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// The file's name in the job's directory.
pub const FILE_NAME: &str = "audit.jsonl";

/// The file; clones share it.
#[derive(Clone, Debug)]
pub struct LogFile {
    entries: mpsc::SyncSender<Entry>,
}

/// Messages to the writing thread.
enum Entry {
    Line(String),
    /// Answer when all lines before are written.
    Flush(mpsc::SyncSender<()>),
}

impl LogFile {
    /// Starts the thread, which ends with the last handle. The file is created with its first line.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn open(dir: &Path) -> std::io::Result<LogFile> {
        let path = dir.join(FILE_NAME);
        // Bounded: a disk that hangs must not let the queue grow.
        let (entries, queue) = mpsc::sync_channel(limits::AUDIT_QUEUE_MAX);
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || write(&path, &queue))?;
        Ok(LogFile { entries })
    }

    /// Waits until all lines so far are written; false if that takes longer than `time_max`.
    pub fn flush(&self, time_max: Duration) -> bool {
        let (done, wait) = mpsc::sync_channel(1);
        self.entries.try_send(Entry::Flush(done)).is_ok() && wait.recv_timeout(time_max).is_ok()
    }

    /// Queues a line; false if the queue is full because the disk is too slow.
    pub fn append(&self, line: String) -> bool {
        self.entries.try_send(Entry::Line(line + "\n")).is_ok()
    }
}

/// The writing thread.
fn write(path: &Path, queue: &mpsc::Receiver<Entry>) {
    while let Ok(entry) = queue.recv() {
        match entry {
            Entry::Line(line) => {
                if let Err(error) = append(path, &line, limits::AUDIT_BYTES_MAX) {
                    let path = path.display();
                    tracing::error!(%error, %path, "the audit log cannot be written");
                }
            }
            // The waiting caller may have given up.
            Entry::Flush(done) => drop(done.send(())),
        }
    }
}

/// Appends a line. A file that would become longer than `bytes_max` is renamed first, replacing the
/// one renamed before.
fn append(path: &Path, line: &str, bytes_max: u64) -> std::io::Result<()> {
    let open = || {
        File::options()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
    };

    let mut file = open()?;
    // Renamed before the write, so that no line is split between the two files.
    if file.metadata()?.len() + line.len() as u64 > bytes_max {
        std::fs::rename(path, rotated(path))?;
        file = open()?;
    }

    file.write_all(line.as_bytes())
}

fn rotated(path: &Path) -> PathBuf {
    path.with_extension("1.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_reopening_and_stay_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("directory");
        for line in ["one", "two"] {
            let file = LogFile::open(dir.path()).expect("opened");
            assert!(file.append(line.to_owned()));
            assert!(file.flush(Duration::from_secs(10)));
        }
        let path = dir.path().join(FILE_NAME);
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "one\ntwo\n");
        let mode = std::fs::metadata(&path)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_long_log_is_rotated() {
        let dir = tempfile::tempdir().expect("directory");
        let path = dir.path().join(FILE_NAME);
        for line in ["one\n", "two\n", "three\n"] {
            append(&path, line, 8).expect("written");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "three\n");
        assert_eq!(
            std::fs::read_to_string(dir.path().join("audit.1.jsonl")).expect("read"),
            "one\ntwo\n"
        );
    }
}
