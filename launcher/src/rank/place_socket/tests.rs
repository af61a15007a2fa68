//! Both ends of the connection in one process.

use super::*;
use crate::rank::shared_memory::{RankIdentity, SharedMemory, StartState, map};
use invivo_proto::ids::Rank;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage};
use std::io::IoSliceMut;
use std::sync::atomic::Ordering;

/// The place's end.
pub struct Place {
    listener: OwnedFd,
}

impl Place {
    pub fn listen(path: &Path) -> Place {
        let listener = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .expect("a socket");
        rustix::net::bind(&listener, &SocketAddrUnix::new(path).expect("an address"))
            .expect("bound");
        rustix::net::listen(&listener, 8).expect("listening");
        Place { listener }
    }

    /// Takes a supervisor in: the connection, its first message and the memory.
    pub fn accept(&self) -> (OwnedFd, FromSupervisor, OwnedFd) {
        let connection =
            rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC).expect("accepted");
        let mut bytes = [0; LOCAL_BYTES_MAX];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let slices = &mut [IoSliceMut::new(&mut bytes)];
        let read = rustix::net::recvmsg(&connection, slices, &mut control, RecvFlags::CMSG_CLOEXEC)
            .expect("read");
        let memory = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        (
            connection,
            decode(&bytes[..read.bytes]).expect("a message"),
            memory.expect("a descriptor"),
        )
    }
}

/// Sends a message as the place does.
pub fn tell(connection: &OwnedFd, message: &ToSupervisor) {
    rustix::net::send(
        connection,
        &encode(message).expect("encoded"),
        SendFlags::NOSIGNAL,
    )
    .expect("sent");
}

/// Waits for a message of the supervisor; nothing when it is gone.
pub fn hear(connection: &OwnedFd) -> Option<FromSupervisor> {
    let mut bytes = [0; LOCAL_BYTES_MAX];
    let mut take = || rustix::net::recv(connection, &mut bytes[..], RecvFlags::empty());
    let (_, read) = match take() {
        // It left with something unread.
        Err(rustix::io::Errno::CONNRESET) => take(),
        read => read,
    }
    .expect("read");
    (read > 0).then(|| decode(&bytes[..read]).expect("a message"))
}

#[test]
fn the_memory_goes_with_the_first_message() {
    let dir = tempfile::tempdir().expect("directory");
    let path = dir.path().join("place.sock");
    let place = Place::listen(&path);
    let memory = SharedMemory::create(
        RankIdentity {
            rank: 2,
            ranks: 4,
            place: 4,
        },
        &StartState::default(),
    )
    .expect("memory");
    let hello = FromSupervisor::Attach {
        rank: Rank(2),
        pid: 99,
    };
    let mut socket = PlaceSocket::attach(&path, &hello, memory.as_fd()).expect("attached");
    let (connection, message, descriptor) = place.accept();
    assert_eq!(message, hello);
    let seen = map(descriptor.as_fd());
    seen.page().control.gate.store(7, Ordering::Release);
    assert_eq!(
        memory.region().page().control.gate.load(Ordering::Acquire),
        7,
        "one memory"
    );

    assert_eq!(socket.receive(), Received::Nothing);
    tell(&connection, &ToSupervisor::Stop { generation: 7 });
    tell(&connection, &ToSupervisor::Leave);
    // It goes without having read this.
    socket.send(&hello).expect("somebody is there");
    drop(connection);
    assert_eq!(
        socket.receive(),
        Received::Message(ToSupervisor::Stop { generation: 7 })
    );
    assert_eq!(socket.receive(), Received::Message(ToSupervisor::Leave));
    assert_eq!(socket.receive(), Received::Closed);
    assert!(socket.send(&hello).is_err());
}

