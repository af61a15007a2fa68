//! One connection while it lasts: where it comes from, its place behind the door, and what it is
//! owed and owes.

use crate::door::{Full, Peer, Place};
use crate::limits;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection. Every call finds it in its request's extensions.
#[derive(Debug)]
pub struct Visit {
    peer: Peer,
    place: Place,
    refusals: AtomicU32,
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    /// What the client calls itself.
    name: String,
    last_answer: u64,
    /// Answers of which a piece was handed out and the next one is not asked for, with the time of
    /// that.
    unread: BTreeMap<u64, Instant>,
}

impl Visit {
    /// A visit that begins.
    pub fn new(peer: Peer, place: Place) -> Visit {
        Visit {
            peer,
            place,
            refusals: AtomicU32::new(0),
            said: Mutex::default(),
        }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it comes from.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Makes the newcomer a client, as it has shown a token.
    ///
    /// # Errors
    /// When there are too many.
    pub fn admit(&self) -> Result<(), Full> {
        self.place.admit()
    }

    /// Whether no token has been shown yet.
    pub fn is_newcomer(&self) -> bool {
        self.place.is_newcomer()
    }

    /// Notes a call that was refused for want of a token; too many end the visit.
    pub fn refused(&self) {
        if self.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= limits::REFUSALS_PER_CONNECTION_MAX
        {
            self.place.leave.cancel();
        }
    }

    /// Comes back when the connection is to be closed.
    pub async fn told_to_leave(&self) {
        self.place.leave.cancelled().await;
    }

    /// Keeps what the client calls itself, unless it has said so before and this is only its
    /// library's name.
    pub fn call_it(&self, name: &str, by_itself: bool) {
        let mut said = self.said();
        if by_itself || said.name.is_empty() {
            name.chars()
                .filter(|char| !char.is_control())
                .collect::<String>()
                .clone_into(&mut said.name);
            let end = said.name.floor_char_boundary(limits::CLIENT_NAME_BYTES_MAX);
            said.name.truncate(end);
        }
    }

    /// What the client calls itself; empty before it has.
    pub fn name(&self) -> String {
        self.said().name.clone()
    }

    /// A number for an answer that is going to be handed out in pieces.
    pub fn begin_answer(&self) -> u64 {
        let mut said = self.said();
        said.last_answer += 1;
        said.last_answer
    }

    /// A piece of an answer was handed out.
    pub fn handed(&self, answer: u64, now: Instant) {
        self.said().unread.insert(answer, now);
    }

    /// The next piece of it was asked for, or it is at its end.
    pub fn asked_on(&self, answer: u64) {
        self.said().unread.remove(&answer);
    }

    /// Whether an answer has stood still for longer than `most`.
    pub fn stalled(&self, now: Instant, most: Duration) -> bool {
        self.said()
            .unread
            .values()
            .any(|since| now.saturating_duration_since(*since) > most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::{Door, Room};

    fn visit() -> Visit {
        let peer = Peer::Unix { uid: 1, pid: None };
        let door = Door::new(Room::within(1024).expect("enough"));
        let (place, _) = door.enter(&peer);
        Visit::new(peer, place)
    }

    #[test]
    fn an_answer_stalls_only_while_a_piece_is_out() {
        let visit = visit();
        let (now, most) = (Instant::now(), Duration::from_secs(60));
        let (first, second) = (visit.begin_answer(), visit.begin_answer());
        visit.handed(first, now);
        visit.handed(second, now + most);
        assert!(!visit.stalled(now + most, most));
        assert!(visit.stalled(now + most + Duration::from_secs(1), most));
        visit.asked_on(first);
        assert!(!visit.stalled(now + most + Duration::from_secs(1), most));
        assert!(visit.stalled(now + 3 * most, most));
        visit.asked_on(second);
        assert!(!visit.stalled(now + 9 * most, most));
    }

    #[tokio::test]
    async fn many_refusals_end_the_visit() {
        let visit = visit();
        for _ in 1..limits::REFUSALS_PER_CONNECTION_MAX {
            visit.refused();
        }
        assert!(!visit.place.leave.is_cancelled());
        visit.refused();
        visit.told_to_leave().await;
    }

    #[test]
    fn a_name_is_short_and_of_one_line_and_its_own_word_counts_most() {
        let visit = visit();
        visit.call_it("grpc-python/1.70", false);
        visit.call_it("later-library", false);
        assert_eq!(visit.name(), "grpc-python/1.70");
        visit.call_it("my\nscript", true);
        assert_eq!(visit.name(), "myscript");
        visit.call_it(&"ä".repeat(500), true);
        assert_eq!(visit.name().len(), limits::CLIENT_NAME_BYTES_MAX);
    }
}
