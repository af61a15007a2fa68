//! The state of one connection: its peer, its admission slot, the client's name, and answers that
//! the client has not read.

use super::admission::{AdmissionSlot, TooManyClients};
use super::peer::Peer;
use crate::limits;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The state of a connection, which every call finds in its request's extensions.
#[derive(Debug)]
pub struct ConnectionState {
    peer: Peer,
    slot: AdmissionSlot,
    refusals: AtomicU32,
    client: Mutex<Client>,
}

#[derive(Debug, Default)]
struct Client {
    name: String,
    last_answer: u64,
    /// Answers of which HTTP/2 has taken a chunk and not asked for the next, since when.
    unread: BTreeMap<u64, Instant>,
}

impl ConnectionState {
    pub fn new(peer: Peer, slot: AdmissionSlot) -> ConnectionState {
        ConnectionState {
            peer,
            slot,
            refusals: AtomicU32::new(0),
            client: Mutex::default(),
        }
    }

    fn client(&self) -> MutexGuard<'_, Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Counts the connection as a client's, after its first valid token.
    ///
    /// # Errors
    /// If there are too many.
    pub fn promote(&self) -> Result<(), TooManyClients> {
        self.slot.promote()
    }

    /// Whether no valid token has been shown yet.
    pub fn is_unauthenticated(&self) -> bool {
        self.slot.is_unauthenticated()
    }

    /// Counts a call without a valid token; too many close the connection.
    pub fn count_refusal(&self) {
        // Relaxed: only a count, and a call more or less changes nothing.
        if self.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= limits::REFUSALS_PER_CONNECTION_MAX
        {
            self.slot.close.cancel();
        }
    }

    /// Completes when the connection is to be closed.
    pub async fn close_requested(&self) {
        self.slot.close.cancelled().await;
    }

    /// Keeps the client's name. One that is not `explicit` (its library's user agent) never
    /// replaces an earlier one.
    pub fn set_client_name(&self, name: &str, explicit: bool) {
        let mut client = self.client();
        if explicit || client.name.is_empty() {
            // It goes into logs of one line per entry.
            name.chars()
                .filter(|char| !char.is_control())
                .collect::<String>()
                .clone_into(&mut client.name);
            // Cut at a character boundary: `truncate` panics within one.
            let end = client
                .name
                .floor_char_boundary(limits::CLIENT_NAME_BYTES_MAX);
            client.name.truncate(end);
        }
    }

    /// The client's name; empty before it has given one.
    pub fn client_name(&self) -> String {
        self.client().name.clone()
    }

    /// A number for an answer that is sent in chunks.
    pub fn begin_answer(&self) -> u64 {
        let mut client = self.client();
        client.last_answer += 1;
        client.last_answer
    }

    /// HTTP/2 has taken a chunk of an answer.
    pub fn chunk_sent(&self, answer: u64, now: Instant) {
        self.client().unread.insert(answer, now);
    }

    /// HTTP/2 asks for the next chunk of an answer, or the answer has ended.
    pub fn chunk_consumed(&self, answer: u64) {
        self.client().unread.remove(&answer);
    }

    /// Whether the client has not read an answer for longer than `most`.
    pub fn stalled(&self, now: Instant, most: Duration) -> bool {
        self.client()
            .unread
            .values()
            .any(|since| now.saturating_duration_since(*since) > most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::admission::{Admission, Capacity};

    fn state() -> ConnectionState {
        let peer = Peer::Unix { uid: 1, pid: None };
        let admission = Admission::new(Capacity::within(1024).expect("enough"));
        let (slot, _) = admission.accept(&peer);
        ConnectionState::new(peer, slot)
    }

    #[test]
    fn an_answer_stalls_only_while_a_chunk_is_unread() {
        let state = state();
        let (now, most) = (Instant::now(), Duration::from_secs(60));
        let (first, second) = (state.begin_answer(), state.begin_answer());
        state.chunk_sent(first, now);
        state.chunk_sent(second, now + most);
        assert!(!state.stalled(now + most, most));
        assert!(state.stalled(now + most + Duration::from_secs(1), most));
        state.chunk_consumed(first);
        assert!(!state.stalled(now + most + Duration::from_secs(1), most));
        assert!(state.stalled(now + 3 * most, most));
        state.chunk_consumed(second);
        assert!(!state.stalled(now + 9 * most, most));
    }

    #[tokio::test]
    async fn many_refusals_close_the_connection() {
        let state = state();
        for _ in 1..limits::REFUSALS_PER_CONNECTION_MAX {
            state.count_refusal();
        }
        assert!(!state.slot.close.is_cancelled());
        state.count_refusal();
        state.close_requested().await;
    }

    #[test]
    fn a_client_name_is_one_short_line_explicit_first() {
        let state = state();
        state.set_client_name("grpc-python/1.70", false);
        state.set_client_name("later-library", false);
        assert_eq!(state.client_name(), "grpc-python/1.70");
        state.set_client_name("my\nscript", true);
        assert_eq!(state.client_name(), "myscript");
        state.set_client_name(&"ä".repeat(500), true);
        assert_eq!(state.client_name().len(), limits::CLIENT_NAME_BYTES_MAX);
    }
}
