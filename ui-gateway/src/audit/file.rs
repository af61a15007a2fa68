//! The audit log: one line of JSON per event of a control command, beside `connect.json`, and the same in the
//! gateway's own log. It is written by a thread of its own, because the state directory may lie on a network
//! file system that hangs, and a pause must not.

use crate::auth::Caller;
use crate::limits;
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The file's name in the job's directory.
pub const FILE_NAME: &str = "audit.jsonl";

/// What happened to a command.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// It was sent to the root.
    Sent {
        /// The command.
        command_id: u64,
        /// Of a pause: its lease in ns.
        #[serde(skip_serializing_if = "Option::is_none")]
        lease_ns: Option<u64>,
    },
    /// The root answered.
    Answered {
        /// The command.
        command_id: u64,
        /// Ranks that it was meant for.
        targets: u32,
        /// Ranks on which it is done.
        done: u32,
        /// From sending to the answer, in ns.
        took_ns: u64,
    },
    /// There was no answer, or it was no.
    Failed {
        /// The command.
        command_id: u64,
        /// The sentence that the caller was told.
        why: String,
    },
    /// The caller may not.
    Denied,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    unix_ns: u64,
    verb: &'a str,
    #[serde(flatten)]
    caller: Caller,
    #[serde(flatten)]
    event: &'a Event,
}

/// A handle on the log.
#[derive(Clone, Debug)]
pub struct Audit {
    entries: mpsc::SyncSender<Entry>,
}

/// What the writer is told.
enum Entry {
    Line(String),
    /// Answer when everything before is written.
    Flush(mpsc::SyncSender<()>),
}

impl Audit {
    /// A log in `dir`, which is made with its first line, and its thread, which ends with the last handle.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn open(dir: &Path) -> std::io::Result<Audit> {
        let path = dir.join(FILE_NAME);
        let (entries, queue) = mpsc::sync_channel(limits::AUDIT_QUEUE_MAX);
        std::thread::Builder::new().name("audit".to_owned()).spawn(move || {
            while let Ok(entry) = queue.recv() {
                match entry {
                    Entry::Line(line) => {
                        if let Err(error) = append(&path, &line, limits::AUDIT_BYTES_MAX) {
                            tracing::error!(%error, path = %path.display(), "the audit log cannot be written");
                        }
                    }
                    // Who waited may have given up.
                    Entry::Flush(done) => drop(done.send(())),
                }
            }
        })?;
        Ok(Audit { entries })
    }

    /// Waits until all lines so far are written, at most `time_max`; false when they are not.
    pub fn flush(&self, time_max: Duration) -> bool {
        let (done, wait) = mpsc::sync_channel(1);
        self.entries.try_send(Entry::Flush(done)).is_ok() && wait.recv_timeout(time_max).is_ok()
    }

    /// Notes what happened to a command.
    pub fn note(&self, verb: &str, caller: Caller, event: &Event) {
        let Caller { uid, pid, scope } = caller;
        tracing::info!(verb, uid, pid, scope = scope.name(), ?event, "control command");
        let unix_ns = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let line = Line {
            unix_ns: unix_ns.try_into().unwrap_or(u64::MAX),
            verb,
            caller,
            event,
        };
        let queued = serde_json::to_string(&line)
            .is_ok_and(|text| self.entries.try_send(Entry::Line(text + "\n")).is_ok());
        if !queued {
            tracing::error!(verb, "the audit log does not keep up: a line is in this log only");
        }
    }
}

/// Appends a line; a file that has become too long is put aside first, in place of the one put aside before.
fn append(path: &Path, line: &str, bytes_max: u64) -> std::io::Result<()> {
    let open = || File::options().append(true).create(true).mode(0o600).open(path);
    let mut file = open()?;
    if file.metadata()?.len() + line.len() as u64 > bytes_max {
        std::fs::rename(path, aside(path))?;
        file = open()?;
    }
    file.write_all(line.as_bytes())
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("1.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Scope;

    #[test]
    fn lines_say_who_did_what_and_survive_reopening() {
        let dir = tempfile::tempdir().expect("directory");
        let caller = Caller {
            uid: 1000,
            pid: 42,
            scope: Scope::Control,
        };
        for id in [7, 8] {
            let audit = Audit::open(dir.path()).expect("opened");
            audit.note(
                "Pause",
                caller,
                &Event::Sent {
                    command_id: id,
                    lease_ns: Some(5),
                },
            );
            assert!(audit.flush(Duration::from_secs(10)));
        }
        let text = std::fs::read_to_string(dir.path().join(FILE_NAME)).expect("read");
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("json"))
            .collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0]["unix_ns"].as_u64().expect("time") > 0);
        let mut last = lines[1].clone();
        last.as_object_mut().expect("object").remove("unix_ns");
        let expected = serde_json::json!({
            "verb": "Pause", "uid": 1000, "pid": 42, "scope": "control",
            "event": "sent", "command_id": 8, "lease_ns": 5
        });
        assert_eq!(last, expected);
    }

    #[test]
    fn a_long_log_is_put_aside() {
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
