//! Log lines that clients cause without a command, as refused connections and introductions: a few
//! per kind and minute, with the number of suppressed ones, so that nobody can make the log grow.

use super::rate_limit::{Rate, RateLimit};
use crate::limits;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What a line is about. Each kind has a limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogKind {
    /// The kernel gave no connection.
    Accept,
    /// A connection of another user.
    OtherUser,
    /// An unauthenticated connection was closed for a newer one.
    Evicted,
    /// A connection was closed by the gateway or by an error of the protocol.
    Connection,
    /// A call without a valid token, or with too small a scope.
    Call,
    /// A client beyond the limit.
    TooManyClients,
    /// A client has introduced itself.
    Hello,
    /// An invitation was made or used.
    Invitation,
}

/// The log; clones share its limits.
#[derive(Clone, Debug, Default)]
pub struct RateLimitedLog {
    kinds: Arc<Mutex<BTreeMap<LogKind, Lines>>>,
}

#[derive(Debug)]
struct Lines {
    rate_limit: RateLimit,
    suppressed: u64,
}

impl RateLimitedLog {
    /// The number of lines suppressed since the last one; `None` if this one is to be suppressed.
    fn admit(&self, kind: LogKind, now: Instant) -> Option<u64> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let rate =
            const { Rate::per_minute(limits::LOG_LINES_PER_MINUTE, limits::LOG_LINES_PER_MINUTE) };

        let lines = kinds.entry(kind).or_insert_with(|| Lines {
            rate_limit: RateLimit::new(rate),
            suppressed: 0,
        });
        if lines.rate_limit.take(now).is_err() {
            lines.suppressed += 1;
            return None;
        }
        Some(std::mem::take(&mut lines.suppressed))
    }

    /// Writes a line, or counts it as suppressed.
    pub fn warn(&self, kind: LogKind, peer: &str, what: &str) {
        if let Some(left_out) = self.admit(kind, Instant::now()) {
            tracing::warn!(peer, left_out, "{what}");
        }
    }

    /// The same for what is no trouble, and yet as frequent as clients wish.
    pub fn info(&self, kind: LogKind, peer: &dyn Display, client: &str, what: &str) {
        if let Some(left_out) = self.admit(kind, Instant::now()) {
            tracing::info!(%peer, client, left_out, "{what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_kind_has_its_own_limit_and_count() {
        let log = RateLimitedLog::default();
        let begun = Instant::now();
        let most = u64::from(limits::LOG_LINES_PER_MINUTE);
        for _ in 0..most {
            assert_eq!(log.admit(LogKind::Call, begun), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(log.admit(LogKind::Call, begun), None);
        }
        assert_eq!(log.admit(LogKind::TooManyClients, begun), Some(0));
        let later = begun + Duration::from_secs(60);
        assert_eq!(log.admit(LogKind::Call, later), Some(7));
        assert_eq!(log.admit(LogKind::Call, later), Some(0));
    }
}
