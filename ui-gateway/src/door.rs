//! Who is in: newcomers, who have not shown a token yet, and clients, who have. Newcomers push out
//! newcomers of whoever has most of them and nobody else, so that a flood of connections costs a
//! bounded amount and pushes out itself as long as it comes from one process or address; clients do
//! not notice it in any case.

use crate::limits;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Over the Unix socket, as the kernel says.
    Unix {
        /// The user.
        uid: u32,
        /// The process, where the kernel tells.
        pid: Option<i32>,
    },
    /// Over TCP.
    Tcp(SocketAddr),
}

/// What counts as one and the same peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerKey {
    /// A user of this host.
    User(u32),
    /// An address, of IPv6 the network of a host (it may take any address in there).
    Address(IpAddr),
}

impl Peer {
    /// What limits per peer count by.
    pub fn key(&self) -> PeerKey {
        match self {
            Peer::Unix { uid, .. } => PeerKey::User(*uid),
            Peer::Tcp(address) => PeerKey::Address(match address.ip().to_canonical() {
                IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
                ip => ip,
            }),
        }
    }
}

impl Peer {
    fn source(&self) -> Source {
        let pid = match self {
            Peer::Unix { pid, .. } => *pid,
            Peer::Tcp(_) => None,
        };
        (self.key(), pid)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Unix { .. } => f.write_str("unix"),
            Peer::Tcp(address) => address.fmt(f),
        }
    }
}

impl Serialize for Peer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How many connections there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// That have shown no token.
    pub newcomers: usize,
    /// That have.
    pub clients: usize,
}

impl Room {
    /// What `descriptors` (the limit on open files) leave for connections.
    ///
    /// # Errors
    /// When that is too few to begin, as a sentence.
    pub fn within(descriptors: usize) -> Result<Room, String> {
        let connections = descriptors.saturating_sub(limits::DESCRIPTORS_RESERVE);
        if connections < limits::CONNECTIONS_MIN {
            return Err(format!(
                "at most {descriptors} files may be open, and the gateway needs {}: raise the limit with ulimit -n",
                limits::DESCRIPTORS_RESERVE + limits::CONNECTIONS_MIN
            ));
        }
        let newcomers = (connections / 3).clamp(limits::NEWCOMERS_MIN, limits::NEWCOMERS_MAX);
        Ok(Room {
            newcomers,
            clients: (connections - newcomers).min(limits::CLIENTS_MAX),
        })
    }
}

/// The door; clones share it.
#[derive(Clone, Debug)]
pub struct Door {
    room: Room,
    book: Arc<Mutex<Book>>,
}

#[derive(Debug, Default)]
struct Book {
    last_id: u64,
    /// In the order of their arrival.
    newcomers: BTreeMap<u64, (Source, CancellationToken)>,
    clients: BTreeMap<u64, PeerKey>,
}

/// Who opens connections: a process of this host, or an address.
type Source = (PeerKey, Option<i32>);

impl Book {
    /// The oldest newcomer of the source that has most; of several such sources, of the one that
    /// has waited longest.
    fn first_to_leave(&self) -> Option<u64> {
        let count = |wanted: &Source| {
            let sources = self.newcomers.values().map(|(source, _)| source);
            sources.filter(|source| *source == wanted).count()
        };
        let counted = self
            .newcomers
            .iter()
            .map(|(id, (source, _))| (count(source), *id));
        // The first of the largest.
        let first = counted.reduce(|best, next| if next.0 > best.0 { next } else { best });
        first.map(|(_, id)| id)
    }
}

/// Why a newcomer does not become a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{clients} clients are connected {to_what} already, and no more are served: end one of them"
)]
pub struct Full {
    clients: usize,
    to_what: &'static str,
}

/// A connection's place; it is given back when this is dropped.
#[derive(Debug)]
pub struct Place {
    door: Door,
    id: u64,
    key: PeerKey,
    /// Done when the connection is to be closed.
    pub leave: CancellationToken,
}

