//! The state of one connection: its peer, its admission slot, the client's name, and answers that
//! the client has not read.

use super::admission::{AdmissionSlot, TooManyClients};
use super::peer::Peer;
use crate::auth::tokens::TokenId;
use crate::limits;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The state of a connection, which every call finds in its request's extensions.
#[derive(Debug)]
pub struct ConnectionState {
    peer: Peer,
    slot: AdmissionSlot,
    refusals: AtomicU32,
    client: Mutex<Client>,
    /// Cancelled when the connection is gone.
    ended: CancellationToken,
}

impl Drop for ConnectionState {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

#[derive(Debug, Default)]
struct Client {
    name: String,
    last_answer: u64,
    /// Guests whose tokens were shown.
    guests: BTreeSet<u64>,
    answers: BTreeMap<u64, Answer>,
}

/// An answer of which chunks were sent.
#[derive(Debug)]
struct Answer {
    /// Since when HTTP/2 has not asked for the next chunk after the last one.
    unread_since: Option<Instant>,
    /// How long HTTP/2 has waited for the client so far.
    waited: Duration,
    /// Bytes of a large answer, which holds a part of the budget; others may be read at any rate.
    large_bytes: Option<u64>,
}

impl Answer {
    /// Whether the client does not read, or too little at a time.
    fn is_stalled(&self, now: Instant, most: Duration) -> bool {
        let unread = self
            .unread_since
            .map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        let drips = self.large_bytes.is_some_and(|bytes| {
            let due = Duration::from_secs(bytes / limits::LARGE_ANSWER_BYTES_PER_SECOND_MIN);
            self.waited + unread > most + due
        });
        unread > most || drips
    }
}

impl ConnectionState {
    pub fn new(peer: Peer, slot: AdmissionSlot) -> ConnectionState {
        ConnectionState {
            peer,
            slot,
            refusals: AtomicU32::new(0),
            client: Mutex::default(),
            ended: CancellationToken::new(),
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
    pub fn promote(&self, token: TokenId) -> Result<(), TooManyClients> {
        self.slot.promote(token)
    }

    /// Closes the connection when this token, which was shown on it, is revoked: streams under way
    /// end with it.
    pub fn close_when_revoked(&self, token: TokenId, revoked: CancellationToken) {
        let TokenId::Guest(number) = token else {
            return;
        };
        // Once for each guest: the token may come with every call.
        if self.client().guests.insert(number) {
            let (close, ended) = (self.slot.close.clone(), self.ended.child_token());
            tokio::spawn(async move {
                tokio::select! {
                    () = revoked.cancelled() => close.cancel(),
                    () = ended.cancelled() => {}
                }
            });
        }
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

    /// HTTP/2 has taken so many bytes of an answer, which may be a large one.
    pub fn chunk_sent(&self, answer: u64, bytes: usize, is_large: bool, now: Instant) {
        let mut client = self.client();
        let answer = client.answers.entry(answer).or_insert(Answer {
            unread_since: None,
            waited: Duration::ZERO,
            large_bytes: is_large.then_some(0),
        });
        answer.unread_since = Some(now);
        answer.large_bytes = answer.large_bytes.map(|before| before + bytes as u64);
    }

    /// HTTP/2 asks for the next chunk of an answer.
    pub fn chunk_consumed(&self, answer: u64, now: Instant) {
        if let Some(answer) = self.client().answers.get_mut(&answer) {
            let since = answer.unread_since.take();
            answer.waited +=
                since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        }
    }

    /// An answer has ended.
    pub fn end_answer(&self, answer: u64) {
        self.client().answers.remove(&answer);
    }

    /// Whether the client has not read an answer for longer than `most`, or reads a large one too
    /// slowly.
    pub fn stalled(&self, now: Instant, most: Duration) -> bool {
        let client = self.client();
        client
            .answers
            .values()
            .any(|answer| answer.is_stalled(now, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tokens::Scope;
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
        state.chunk_sent(first, 1, false, now);
        state.chunk_sent(second, 1, false, now + most);
        assert!(!state.stalled(now + most, most));
        assert!(state.stalled(now + most + Duration::from_secs(1), most));
        state.chunk_consumed(first, now + most);
        assert!(!state.stalled(now + most + Duration::from_secs(1), most));
        assert!(state.stalled(now + 3 * most, most));
        state.end_answer(second);
        assert!(!state.stalled(now + 9 * most, most));
    }

    /// A large answer that is read drop by drop stalls; one that is read as fast as it must does
    /// not, nor does a small one.
    #[test]
    fn a_large_answer_must_be_read_in_time() {
        let (begun, most) = (Instant::now(), Duration::from_secs(60));
        let second = Duration::from_secs(1);
        let read = |is_large, bytes: u64, times: u32| {
            let (state, answer) = (state(), 1);
            (0..times).any(|at| {
                let now = begun + second * at;
                state.chunk_sent(answer, bytes as usize, is_large, now);
                let is_stalled = state.stalled(now + second / 2, most);
                state.chunk_consumed(answer, now + second);
                is_stalled
            })
        };
        let fast = limits::LARGE_ANSWER_BYTES_PER_SECOND_MIN;
        assert!(!read(true, fast, 1000));
        assert!(read(true, fast / 4, 200) && !read(false, fast / 4, 1000));
    }

    #[tokio::test]
    async fn a_revoked_token_closes_its_connections() {
        let state = state();
        let (own, guest) = (TokenId::Own(Scope::View), TokenId::Guest(3));
        let revoked = CancellationToken::new();
        state.close_when_revoked(own, revoked.clone());
        state.close_when_revoked(guest, revoked.clone());
        tokio::task::yield_now().await;
        assert!(!state.slot.close.is_cancelled());
        revoked.cancel();
        state.close_requested().await;
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
