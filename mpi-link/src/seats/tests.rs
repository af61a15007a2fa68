//! Seats in a tree of three processes: memory within one, addresses and layers between them.
//!
//! Process 4 holds place 4 and node 15, process 14 place 14, node 16 and the root 17.

use super::*;
use crate::credit::{CREDITS, QUEUE_MAX};
use invivo_proto::channel::TAG_PACKET;
use std::convert::Infallible;

struct Tree;

impl Seating for Tree {
    fn process_of(&self, address: WorldRank) -> Option<WorldRank> {
        match address.0 {
            4 | 9 | 14 => Some(address),
            15 => Some(WorldRank(4)),
            16 | 17 => Some(WorldRank(14)),
            _ => None,
        }
    }

    fn address(&self, process: WorldRank, layer: u32) -> Option<WorldRank> {
        let address = match (process.0, layer) {
            (4 | 9 | 14, 1) => process.0,
            (4, 2) => 15,
            (14, 2) => 16,
            (14, 3) => 17,
            _ => return None,
        };
        Some(WorldRank(address))
    }
}

/// Notes what is sent, and brings what a test puts there.
#[derive(Default)]
struct Wires {
    sent: Vec<(u32, i32)>,
    comes: VecDeque<(u32, i32)>,
}

impl Transport for Wires {
    type Error = Infallible;

    fn packets(&mut self, _: impl FnMut(WorldRank, Option<&[u8]>)) -> Result<usize, Infallible> {
        Ok(0)
    }

    fn receive(&mut self, tag: i32) -> Result<Option<Message>, Infallible> {
        let Some(at) = self.comes.iter().position(|&(_, of)| of == tag) else {
            return Ok(None);
        };
        let from = WorldRank(self.comes.remove(at).unwrap().0);
        Ok(Some(Message {
            from,
            bytes: vec![],
        }))
    }

    fn has_room(&self, _: WorldRank, _: i32) -> bool {
        true
    }

    fn is_free(&self, _: WorldRank, _: i32) -> bool {
        true
    }

    fn send_latest(
        &mut self,
        to: WorldRank,
        tag: i32,
        _: Option<u8>,
        _: Vec<u8>,
    ) -> Result<bool, Infallible> {
        self.sent.push((to.0, tag));
        Ok(false)
    }

    fn send_surely(&mut self, to: WorldRank, tag: i32, _: Vec<u8>) -> Result<(), Infallible> {
        self.sent.push((to.0, tag));
        Ok(())
    }

    fn progress(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn refused_sends(&self) -> u64 {
        0
    }
}

/// What one process has: its wires, its loopback, and how much was refused.
#[derive(Default)]
struct Process {
    wires: Wires,
    loopback: Loopback,
    refused: u64,
}

impl Process {
    fn seat(&mut self, process: u32, address: u32, layer: u32) -> Seat<'_, Wires, Tree> {
        Seat {
            transport: &mut self.wires,
            loopback: &mut self.loopback,
            seating: &Tree,
            process: WorldRank(process),
            address: WorldRank(address),
            layer,
            refused: &mut self.refused,
        }
    }
}

fn from(message: Option<Message>) -> Option<u32> {
    message.map(|message| message.from.0)
}

#[test]
fn a_tags_layer_tells_roles_apart() {
    let mut process = Process::default();
    let mut send = |address, layer, to, tag| {
        let sent = process
            .seat(14, address, layer)
            .send_surely(WorldRank(to), tag, vec![]);
        sent.unwrap();
        process.wires.sent.pop()
    };
    // The root to the node in another process, and the node to a place there.
    assert_eq!(send(17, 3, 15, TAG_DOWN), Some((4, TAG_DOWN + 8)));
    assert_eq!(send(16, 2, 9, TAG_DOWN), Some((9, TAG_DOWN)));
    assert_eq!(send(14, 1, 9, TAG_PEER), Some((9, TAG_PEER)));
    // By memory.
    assert_eq!(send(14, 1, 16, TAG_UP), None);
    assert_eq!(send(16, 2, 17, TAG_UP), None);

    for (from, tag) in [(4, TAG_UP), (4, TAG_UP + 8), (9, TAG_UP + 8), (4, TAG_PEER)] {
        process.wires.comes.push_back((from, tag));
    }
    let mut hear =
        |address, layer, tag| from(process.seat(14, address, layer).receive(tag).unwrap());
    // What was sent by memory is there, each for its receiver.
    assert_eq!(hear(17, 3, TAG_UP), Some(16));
    assert_eq!(hear(17, 3, TAG_UP), Some(15), "node 15 is in process 4");
    assert_eq!(hear(17, 3, TAG_UP), Some(NOBODY.0), "process 9 has no node");
    assert_eq!(hear(17, 3, TAG_UP), None);
    assert_eq!(hear(16, 2, TAG_UP), Some(14));
    assert_eq!(hear(16, 2, TAG_UP), Some(4), "place 4");
    assert_eq!(hear(14, 1, TAG_PEER), Some(4));
    process.wires.comes.push_back((3, TAG_PACKET));
    let mut place = process.seat(14, 14, 1);
    assert_eq!(from(place.receive(TAG_PACKET).unwrap()), Some(3), "a rank");
}

#[test]
fn a_role_that_does_not_read_bounds_the_others() {
    let mut process = Process::default();
    let most = CREDITS as usize + QUEUE_MAX;
    let node = WorldRank(15);
    for n in 0..most {
        let mut place = process.seat(4, 4, 1);
        assert_eq!(
            place.has_room(node, TAG_UP),
            n < CREDITS as usize + QUEUE_MAX / 2
        );
        let bytes = vec![n as u8];
        assert_eq!(place.send_latest(node, TAG_UP, None, bytes), Ok(true));
    }
    let mut place = process.seat(4, 4, 1);
    assert!(!place.is_free(node, TAG_UP));
    assert_eq!(place.send_latest(node, TAG_UP, None, vec![]), Ok(false));
    assert_eq!(place.refused_sends(), 1);
    // Reading gives credit, and what waited follows, in order.
    for n in 0..most {
        // The sender takes the credits that come back.
        assert!(process.seat(4, 4, 1).receive(TAG_DOWN).unwrap().is_none());
        let message = process.seat(4, 15, 2).receive(TAG_UP).unwrap().unwrap();
        assert_eq!((message.from.0, message.bytes), (4, vec![n as u8]));
    }
    assert!(process.seat(4, 15, 2).receive(TAG_UP).unwrap().is_none());
    let mut place = process.seat(4, 4, 1);
    assert!(place.receive(TAG_DOWN).unwrap().is_none());
    assert!(place.is_free(node, TAG_UP));
}
