//! Admission limits: how many connections may be open, before and after their first valid token.
//!
//! A new connection beyond the limit of unauthenticated ones closes the oldest unauthenticated
//! connection of the source that has most of them. A flood of connections therefore costs a bounded
//! amount and, as long as it comes from one process or address, closes only its own connections.
//! Authenticated clients are never closed for it.

use super::peer::{Peer, PeerKey, Source};
use crate::auth::tokens::TokenId;
use crate::limits;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The longest wait for connections to close.
const CLOSED_WITHIN: Duration = Duration::from_secs(1);

/// How many connections may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Connections without a valid token so far.
    pub unauthenticated: usize,
    /// Connections with one.
    pub clients: usize,
}

impl Capacity {
    /// The capacity with a limit of `descriptors` open files.
    ///
    /// # Errors
    /// If that is too few to begin, as a sentence.
    pub fn within(descriptors: usize) -> Result<Capacity, String> {
        // What the gateway needs for itself is not available to connections.
        let connections = descriptors.saturating_sub(limits::DESCRIPTORS_RESERVE);

        if connections < limits::CONNECTIONS_MIN {
            return Err(format!(
                "at most {descriptors} files may be open, and the gateway needs {}: raise the \
                 limit with ulimit -n",
                limits::DESCRIPTORS_RESERVE + limits::CONNECTIONS_MIN
            ));
        }

        let unauthenticated =
            (connections / 3).clamp(limits::UNAUTHENTICATED_MIN, limits::UNAUTHENTICATED_MAX);
        Ok(Capacity {
            unauthenticated,
            clients: (connections - unauthenticated).min(limits::CLIENTS_MAX),
        })
    }
}

/// Counts and limits the open connections; clones share them.
#[derive(Clone, Debug)]
pub struct Admission {
    capacity: Capacity,
    open: Arc<Mutex<OpenConnections>>,
    /// Told when a connection has closed that made room for another one.
    closed: Arc<Notify>,
}

/// The open connections by a number of their own, which only counts up: the first is the oldest.
#[derive(Debug, Default)]
struct OpenConnections {
    last_id: u64,
    unauthenticated: BTreeMap<u64, (Source, CancellationToken)>,
    clients: BTreeMap<u64, Client>,
    /// Made room for others, and have their descriptors still.
    closing: BTreeSet<u64>,
}

/// A connection with a valid token.
#[derive(Clone, Copy, Debug)]
struct Client {
    peer: PeerKey,
    token: TokenId,
}

impl OpenConnections {
    /// The oldest unauthenticated connection of the source with most of them; of several such
    /// sources, of the one whose connection is the oldest. While most are from other hosts, it is
    /// one of those: strangers, of however many addresses, do not push out the job's own user.
    fn eviction_candidate(&self) -> Option<u64> {
        let is_remote = |source: &Source| matches!(source.0, PeerKey::Address(_));
        let sources = self.unauthenticated.values().map(|(source, _)| source);
        let remote = sources.filter(|source| is_remote(source)).count();
        let only_remote = 2 * remote > self.unauthenticated.len();
        let count = |wanted: &Source| {
            let sources = self.unauthenticated.values().map(|(source, _)| source);
            sources.filter(|source| *source == wanted).count()
        };
        // Quadratic, over at most `UNAUTHENTICATED_MAX` entries.
        let counted = self
            .unauthenticated
            .iter()
            .filter(|(_, (source, _))| !only_remote || is_remote(source))
            .map(|(id, (source, _))| (count(source), *id));
        // The first of the largest.
        let first = counted.reduce(|best, next| if next.0 > best.0 { next } else { best });
        first.map(|(_, id)| id)
    }
}

/// Why a connection does not become a client's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{clients} clients are connected {to_what} already, and no more are served: end one of them"
)]
pub struct TooManyClients {
    clients: usize,
    to_what: &'static str,
}

/// A connection's entry in the counts, removed when this is dropped.
#[derive(Debug)]
pub struct AdmissionSlot {
    admission: Admission,
    id: u64,
    key: PeerKey,
    /// Cancelled when the connection is to be closed.
    pub close: CancellationToken,
}

