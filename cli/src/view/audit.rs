//! The audit log's lines.

use invivo_grpc::v1::AuditEntry;
use std::time::{Duration, UNIX_EPOCH};

/// "2026-11-21T13:28:47Z  pause lease 600 s  (uid 1000, process 4711, invivo 0.1.0): paused 8 of 8
/// ranks".
pub fn line(entry: &AuditEntry) -> String {
    let at = UNIX_EPOCH
        // A clock that is far off must not end this program.
        .checked_add(Duration::from_nanos(entry.unix_ns))
        .unwrap_or(UNIX_EPOCH);
    let mut text = format!(
        "{}  {}",
        humantime::format_rfc3339_seconds(at),
        entry.command
    );
    if !entry.arguments.is_empty() {
        text.push_str(&format!(" {}", entry.arguments));
    }
    let mut who = Vec::new();
    who.extend(entry.uid.map(|uid| format!("uid {uid}")));
    who.extend(entry.pid.map(|pid| format!("process {pid}")));
    // Over the Unix socket the kernel vouches for user and process; a peer address is TCP's.
    if entry.uid.is_none() && !entry.peer.is_empty() {
        who.push(format!("from {}", entry.peer));
    }
    if !entry.client.is_empty() {
        who.push(entry.client.clone());
    }
    if !who.is_empty() {
        text.push_str(&format!("  ({})", who.join(", ")));
    }
    let outcome = if entry.outcome.is_empty() {
        "under way"
    } else {
        &entry.outcome
    };
    text.push_str(&format!(": {outcome}"));
    // A client chooses its own name.
    invivo_report::terminal::line(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_when_what_who_and_how() {
        let entry = AuditEntry {
            sequence: 3,
            unix_ns: 1_700_000_000_123_456_789,
            uid: Some(1000),
            pid: Some(4711),
            client: "invivo\x1b[2J 0.1".into(),
            command: "pause".into(),
            arguments: "lease 600 s".into(),
            outcome: "8 of 8 ranks".into(),
            peer: "unix".into(),
            ..AuditEntry::default()
        };
        assert_eq!(
            line(&entry),
            "2023-11-14T22:13:20Z  pause lease 600 s  (uid 1000, process 4711, invivo?[2J 0.1): 8 \
             of 8 ranks"
        );
        let remote = AuditEntry {
            unix_ns: entry.unix_ns,
            command: "reset".into(),
            peer: "10.0.0.7:4000".into(),
            ..AuditEntry::default()
        };
        assert_eq!(
            line(&remote),
            "2023-11-14T22:13:20Z  reset  (from 10.0.0.7:4000): under way"
        );
    }
}