/// One that stands still for a time gets what was said when it goes on, and what comes then.
#[test]
fn what_may_be_left_out_ends_no_connection() {
    let dir = tempfile::tempdir().expect("directory");
    let path = dir.path().join("place.sock");
    let place = Place::listen(&path);
    let identity = RankIdentity {
        rank: 0,
        ranks: 1,
        place: 1,
    };
    let memory = SharedMemory::create(identity, &StartState::default()).expect("memory");
    let hello = FromSupervisor::Attach {
        rank: Rank(0),
        pid: 1,
    };
    let socket = PlaceSocket::attach(&path, &hello, memory.as_fd()).expect("attached");
    let (connection, ..) = place.accept();
    let said = |inspection: u32| FromSupervisor::Inspected {
        inspection,
        call: None,
    };
    let taken =
        (0..100_000).take_while(|look| socket.offer(&said(*look)).expect("somebody is there"));
    let taken = taken.count() as u32;
    // What is said again and again does not wait each time.
    let since = std::time::Instant::now();
    for _ in 0..1000 {
        assert_eq!(socket.offer_now(&hello).ok(), Some(false));
    }
    assert!(since.elapsed() < PATIENCE);
    for look in 0..taken {
        assert_eq!(hear(&connection), Some(said(look)));
    }
    assert!(socket.send(&said(taken)).is_ok());
    assert_eq!(hear(&connection), Some(said(taken)));
    drop(connection);
    assert!(socket.offer(&hello).is_err() && socket.offer_now(&hello).is_err());
}

#[test]
fn orders_do_not_queue_behind_questions() {
    let dir = tempfile::tempdir().expect("directory");
    let path = dir.path().join("place.sock");
    let place = Place::listen(&path);
    let identity = RankIdentity {
        rank: 0,
        ranks: 1,
        place: 1,
    };
    let memory = SharedMemory::create(identity, &StartState::default()).expect("memory");
    let hello = FromSupervisor::Attach {
        rank: Rank(0),
        pid: 1,
    };
    let mut socket = PlaceSocket::attach(&path, &hello, memory.as_fd()).expect("attached");
    let (connection, ..) = place.accept();
    let walk = ToSupervisor::Unwind {
        unwinding: 1,
        threads: true,
    };
    let look = ToSupervisor::Inspect { inspection: 2 };
    let orders = [
        ToSupervisor::Stop { generation: 3 },
        ToSupervisor::Continue { generation: 3 },
    ];
    tell(&connection, &walk);
    tell(&connection, &orders[0]);
    tell(&connection, &look);
    tell(&connection, &orders[1]);
    for expected in orders.into_iter().chain([walk, look]) {
        assert_eq!(socket.receive(), Received::Message(expected));
    }
    assert_eq!(socket.receive(), Received::Nothing);
    assert!(!socket.has_questions());
}

#[test]
fn nonsense_ends_the_connection() {
    let dir = tempfile::tempdir().expect("directory");
    let path = dir.path().join("place.sock");
    let place = Place::listen(&path);
    let memory = SharedMemory::create(
        RankIdentity {
            rank: 0,
            ranks: 1,
            place: 1,
        },
        &StartState::default(),
    )
    .expect("memory");
    let hello = FromSupervisor::Attach {
        rank: Rank(0),
        pid: 1,
    };
    for nonsense in [vec![0xff; 9], vec![0; LOCAL_BYTES_MAX + 1]] {
        let mut socket = PlaceSocket::attach(&path, &hello, memory.as_fd()).expect("attached");
        let (connection, ..) = place.accept();
        rustix::net::send(&connection, &nonsense, SendFlags::NOSIGNAL).expect("sent");
        assert_eq!(socket.receive(), Received::Closed);
    }
}

#[test]
fn nobody_there_is_an_error() {
    let dir = tempfile::tempdir().expect("directory");
    let memory = SharedMemory::create(
        RankIdentity {
            rank: 0,
            ranks: 1,
            place: 1,
        },
        &StartState::default(),
    )
    .expect("memory");
    let hello = FromSupervisor::Attach {
        rank: Rank(0),
        pid: 1,
    };
    let path = dir.path().join("place.sock");
    assert!(PlaceSocket::attach(&path, &hello, memory.as_fd()).is_err());
    drop(Place::listen(&path));
    assert!(
        PlaceSocket::attach(&path, &hello, memory.as_fd()).is_err(),
        "a socket that nobody listens on"
    );
    let long = dir.path().join("x".repeat(200));
    assert!(PlaceSocket::attach(&long, &hello, memory.as_fd()).is_err());
}
