//! The loop, with a role and a transport that note what is asked of them.

use super::*;
use crate::Message;
use crate::seats::OneEach;
use invivo_proto::channel::{TAG_DOWN, TAG_UP};
use invivo_proto::ids::WorldRank;
use std::convert::Infallible;

/// A transport that carries nothing.
#[derive(Default)]
struct Nothing {
    progressed: usize,
    is_sending: bool,
}

impl Transport for Nothing {
    type Error = Infallible;

    fn packets(&mut self, _: impl FnMut(WorldRank, Option<&[u8]>)) -> Result<usize, Infallible> {
        Ok(0)
    }

    fn receive(&mut self, _: i32) -> Result<Option<Message>, Infallible> {
        Ok(None)
    }

    fn has_room(&self, _: WorldRank, _: i32) -> bool {
        true
    }

    fn is_free(&self, _: WorldRank, _: i32) -> bool {
        true
    }

    fn send_latest(
        &mut self,
        _: WorldRank,
        _: i32,
        _: Option<u8>,
        _: Vec<u8>,
    ) -> Result<bool, Infallible> {
        Ok(true)
    }

    fn send_surely(&mut self, _: WorldRank, _: i32, _: Vec<u8>) -> Result<(), Infallible> {
        Ok(())
    }

    fn is_sending(&self) -> bool {
        self.is_sending
    }

    fn progress(&mut self) -> Result<(), Infallible> {
        self.progressed += 1;
        Ok(())
    }

    fn refused_sends(&self) -> u64 {
        0
    }
}

/// A role that leaves in its third turn.
struct ThreeTurns {
    asked: Vec<&'static str>,
    turns: usize,
    readable: std::os::unix::net::UnixStream,
}

impl Role for ThreeTurns {
    fn flush_max(&self) -> Duration {
        Duration::ZERO
    }

    fn receive<T: Transport>(&mut self, _: &mut T, _: &mut PanicGuard) -> Result<bool, T::Error> {
        self.asked.push("receive");
        Ok(false)
    }

    fn end_asked(&mut self, _: &mut PanicGuard) {
        self.asked.push("end");
    }

    fn tick<T: Transport>(&mut self, _: &T, guard: &mut PanicGuard) -> bool {
        self.asked.push("tick");
        guard.run(|| assert!(self.turns != 1)).is_none()
    }

    fn send<T: Transport>(&mut self, _: &mut T, _: &mut PanicGuard) -> Result<bool, T::Error> {
        self.asked.push("send");
        self.turns += 1;
        Ok(true)
    }

    fn exit(&self) -> Option<Exit> {
        (self.turns == 3).then_some(Exit::Abandon)
    }

    fn is_shut_down(&self) -> bool {
        false
    }

    fn descriptors(&self) -> Vec<PollFd<'_>> {
        vec![PollFd::new(&self.readable, rustix::event::PollFlags::IN)]
    }

    fn descriptors_ready(&mut self, _: &mut PanicGuard) -> bool {
        self.asked.push("ready");
        false
    }
}

#[test]
fn turns_keep_their_order_and_survive_a_panic() {
    let (readable, mut other) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    std::io::Write::write_all(&mut other, &[1]).expect("room for a byte");
    let role = ThreeTurns {
        asked: Vec::new(),
        turns: 0,
        readable,
    };
    let mut transport = Nothing::default();
    let mut roles = Roles::new(WorldRank(4), OneEach, vec![member(4, 1, role)]);
    let exit = turn_until_exit(&mut transport, &mut roles, &AtomicBool::new(true));
    assert_eq!(exit, Ok(Exit::Abandon));
    let turn = ["receive", "end", "tick", "send"];
    let expected = [&turn[..], &["ready"], &turn, &["ready"], &turn].concat();
    let Member { role, guard, .. } = roles.members().next().unwrap();
    assert_eq!(role.asked, expected);
    assert_eq!((transport.progressed, guard.panics()), (3, 1));
}

/// A calm role that leaves when it is asked to be woken, as before a long rest, or in its last
/// turn.
#[derive(Default)]
struct Calm {
    turns: u32,
    is_asked: bool,
}

impl Calm {
    const LAST: u32 = 2 * crate::idle::POLLS_BEFORE_REST;
}

impl Role for Calm {
    fn flush_max(&self) -> Duration {
        Duration::ZERO
    }

    fn receive<T: Transport>(&mut self, _: &mut T, _: &mut PanicGuard) -> Result<bool, T::Error> {
        Ok(false)
    }

    fn end_asked(&mut self, _: &mut PanicGuard) {}

