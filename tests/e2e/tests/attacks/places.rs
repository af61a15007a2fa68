//! The sockets inside a job: of a tool place, to which supervisors attach, and of the root, to
//! which the gateway connects. The application runs as the same user and may connect to both.

use crate::attacks;
use crate::stage::{Attack, Stage};
use invivo_e2e::clients::http2::{read_until_closed, throw};
use invivo_proto::control::encode;
use invivo_proto::control::local::FromSupervisor;
use invivo_proto::control::tree::Ended;
use invivo_proto::ids::Rank;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, sendmsg,
};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

pub const ATTACKS: &[Attack] = attacks![
    place_gets_silent_connections,
    place_gets_garbage,
    place_gets_long_messages,
    place_gets_a_rank_of_others,
    place_gets_a_rank_twice,
    place_gets_an_end_of_nobody,
    place_gets_many_descriptors,
    root_gets_garbage,
    root_gets_a_length_of_gigabytes,
    root_gets_many_connections,
];

fn visitor(stage: &Stage) -> OwnedFd {
    let kind = SocketType::SEQPACKET;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None);
    let socket = socket.expect("a socket");
    let path = stage.socket_named("place-");
    // A full queue is emptied in the place's next turn.
    for _ in 0..500 {
        match rustix::net::connect(&socket, &SocketAddrUnix::new(&path).expect("short enough")) {
            Err(rustix::io::Errno::AGAIN) => std::thread::sleep(Duration::from_millis(10)),
            connected => {
                connected.expect("the place listens");
                break;
            }
        }
    }
    socket
}

/// Sends bytes with descriptors of a file beside them.
fn send(socket: &OwnedFd, bytes: &[u8], descriptors: usize) {
    let file = tempfile::tempfile().expect("a file");
    let fds = vec![file.as_fd(); descriptors];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if descriptors > 0 {
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let _ = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags);
}

fn message(message: &FromSupervisor) -> Vec<u8> {
    encode(message).expect("a message")
}

fn attach(rank: u32) -> Vec<u8> {
    message(&FromSupervisor::Attach {
        rank: Rank(rank),
        pid: 1,
    })
}

fn place_gets_silent_connections(stage: &mut Stage) {
    let _silent: Vec<OwnedFd> = (0..100).map(|_| visitor(stage)).collect();
    stage.client().pause(crate::stage::RANKS, "30s");
    stage.client().resume(crate::stage::RANKS);
}

fn place_gets_garbage(stage: &mut Stage) {
    for length in [1, 7, 100, 16_000] {
        send(&visitor(stage), &vec![0xff; length], 1);
    }
}

fn place_gets_long_messages(stage: &mut Stage) {
    for _ in 0..20 {
        send(&visitor(stage), &vec![0; 100_000], 0);
    }
}

fn place_gets_a_rank_of_others(stage: &mut Stage) {
    for rank in [crate::stage::RANKS, 99, u32::MAX] {
        send(&visitor(stage), &attach(rank), 1);
    }
}

/// A rank that is attached already stays the one that it is.
fn place_gets_a_rank_twice(stage: &mut Stage) {
    for rank in 0..crate::stage::RANKS {
        send(&visitor(stage), &attach(rank), 1);
        send(&visitor(stage), &attach(rank), 0);
    }
}

fn place_gets_an_end_of_nobody(stage: &mut Stage) {
    let end = message(&FromSupervisor::Ended(Ended::Code(0)));
    send(&visitor(stage), &end, 0);
}

/// Descriptors that are sent along, in numbers: none of them stays open in the place.
fn place_gets_many_descriptors(stage: &mut Stage) {
    let all = invivo_e2e::processes::marked(stage.running.mark());
    // By what it calls itself: a process with one role by that.
    let mut places = all.iter().filter(|one| one.name.starts_with("tool-p"));
    let place = places.next().expect("a tool place").clone();
    let open = || invivo_e2e::processes::open_files(&place);
    let before = open();
    for _ in 0..50 {
        send(&visitor(stage), &attach(7), 64);
    }
    std::thread::sleep(Duration::from_millis(500));
    let after = open();
    assert!(after < before + 32, "{before} files, then {after}");
}

fn link(stage: &Stage) -> UnixStream {
    UnixStream::connect(stage.socket_named("link")).expect("the root listens")
}

fn root_gets_garbage(stage: &mut Stage) {
    let mut stream = link(stage);
    throw(&mut stream, &[0xff; 4096]);
    read_until_closed(&mut stream, Duration::from_millis(500));
}

fn root_gets_a_length_of_gigabytes(stage: &mut Stage) {
    for length in [u32::MAX, 1 << 30, 1 << 24] {
        let mut stream = link(stage);
        throw(&mut stream, &length.to_le_bytes());
        throw(&mut stream, &[0; 1000]);
        read_until_closed(&mut stream, Duration::from_millis(300));
    }
}

/// They displace the gateway, which comes again.
fn root_gets_many_connections(stage: &mut Stage) {
    let _open: Vec<UnixStream> = (0..50).map(|_| link(stage)).collect();
    std::thread::sleep(Duration::from_millis(300));
}