impl Door {
    /// A door to an empty house.
    pub fn new(room: Room) -> Door {
        Door {
            room,
            book: Arc::default(),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a newcomer in. True when another one has to leave for it.
    pub fn enter(&self, peer: &Peer) -> (Place, bool) {
        let mut book = self.book();
        let crowded = book.newcomers.len() >= self.room.newcomers;
        let leaves = book.first_to_leave().filter(|_| crowded);
        if let Some((_, leave)) = leaves.and_then(|id| book.newcomers.remove(&id)) {
            leave.cancel();
        }
        book.last_id += 1;
        let id = book.last_id;
        let leave = CancellationToken::new();
        book.newcomers.insert(id, (peer.source(), leave.clone()));
        let place = Place {
            door: self.clone(),
            id,
            key: peer.key(),
            leave,
        };
        (place, crowded)
    }

    /// Newcomers and clients at this moment.
    pub fn inside(&self) -> (usize, usize) {
        let book = self.book();
        (book.newcomers.len(), book.clients.len())
    }
}

impl Place {
    /// Makes the newcomer a client; a client stays one.
    ///
    /// # Errors
    /// When there are too many; it stays what it was.
    pub fn admit(&self) -> Result<(), Full> {
        let mut book = self.door.book();
        // Neither a client already nor one that is being pushed out at this moment.
        if !book.newcomers.contains_key(&self.id) {
            return Ok(());
        }
        let clients_max = self.door.room.clients;
        let of_peer_max = limits::CLIENTS_PER_PEER_MAX.min(clients_max);
        let full = |clients, to_what| Err(Full { clients, to_what });
        if book.clients.len() >= clients_max {
            return full(clients_max, "to this job");
        }
        if book
            .clients
            .values()
            .filter(|key| **key == self.key)
            .count()
            >= of_peer_max
        {
            return full(of_peer_max, "from your user or address");
        }
        book.newcomers.remove(&self.id);
        book.clients.insert(self.id, self.key);
        Ok(())
    }

    /// Whether no token has been shown yet.
    pub fn is_newcomer(&self) -> bool {
        !self.door.book().clients.contains_key(&self.id)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut book = self.door.book();
        book.newcomers.remove(&self.id);
        book.clients.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room {
        newcomers: 2,
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
    fn newcomers_push_out_the_oldest_newcomer_and_no_client() {
        let door = Door::new(ROOM);
        let (client, _) = door.enter(&USER);
        client.admit().expect("room");
        assert!(!client.is_newcomer());
        let (first, crowded) = door.enter(&USER);
        assert!(!crowded);
        let (second, crowded) = door.enter(&USER);
        assert!(!crowded && !first.leave.is_cancelled());
        let (third, crowded) = door.enter(&USER);
        assert!(crowded && first.leave.is_cancelled());
        assert!(
            !second.leave.is_cancelled()
                && !third.leave.is_cancelled()
                && !client.leave.is_cancelled()
        );
        assert_eq!(door.inside(), (2, 1));
        first.admit().expect("it leaves");
        assert_eq!(
            door.inside(),
            (2, 1),
            "who was pushed out is not let in again"
        );
        drop((first, second, third, client));
        assert_eq!(door.inside(), (0, 0), "every place is given back");
    }

    #[test]
    fn a_flood_of_one_process_pushes_out_itself_only() {
        let door = Door::new(Room {
            newcomers: 4,
            ..ROOM
        });
        let flood = Peer::Unix {
            uid: 7,
            pid: Some(2),
        };
        // The oldest of all.
        let (honest, _) = door.enter(&USER);
        let (from_afar, _) = door.enter(&peer("192.0.2.1:1"));
        let mut many: Vec<Place> = (0..50).map(|_| door.enter(&flood).0).collect();
        assert!(!honest.leave.is_cancelled() && !from_afar.leave.is_cancelled());
        let last = many.pop().expect("fifty");
        let before = many.pop().expect("forty-nine");
        assert!(many.iter().all(|place| place.leave.is_cancelled()));
        assert!(!before.leave.is_cancelled() && !last.leave.is_cancelled());
        honest.admit().expect("room");
        assert_eq!(door.inside(), (3, 1));
    }

    #[test]
    fn clients_are_bounded_in_total() {
        let door = Door::new(ROOM);
        let mut clients: Vec<Place> = (0..3)
            .map(|_| {
                let (place, _) = door.enter(&USER);
                place.admit().expect("room");
                place.admit().expect("a client stays one");
                place
            })
            .collect();
        let (surplus, _) = door.enter(&USER);
        let full = surplus.admit().expect_err("full");
        assert!(
            full.to_string()
                .starts_with("3 clients are connected to this job")
        );
        assert!(surplus.is_newcomer());
        clients.pop();
        surplus.admit().expect("there is room again");
    }

    #[test]
    fn one_peer_leaves_room_for_others() {
        let door = Door::new(Room {
            newcomers: 4,
            clients: limits::CLIENTS_MAX,
        });
        let admitted = |peer: &Peer| {
            let (place, _) = door.enter(peer);
            place.admit().map(|()| place)
        };
        let greedy = |host: usize| peer(&format!("[2001:db8::{host:x}]:1"));
        let taken: Vec<Place> = (1..=limits::CLIENTS_PER_PEER_MAX)
            .map(|host| admitted(&greedy(host)).expect("room"))
            .collect();
        assert!(
            admitted(&greedy(taken.len() + 1)).is_err(),
            "all of these are one network"
        );
        assert!(admitted(&USER).is_ok());
        assert!(admitted(&peer("[2001:db8:1::1]:1")).is_ok());
        assert_eq!(peer("[::ffff:10.0.0.1]:1").key(), peer("10.0.0.1:2").key());
    }

    #[test]
    fn few_descriptors_leave_less_room_and_too_few_none() {
        let full = Room {
            newcomers: limits::NEWCOMERS_MAX,
            clients: limits::CLIENTS_MAX,
        };
        assert_eq!(Room::within(1024), Ok(full));
        assert_eq!(Room::within(usize::MAX), Ok(full));
        for descriptors in 56..1024 {
            let room = Room::within(descriptors).expect("enough");
            assert!(
                room.newcomers >= limits::NEWCOMERS_MIN && room.clients >= limits::NEWCOMERS_MIN
            );
            assert!(room.newcomers + room.clients + limits::DESCRIPTORS_RESERVE <= descriptors);
        }
        assert!(Room::within(55).expect_err("too few").contains("needs 56"));
    }
}