    fn tick<T: Transport>(&mut self, _: &T, _: &mut PanicGuard) -> bool {
        self.turns += 1;
        false
    }

    fn send<T: Transport>(&mut self, _: &mut T, _: &mut PanicGuard) -> Result<bool, T::Error> {
        Ok(false)
    }

    fn exit(&self) -> Option<Exit> {
        (self.is_asked || self.turns == Calm::LAST).then_some(Exit::Finalize)
    }

    fn is_shut_down(&self) -> bool {
        false
    }

    fn pace(&self) -> Pace {
        Pace::Calm(crate::idle::REST_CALM)
    }

    fn ask_to_be_woken(&mut self) -> bool {
        self.is_asked = true;
        true
    }
}

#[test]
fn nobody_sleeps_before_what_was_sent_has_left() {
    for is_sending in [false, true] {
        let mut transport = Nothing {
            is_sending,
            ..Nothing::default()
        };
        let mut roles = Roles::new(WorldRank(4), OneEach, vec![member(4, 1, Calm::default())]);
        let exit = turn_until_exit(&mut transport, &mut roles, &AtomicBool::new(false));
        assert_eq!(exit, Ok(Exit::Finalize));
        let role = &roles.members().next().unwrap().role;
        assert_eq!(role.is_asked, !is_sending, "after {} turns", role.turns);
    }
}

fn member<R>(address: u32, layer: u32, role: R) -> Member<R> {
    Member {
        address: WorldRank(address),
        layer,
        role,
        guard: PanicGuard::new(),
    }
}

/// A root, or a place, that says something in each turn and leaves when it has heard enough. A
/// place panics over everything it hears.
struct Talker {
    hears: i32,
    says: i32,
    to: WorldRank,
    heard: Vec<Vec<u8>>,
    panics: bool,
    leaves: Exit,
}

impl Role for Talker {
    fn flush_max(&self) -> Duration {
        Duration::ZERO
    }

    fn receive<T: Transport>(
        &mut self,
        t: &mut T,
        guard: &mut PanicGuard,
    ) -> Result<bool, T::Error> {
        let mut worked = false;
        while let Some(message) = t.receive(self.hears)? {
            worked = true;
            assert_eq!(message.from, self.to);
            self.heard.push(message.bytes);
            guard.run(|| assert!(!self.panics));
        }
        Ok(worked)
    }

    fn end_asked(&mut self, _: &mut PanicGuard) {}

    fn tick<T: Transport>(&mut self, _: &T, _: &mut PanicGuard) -> bool {
        false
    }

    fn send<T: Transport>(&mut self, t: &mut T, _: &mut PanicGuard) -> Result<bool, T::Error> {
        t.send_latest(self.to, self.says, None, vec![self.heard.len() as u8])
    }

    fn exit(&self) -> Option<Exit> {
        (self.heard.len() == 5).then_some(self.leaves)
    }

    fn is_shut_down(&self) -> bool {
        false
    }
}

/// Process 4 is place 4 and root 5.
struct PlaceAndRoot;

impl Seating for PlaceAndRoot {
    fn process_of(&self, _: WorldRank) -> Option<WorldRank> {
        Some(WorldRank(4))
    }

    fn address(&self, process: WorldRank, layer: u32) -> Option<WorldRank> {
        (process.0 == 4).then_some(WorldRank(3 + layer))
    }
}

#[test]
fn roles_of_one_process_speak_by_memory_and_panic_apart() {
    let talker = |hears, says, to, panics, leaves| Talker {
        hears,
        says,
        to: WorldRank(to),
        heard: Vec::new(),
        panics,
        leaves,
    };
    let root = talker(TAG_UP, TAG_DOWN, 4, false, Exit::Finalize);
    let place = talker(TAG_DOWN, TAG_UP, 5, true, Exit::RootLost);
    let members = vec![member(5, 2, root), member(4, 1, place)];
    let mut roles = Roles::new(WorldRank(4), PlaceAndRoot, members);
    // The transport below carries nothing.
    let exit = turn_until_exit(&mut Nothing::default(), &mut roles, &AtomicBool::new(false));
    assert_eq!(
        exit,
        Ok(Exit::RootLost),
        "the worst of both, when both have left"
    );
    let [root, place] = [0, 1].map(|at| roles.members().nth(at).unwrap());
    // The root turns first: the place hears it in the same turn, and is heard in the next.
    assert_eq!(place.role.heard, [[0], [1], [2], [3], [4]]);
    assert_eq!(root.role.heard, [[1], [2], [3], [4], [5]]);
    assert_eq!((root.guard.panics(), place.guard.panics()), (0, 5));
}