impl Admission {
    pub fn new(capacity: Capacity) -> Admission {
        Admission {
            capacity,
            open: Arc::default(),
            closed: Arc::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a new, unauthenticated connection. True if another one is closed for it.
    pub fn accept(&self, peer: &Peer) -> (AdmissionSlot, bool) {
        let mut open = self.open();

        // The candidate is searched before the new connection is entered: it can never evict
        // itself.
        let is_full = open.unauthenticated.len() >= self.capacity.unauthenticated;
        let evicted = open.eviction_candidate().filter(|_| is_full);
        if let Some(id) = evicted
            && let Some((_, close)) = open.unauthenticated.remove(&id)
        {
            open.closing.insert(id);
            close.cancel();
        }

        open.last_id += 1;
        let id = open.last_id;
        let close = CancellationToken::new();
        open.unauthenticated
            .insert(id, (peer.source(), close.clone()));
        let slot = AdmissionSlot {
            admission: self.clone(),
            id,
            key: peer.key(),
            close,
        };
        (slot, is_full)
    }

    /// Waits while too many connections that made room for others have not closed yet: on a busy
    /// machine they may come faster than they go, and each has a descriptor.
    pub async fn room(&self) {
        let most = limits::CLOSING_MAX;
        let wait = async {
            loop {
                let closed = self.closed.notified();
                if self.open().closing.len() < most {
                    return;
                }
                closed.await;
            }
        };
        // One that does not close in time must not keep everybody out.
        let _ = tokio::time::timeout(CLOSED_WITHIN, wait).await;
    }

    /// Number of unauthenticated connections and of clients.
    pub fn counts(&self) -> (usize, usize) {
        let open = self.open();
        (open.unauthenticated.len(), open.clients.len())
    }
}

impl AdmissionSlot {
    /// Counts the connection as a client's from now on, by the first token that it has shown; no
    /// effect if it is one already.
    ///
    /// # Errors
    /// If there are too many clients; the connection stays unauthenticated.
    pub fn promote(&self, token: TokenId) -> Result<(), TooManyClients> {
        let mut open = self.admission.open();
        // Either a client already, or evicted at this moment: its close is under way.
        if !open.unauthenticated.contains_key(&self.id) {
            return Ok(());
        }

        let most = self.admission.capacity.clients;
        let is_remote = |peer: PeerKey| matches!(peer, PeerKey::Address(_));
        let clients = || open.clients.values();
        let of_peer_max = if is_remote(self.key) {
            limits::CLIENTS_PER_ADDRESS_MAX
        } else {
            limits::CLIENTS_PER_USER_MAX
        };
        // The part of other hosts stays a part where file descriptors are few.
        let remote_max = most * limits::CLIENTS_OVER_TCP_MAX / limits::CLIENTS_MAX;
        let bounds = [
            (clients().count(), most, "to this job", true),
            (
                clients().filter(|client| client.peer == self.key).count(),
                of_peer_max.min(most),
                "from your user or address",
                true,
            ),
            (
                clients().filter(|client| is_remote(client.peer)).count(),
                remote_max,
                "from other hosts",
                is_remote(self.key),
            ),
            (
                clients().filter(|client| client.token == token).count(),
                limits::CLIENTS_PER_GUEST_MAX,
                "with this invitation",
                matches!(token, TokenId::Guest(_)),
            ),
        ];
        for (clients, most, to_what, is_bound) in bounds {
            if is_bound && clients >= most {
                return Err(TooManyClients { clients, to_what });
            }
        }

        open.unauthenticated.remove(&self.id);
        let peer = self.key;
        open.clients.insert(self.id, Client { peer, token });
        Ok(())
    }

    /// Whether no valid token has been shown yet.
    pub fn is_unauthenticated(&self) -> bool {
        !self.admission.open().clients.contains_key(&self.id)
    }
}

impl Drop for AdmissionSlot {
    fn drop(&mut self) {
        // In one of the two maps, or in none after an eviction.
        let mut open = self.admission.open();
        open.unauthenticated.remove(&self.id);
        open.clients.remove(&self.id);
        if open.closing.remove(&self.id) {
            self.admission.closed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::tokens::Scope;

    const VIEW: TokenId = TokenId::Own(Scope::View);

    const CAPACITY: Capacity = Capacity {
        unauthenticated: 2,
        clients: 3,
    };

    fn peer(address: &str) -> Peer {
        Peer::Tcp(address.parse().expect("an address"))
    }

    const USER: Peer = Peer::Unix {
        uid: 7,
        pid: Some(1),
    };

    #[test]
    fn a_new_connection_evicts_the_oldest_unauthenticated_and_no_client() {
        let admission = Admission::new(CAPACITY);
        let (client, _) = admission.accept(&USER);
        client.promote(VIEW).expect("capacity");
        assert!(!client.is_unauthenticated());
        let (first, evicts) = admission.accept(&USER);
        assert!(!evicts);
        let (second, evicts) = admission.accept(&USER);
        assert!(!evicts && !first.close.is_cancelled());
        let (third, evicts) = admission.accept(&USER);
        assert!(evicts && first.close.is_cancelled());
        assert!(
            !second.close.is_cancelled()
                && !third.close.is_cancelled()
                && !client.close.is_cancelled()
        );
        assert_eq!(admission.counts(), (2, 1));
        first.promote(VIEW).expect("it leaves");
        assert_eq!(
            admission.counts(),
            (2, 1),
            "an evicted connection is not admitted again"
        );
        drop((first, second, third, client));
        assert_eq!(admission.counts(), (0, 0), "every slot is given back");
    }

    #[tokio::test]
    async fn nobody_is_let_in_while_many_are_closing() {
        let admission = Admission::new(CAPACITY);
        let all = CAPACITY.unauthenticated + limits::CLOSING_MAX;
        let mut slots: Vec<AdmissionSlot> =
            (0..all - 1).map(|_| admission.accept(&USER).0).collect();
        let soon = Duration::from_millis(50);
        let has_room = async || tokio::time::timeout(soon, admission.room()).await.is_ok();
        assert!(has_room().await);
        slots.push(admission.accept(&USER).0);
        assert!(!has_room().await, "sixteen have their descriptors");
        // One of those that stay does not count, one that was closed does.
        drop(slots.pop());
        assert!(!has_room().await);
        drop(slots.remove(0));
        assert!(has_room().await);
        // Who does not close keeps nobody out for ever.
        slots.push(admission.accept(&USER).0);
        slots.push(admission.accept(&USER).0);
        assert!(!has_room().await);
        admission.room().await;
    }

    #[test]
    fn a_flood_of_one_process_evicts_only_itself() {
        let admission = Admission::new(Capacity {
            unauthenticated: 4,
            ..CAPACITY
        });
        let flood = Peer::Unix {
            uid: 7,
            pid: Some(2),
        };
        // The oldest of all.
        let (honest, _) = admission.accept(&USER);
        let (from_afar, _) = admission.accept(&peer("192.0.2.1:1"));
        let mut many: Vec<AdmissionSlot> = (0..50).map(|_| admission.accept(&flood).0).collect();
        assert!(!honest.close.is_cancelled() && !from_afar.close.is_cancelled());
        let last = many.pop().expect("fifty");
        let before = many.pop().expect("forty-nine");
        assert!(many.iter().all(|slot| slot.close.is_cancelled()));
        assert!(!before.close.is_cancelled() && !last.close.is_cancelled());
        honest.promote(VIEW).expect("capacity");
        assert_eq!(admission.counts(), (3, 1));
    }

    #[test]
    fn clients_are_bounded_in_total() {
        let admission = Admission::new(CAPACITY);
        let mut clients: Vec<AdmissionSlot> = (0..3)
            .map(|_| {
                let (slot, _) = admission.accept(&USER);
                slot.promote(VIEW).expect("capacity");
                slot.promote(VIEW).expect("a client stays one");
                slot
            })
            .collect();
        let (surplus, _) = admission.accept(&USER);
        let full = surplus.promote(VIEW).expect_err("full");
        assert!(
            full.to_string()
                .starts_with("3 clients are connected to this job")
        );
        assert!(surplus.is_unauthenticated());
        clients.pop();
        surplus.promote(VIEW).expect("a slot is free again");
    }

    #[test]
    fn one_peer_cannot_take_all_client_slots() {
        let admission = Admission::new(Capacity {
            unauthenticated: 4,
            clients: limits::CLIENTS_MAX,
        });
        let admitted = |peer: &Peer| {
            let (slot, _) = admission.accept(peer);
            slot.promote(VIEW).map(|()| slot)
        };
        let greedy = |host: usize| peer(&format!("[2001:db8::{host:x}]:1"));
        let taken: Vec<AdmissionSlot> = (1..=limits::CLIENTS_PER_ADDRESS_MAX)
            .map(|host| admitted(&greedy(host)).expect("capacity"))
            .collect();
        assert!(
            admitted(&greedy(taken.len() + 1)).is_err(),
            "all of these are one network"
        );
        assert!(admitted(&USER).is_ok());
        assert!(admitted(&peer("[2001:db8:1::1]:1")).is_ok());
    }

    #[test]
    fn few_descriptors_lower_the_capacity_too_few_refuse() {
        let full = Capacity {
            unauthenticated: limits::UNAUTHENTICATED_MAX,
            clients: limits::CLIENTS_MAX,
        };
        assert_eq!(Capacity::within(1024), Ok(full));
        assert_eq!(Capacity::within(usize::MAX), Ok(full));
        for descriptors in 56..1024 {
            let capacity = Capacity::within(descriptors).expect("enough");
            assert!(
                capacity.unauthenticated >= limits::UNAUTHENTICATED_MIN
                    && capacity.clients >= limits::UNAUTHENTICATED_MIN
            );
            assert!(
                capacity.unauthenticated + capacity.clients + limits::DESCRIPTORS_RESERVE
                    <= descriptors
            );
        }
        assert!(
            Capacity::within(55)
                .expect_err("too few")
                .contains("needs 56")
        );
    }

    /// Whatever comes from other hosts, the job's own user is admitted over the socket.
    #[test]
    fn strangers_of_many_addresses_leave_the_user_room() {
        let admission = Admission::new(Capacity {
            unauthenticated: 8,
            clients: limits::CLIENTS_MAX,
        });
        let (own, _) = admission.accept(&USER);
        let waiting: Vec<AdmissionSlot> = (1..100)
            .map(|at| {
                admission
                    .accept(&peer(&format!("[2001:db8:{at:x}::1]:1")))
                    .0
            })
            .collect();
        assert!(!own.close.is_cancelled(), "none of them pushes it out");
        drop(waiting);
        let mut remote = Vec::new();
        for at in 1..=limits::CLIENTS_MAX {
            let (slot, _) = admission.accept(&peer(&format!("[2001:db8:{at:x}::1]:1")));
            if slot.promote(VIEW).is_ok() {
                remote.push(slot);
            }
        }
        assert_eq!(remote.len(), limits::CLIENTS_OVER_TCP_MAX);
        own.promote(VIEW).expect("room is kept for it");
    }

    #[test]
    fn one_invitation_does_not_take_all_clients() {
        let admission = Admission::new(Capacity {
            unauthenticated: 4,
            clients: limits::CLIENTS_MAX,
        });
        let admitted = |token| {
            let (slot, _) = admission.accept(&USER);
            slot.promote(token).map(|()| slot)
        };
        let guest = TokenId::Guest(1);
        let taken: Vec<AdmissionSlot> = (0..limits::CLIENTS_PER_GUEST_MAX)
            .map(|_| admitted(guest).expect("room"))
            .collect();
        assert!(admitted(guest).is_err());
        assert!(admitted(TokenId::Guest(2)).is_ok() && admitted(VIEW).is_ok());
        drop(taken);
        admitted(guest).expect("room again");
    }
}
