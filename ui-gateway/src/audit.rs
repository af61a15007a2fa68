//! The audit log: who gave which control command, and how it went. In a file beside `connect.json`,
//! in the gateway's own log, and the newest entries for those who ask.

pub mod file;
pub mod ring;

use crate::auth::Caller;
use crate::door::Peer;
use crate::limits;
use crate::rate::{Bucket, Rate};
use file::LogFile;
use invivo_grpc::v1::AuditEntry;
use ring::Ring;
use serde::Serialize;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// What happened to a command.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// It was sent to the root.
    Sent {
        /// The command.
        command_id: u64,
        /// In words; empty of a command that has none.
        #[serde(skip_serializing_if = "str::is_empty")]
        arguments: String,
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

impl Event {
    /// How it went, in words.
    fn outcome(&self) -> String {
        match self {
            Event::Sent { .. } => String::new(),
            Event::Answered {
                targets,
                done,
                took_ns,
                ..
            } => format!(
                "done on {done} of {targets} ranks in {:.1} ms",
                *took_ns as f64 / 1e6
            ),
            Event::Failed { why, .. } => format!("failed: {why}"),
            Event::Denied => "denied: the token opens only the scope view".to_owned(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    unix_ns: u64,
    sequence: u64,
    verb: &'a str,
    uid: Option<u32>,
    pid: Option<i32>,
    peer: Peer,
    client: &'a str,
    scope: &'static str,
    #[serde(flatten)]
    event: &'a Event,
}

/// A command that is under way.
#[derive(Debug)]
pub struct UnderWay {
    sequence: u64,
    verb: &'static str,
    caller: Caller,
}

/// A handle on the log.
#[derive(Clone, Debug)]
pub struct Audit {
    file: LogFile,
    ring: watch::Sender<Ring>,
    denials: Arc<Mutex<Bucket>>,
}

impl Audit {
    /// A log in `dir`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn open(dir: &Path) -> std::io::Result<Audit> {
        let denials = const { Rate::per_minute(limits::DENIALS_PER_MINUTE, limits::DENIALS_BURST) };
        Ok(Audit {
            file: LogFile::open(dir)?,
            ring: watch::Sender::new(Ring::default()),
            denials: Arc::new(Mutex::new(Bucket::new(denials))),
        })
    }

    /// Waits until all lines so far are written, at most `time_max`; false when they are not.
    pub fn flush(&self, time_max: Duration) -> bool {
        self.file.flush(time_max)
    }

    /// The newest entries, now and later.
    pub fn ring(&self) -> watch::Receiver<Ring> {
        self.ring.subscribe()
    }

    /// Notes a command that is sent to the root.
    pub fn begin(
        &self,
        verb: &'static str,
        caller: Caller,
        command_id: u64,
        arguments: String,
    ) -> UnderWay {
        let entry = entry(verb, &caller, command_id, arguments.clone());
        let sequence = self.enter(entry);
        let event = Event::Sent {
            command_id,
            arguments,
        };
        self.write(verb, &caller, sequence, &event);
        UnderWay {
            sequence,
            verb,
            caller,
        }
    }

    /// Notes how it went.
    pub fn end(&self, under_way: &UnderWay, event: &Event) {
        let UnderWay {
            sequence,
            verb,
            caller,
        } = under_way;
        self.ring
            .send_modify(|ring| ring.end(*sequence, event.outcome()));
        self.write(verb, caller, *sequence, event);
    }

    /// Notes a command that the caller may not give; who tries often is not noted every time.
    pub fn denied(&self, verb: &str, caller: &Caller) {
        let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
        if denials.take(Instant::now()).is_err() {
            return;
        }
        drop(denials);
        let mut entry = entry(verb, caller, 0, String::new());
        entry.outcome = Event::Denied.outcome();
        let sequence = self.enter(entry);
        self.write(verb, caller, sequence, &Event::Denied);
    }

    fn enter(&self, entry: AuditEntry) -> u64 {
        let mut sequence = 0;
        self.ring.send_modify(|ring| sequence = ring.begin(entry));
        sequence
    }

    fn write(&self, verb: &str, caller: &Caller, sequence: u64, event: &Event) {
        let Caller {
            peer,
            client,
            scope,
            ..
        } = caller;
        let (uid, pid) = user(peer);
        tracing::info!(verb, %peer, uid, pid, client, scope = scope.name(), ?event, "control command");
        let line = Line {
            unix_ns: unix_ns(),
            sequence,
            verb,
            uid,
            pid,
            peer: *peer,
            client,
            scope: scope.name(),
            event,
        };
        let queued = serde_json::to_string(&line).is_ok_and(|line| self.file.append(line));
        if !queued {
            tracing::error!(
                verb,
                "the audit log does not keep up: a line is in this log only"
            );
        }
    }
}

fn entry(verb: &str, caller: &Caller, command_id: u64, arguments: String) -> AuditEntry {
    let (uid, pid) = user(&caller.peer);
    AuditEntry {
        sequence: 0,
        unix_ns: unix_ns(),
        uid,
        pid: pid.and_then(|pid| pid.try_into().ok()),
        client: caller.client.clone(),
        command: verb.to_owned(),
        command_id,
        arguments,
        outcome: String::new(),
        peer: caller.peer.to_string(),
    }
}

fn user(peer: &Peer) -> (Option<u32>, Option<i32>) {
    match peer {
        Peer::Unix { uid, pid } => (Some(*uid), *pid),
        Peer::Tcp(_) => (None, None),
    }
}

fn unix_ns() -> u64 {
    let unix = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    unix.as_nanos().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::ring::Reader;
    use crate::auth::Scope;

    fn caller(peer: Peer, scope: Scope) -> Caller {
        Caller {
            peer,
            client: "a script".into(),
            scope,
        }
    }

    #[test]
    fn lines_and_entries_say_who_did_what_and_how_it_went() {
        let dir = tempfile::tempdir().expect("directory");
        let audit = Audit::open(dir.path()).expect("opened");
        let user = Peer::Unix {
            uid: 1000,
            pid: Some(42),
        };
        let under_way = audit.begin("pause", caller(user, Scope::Control), 8, "lease 5 s".into());
        let answered = Event::Answered {
            command_id: 8,
            targets: 4,
            done: 3,
            took_ns: 2_500_000,
        };
        audit.end(&under_way, &answered);
        let stranger = Peer::Tcp("10.0.0.9:4000".parse().expect("an address"));
        audit.denied("reset", &caller(stranger, Scope::View));
        assert!(audit.flush(Duration::from_secs(10)));

        let text = std::fs::read_to_string(dir.path().join(file::FILE_NAME)).expect("read");
        let mut lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("json"))
            .collect();
        for line in &mut lines {
            let time = line.as_object_mut().expect("object").remove("unix_ns");
            assert!(time.and_then(|time| time.as_u64()).expect("time") > 0);
        }
        let expected = serde_json::json!([
            {"sequence": 1, "verb": "pause", "uid": 1000, "pid": 42, "peer": "unix", "client": "a script",
             "scope": "control", "event": "sent", "command_id": 8, "arguments": "lease 5 s"},
            {"sequence": 1, "verb": "pause", "uid": 1000, "pid": 42, "peer": "unix", "client": "a script",
             "scope": "control", "event": "answered", "command_id": 8, "targets": 4, "done": 3, "took_ns": 2_500_000},
            {"sequence": 2, "verb": "reset", "uid": null, "pid": null, "peer": "10.0.0.9:4000", "client": "a script",
             "scope": "view", "event": "denied"},
        ]);
        assert_eq!(serde_json::Value::from(lines), expected);

        let ring = audit.ring();
        let ring = ring.borrow();
        let mut reader = Reader::begin(&ring);
        let first = reader.next(&ring).expect("an entry");
        assert_eq!(
            (first.uid, first.pid, first.peer.as_str()),
            (Some(1000), Some(42), "unix")
        );
        assert_eq!(
            (first.command_id, first.arguments.as_str()),
            (8, "lease 5 s")
        );
        assert_eq!(first.outcome, "done on 3 of 4 ranks in 2.5 ms");
        let second = reader.next(&ring).expect("an entry");
        assert_eq!((second.uid, second.peer.as_str()), (None, "10.0.0.9:4000"));
        assert!(second.outcome.starts_with("denied"));
        assert!(reader.next(&ring).is_none());
    }

    #[test]
    fn who_is_denied_often_does_not_push_out_what_was_done() {
        let dir = tempfile::tempdir().expect("directory");
        let audit = Audit::open(dir.path()).expect("opened");
        let peer = Peer::Unix { uid: 1, pid: None };
        drop(audit.begin("pause", caller(peer, Scope::Control), 1, String::new()));
        for _ in 0..2 * limits::AUDIT_ENTRIES_MAX {
            audit.denied("reset", &caller(peer, Scope::View));
        }
        let ring = audit.ring();
        let ring = ring.borrow();
        let mut reader = Reader::begin(&ring);
        let entries = std::iter::from_fn(|| reader.next(&ring)).count();
        assert!((2..100).contains(&entries), "{entries}");
    }
}
