//! Lines in the log about what strangers try: a few per kind and minute, with the number of those
//! left out.

use crate::limits;
use crate::rate::{Bucket, Rate};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What there is to complain about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The kernel gave no connection.
    Accept,
    /// A connection of another user.
    OtherUser,
    /// A connection that had to make room for newer ones.
    PushedOut,
    /// A connection that was ended by us, or did not speak our language.
    Connection,
    /// A call without a token that opens it.
    Call,
    /// A client beyond the limit.
    Full,
}

/// The complaints; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Complaints {
    kinds: Arc<Mutex<BTreeMap<Kind, Told>>>,
}

#[derive(Debug)]
struct Told {
    bucket: Bucket,
    left_out: u64,
}

impl Complaints {
    /// Whether this one may be written, with the number of those before that were not.
    fn admit(&self, kind: Kind, now: Instant) -> Option<u64> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = const {
            Rate::per_minute(limits::COMPLAINTS_PER_MINUTE, limits::COMPLAINTS_PER_MINUTE)
        };
        let told = kinds.entry(kind).or_insert_with(|| Told {
            bucket: Bucket::new(rate),
            left_out: 0,
        });
        if told.bucket.take(now).is_err() {
            told.left_out += 1;
            return None;
        }
        Some(std::mem::take(&mut told.left_out))
    }

    /// Writes a line, or counts it.
    pub fn tell(&self, kind: Kind, peer: &str, what: &str) {
        if let Some(left_out) = self.admit(kind, Instant::now()) {
            tracing::warn!(peer, left_out, "{what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn kinds_are_apart_and_what_was_left_out_is_counted() {
        let complaints = Complaints::default();
        let begun = Instant::now();
        let most = u64::from(limits::COMPLAINTS_PER_MINUTE);
        for _ in 0..most {
            assert_eq!(complaints.admit(Kind::Call, begun), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(complaints.admit(Kind::Call, begun), None);
        }
        assert_eq!(complaints.admit(Kind::Full, begun), Some(0));
        let later = begun + Duration::from_secs(60);
        assert_eq!(complaints.admit(Kind::Call, later), Some(7));
        assert_eq!(complaints.admit(Kind::Call, later), Some(0));
    }
}
