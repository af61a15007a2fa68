//! The audit log: who gave which control command, and its outcome. It is written to a file beside
//! `connect.json` and to the gateway's own log; the newest entries are kept for the call Audit.

pub mod event;
pub mod file;
pub mod ring;

use crate::auth::caller::Caller;
use crate::connection::peer::Peer;
use crate::limits;
use crate::limits::rate_limit::{Rate, RateLimit};
use event::Event;
use file::LogFile;
use invivo_grpc::v1::AuditEntry;
use ring::Ring;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// A line of `audit.jsonl`.
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

/// The entry of a command in progress.
#[derive(Debug)]
pub struct OpenEntry {
    sequence: u64,
    verb: &'static str,
    caller: Caller,
}

/// The log; clones share it.
#[derive(Clone, Debug)]
pub struct Audit {
    file: LogFile,
    ring: watch::Sender<Ring>,
    /// By why they are refused, so that many of one kind hide none of another: whoever has no token
    /// must not hide what those do who have one.
    denials: Arc<Mutex<BTreeMap<&'static str, Limited>>>,
}

/// Why somebody with a token is denied a command.
const SCOPE: &str = "scope";

/// Lines that are written at a limited rate.
#[derive(Debug)]
struct Limited {
    limit: RateLimit,
    /// Since the last line.
    left_out: u64,
}

impl Limited {
    fn new() -> Limited {
        let rate = const { Rate::per_minute(limits::DENIALS_PER_MINUTE, limits::DENIALS_BURST) };
        Limited {
            limit: RateLimit::new(rate),
            left_out: 0,
        }
    }

    /// The number of those without a line since the last one; nothing where this one has none
    /// either.
    fn admit(&mut self) -> Option<u64> {
        if self.limit.take(Instant::now()).is_err() {
            self.left_out += 1;
            return None;
        }
        Some(std::mem::take(&mut self.left_out))
    }
}

impl Audit {
    /// Opens the log in `dir`.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn open(dir: &Path) -> std::io::Result<Audit> {
        Ok(Audit {
            file: LogFile::open(dir)?,
            ring: watch::Sender::new(Ring::default()),
            denials: Arc::default(),
        })
    }

    /// Waits until all lines so far are written; false if that takes longer than `time_max`.
    pub fn flush(&self, time_max: Duration) -> bool {
        self.file.flush(time_max)
    }

    /// The newest entries, for those who follow the log.
    pub fn ring(&self) -> watch::Receiver<Ring> {
        self.ring.subscribe()
    }

    /// Logs a command before it is sent to the root.
    pub fn begin(
        &self,
        verb: &'static str,
        caller: Caller,
        command_id: u64,
        arguments: String,
    ) -> OpenEntry {
        // The entry gets its sequence number first: the line in the file refers to it.
        let entry = entry(
            verb,
            &caller.peer,
            &caller.client,
            command_id,
            arguments.clone(),
        );
        let mut sequence = 0;
        self.ring.send_modify(|ring| sequence = ring.begin(entry));
        let event = Event::Sent {
            command_id,
            arguments,
        };
        self.write(verb, &caller, sequence, &event);
        OpenEntry {
            sequence,
            verb,
            caller,
        }
    }

    /// Logs the outcome of a command.
    pub fn end(&self, open: &OpenEntry, event: &Event) {
        let OpenEntry {
            sequence,
            verb,
            caller,
        } = open;
        // Kept in memory first: the call Audit does not wait for the file.
        self.ring
            .send_modify(|ring| ring.end(*sequence, event.outcome()));
        self.write(verb, caller, *sequence, event);
    }

    /// Logs a command that the caller's scope does not permit, at a limited rate.
    pub fn denied(&self, verb: &str, caller: &Caller) {
        let Some(left_out) = self.admitted(SCOPE) else {
            return;
        };
        let mut entry = entry(verb, &caller.peer, &caller.client, 0, String::new());
        let event = Event::Denied { left_out };
        entry.outcome = event.outcome();
        let mut sequence = 0;
        self.ring.send_modify(|ring| sequence = ring.denied(entry));
        self.write(verb, caller, sequence, &event);
    }

    /// Logs that somebody without a valid token was refused, at a limited rate.
    pub fn refused(&self, verb: &str, peer: Peer, client: String, why: &'static str) {
        let Some(left_out) = self.admitted(why) else {
            return;
        };
        let event = Event::Refused { why, left_out };
        let mut entry = entry(verb, &peer, &client, 0, String::new());
        entry.outcome = event.outcome();
        let mut sequence = 0;
        self.ring.send_modify(|ring| sequence = ring.refused(entry));
        self.write_as(verb, (peer, &client, "none"), sequence, &event);
    }

    /// Logs that a guest's token was taken back; `numbers` are all that went with it, none where
    /// there was no such guest.
    pub fn revoked(&self, caller: &Caller, guest: u64, numbers: &str) {
        let arguments = format!("guest {guest}");
        let mut entry = entry("revoke", &caller.peer, &caller.client, 0, arguments);
        let event = Event::Revoked {
            guest,
            guests: numbers.to_owned(),
        };
        entry.outcome = event.outcome();
        let mut sequence = 0;
        self.ring.send_modify(|ring| sequence = ring.begin(entry));
        self.write("revoke", caller, sequence, &event);
    }

    /// Whether a line may be written now about somebody who is refused; see [`Limited::admit`].
    fn admitted(&self, why: &'static str) -> Option<u64> {
        let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
        denials.entry(why).or_insert_with(Limited::new).admit()
    }

    fn write(&self, verb: &str, caller: &Caller, sequence: u64, event: &Event) {
        let who = (caller.peer, caller.client.as_str(), caller.scope.name());
        self.write_as(verb, who, sequence, event);
    }

    /// Writes a line about a peer, by its name and scope.
    fn write_as(
        &self,
        verb: &str,
        (peer, client, scope): (Peer, &str, &'static str),
        sequence: u64,
        event: &Event,
    ) {
        let (uid, pid) = user(&peer);
        tracing::info!(
            verb,
            %peer,
            uid,
            pid,
            client,
            scope,
            ?event,
            "control command"
        );

        let line = Line {
            unix_ns: unix_ns(),
            sequence,
            verb,
            uid,
            pid,
            peer,
            client,
            scope,
            event,
        };

        // Never waits for the disk: a command must not be delayed by its log.
        let queued = serde_json::to_string(&line).is_ok_and(|line| self.file.append(line));
        if !queued {
            tracing::error!(
                verb,
                "the audit log does not keep up: a line is in this log only"
            );
        }
    }
}

