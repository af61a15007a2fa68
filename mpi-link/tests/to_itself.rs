//! A job of one process that writes to itself: credits over a real MPI. One test, because MPI
//! starts once.

use invivo_mpi_link::Link;
use invivo_mpi_link::credit::{CREDITS, QUEUE_MAX};
use invivo_proto::channel::{TAG_DOWN, TAG_PEER, TAG_UP};
use std::sync::Arc;

/// Reads until `count` messages came, and checks that they come in order.
fn read(link: &mut Link, tag: i32, numbers: impl Iterator<Item = u32>) {
    for number in numbers {
        let message = loop {
            if let Some(message) = link.receive(tag).unwrap() {
                break message;
            }
            // Credit for what goes down comes up, and nothing else does.
            assert!(link.receive(TAG_UP).unwrap().is_none());
            link.progress().unwrap();
        };
        assert_eq!(message.bytes, number.to_le_bytes(), "tag {tag}");
        assert_eq!(message.from, link.rank());
    }
}

/// A process that does not read holds so many messages and catches up.
#[test]
fn a_process_that_does_not_read_bounds_messages() {
    let mut link = Link::start().unwrap();
    let me = link.rank();
    let most = CREDITS + QUEUE_MAX as u32;
    for tag in [TAG_PEER, TAG_DOWN] {
        for n in 0..most {
            assert!(link.send(me, tag, n.to_le_bytes().to_vec()).unwrap());
        }
        assert_eq!(link.waiting(), QUEUE_MAX);
        assert!(!link.send(me, tag, vec![0]).unwrap());
        // Reading gives credit, and what waited follows.
        read(&mut link, tag, 0..most);
        assert_eq!(link.waiting(), 0);
    }
    assert_eq!(link.refused_sends(), 2);
    // The last credits come back alone.
    for _ in 0..100 {
        assert!(link.receive(TAG_PEER).unwrap().is_none());
    }
    // Of a kind only the newest waits.
    for n in 0..most {
        let kind = (n >= CREDITS).then_some(1);
        assert!(
            link.send_latest(me, TAG_PEER, kind, n.to_le_bytes().to_vec())
                .unwrap()
        );
    }
    assert_eq!(link.waiting(), 1);
    read(&mut link, TAG_PEER, (0..CREDITS).chain([most - 1]));
    // A message of another kind is no part of this.
    assert!(link.send(me, 77, vec![1]).unwrap());
    assert_eq!(link.receive(77).unwrap().unwrap().bytes, [1]);
    link.finish(&Arc::default()).unwrap();
}
