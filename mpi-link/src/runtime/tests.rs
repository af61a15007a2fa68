//! The loop, with a role and a transport that note what is asked of them.

use super::*;
use crate::Message;
use invivo_proto::ids::WorldRank;
use std::convert::Infallible;

/// A transport that carries nothing.
#[derive(Default)]
struct Nothing {
    progressed: usize,
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
    const FLUSH_MAX: Duration = Duration::ZERO;

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
    let mut role = ThreeTurns {
        asked: Vec::new(),
        turns: 0,
        readable,
    };
    let (mut transport, mut guard) = (Nothing::default(), PanicGuard::new());
    let exit = turn_until_exit(
        &mut transport,
        &mut role,
        &mut guard,
        &AtomicBool::new(true),
    );
    assert_eq!(exit, Ok(Exit::Abandon));
    let turn = ["receive", "end", "tick", "send"];
    let expected = [&turn[..], &["ready"], &turn, &["ready"], &turn].concat();
    assert_eq!(role.asked, expected);
    assert_eq!((transport.progressed, guard.panics()), (3, 1));
}