fn entry(verb: &str, peer: &Peer, client: &str, command_id: u64, arguments: String) -> AuditEntry {
    let (uid, pid) = user(peer);
    AuditEntry {
        sequence: 0,
        unix_ns: unix_ns(),
        uid,
        pid: pid.and_then(|pid| pid.try_into().ok()),
        client: client.to_owned(),
        command: verb.to_owned(),
        command_id,
        arguments,
        outcome: String::new(),
        peer: peer.to_string(),
    }
}

fn user(peer: &Peer) -> (Option<u32>, Option<i32>) {
    match peer {
        Peer::Unix { uid, pid } => (Some(*uid), *pid),
        // TCP gives no user of the peer; the token alone identifies the caller.
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
    use crate::auth::tokens::{Scope, TokenId};
    use tokio_util::sync::CancellationToken;

    fn caller(peer: Peer, scope: Scope) -> Caller {
        Caller {
            peer,
            client: "a script".into(),
            scope,
            token: TokenId::Own(scope),
            revoked: CancellationToken::new(),
        }
    }

    #[test]
    fn lines_and_entries_hold_caller_command_and_outcome() {
        let dir = tempfile::tempdir().expect("directory");
        let audit = Audit::open(dir.path()).expect("opened");
        let user = Peer::Unix {
            uid: 1000,
            pid: Some(42),
        };
        let open = audit.begin("pause", caller(user, Scope::Control), 8, "lease 5 s".into());
        let answered = Event::Answered {
            command_id: 8,
            targets: 4,
            done: 3,
            took_ns: 2_500_000,
        };
        audit.end(&open, &answered);
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
            {"sequence": 1, "verb": "pause", "uid": 1000, "pid": 42, "peer": "unix",
             "client": "a script", "scope": "control", "event": "sent", "command_id": 8,
             "arguments": "lease 5 s"},
            {"sequence": 1, "verb": "pause", "uid": 1000, "pid": 42, "peer": "unix",
             "client": "a script", "scope": "control", "event": "answered", "command_id": 8,
             "targets": 4, "done": 3, "took_ns": 2_500_000},
            {"sequence": 2, "verb": "reset", "uid": null, "pid": null, "peer": "10.0.0.9:4000",
             "client": "a script", "scope": "view", "event": "denied"},
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
    fn denied_commands_do_not_displace_those_carried_out() {
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
