//! What goes to the supervisor beside its orders: parts of answers, and samples one by one. The
//! supervisor may read late: what it has no room for waits here.

use invivo_proto::control::encode;
use invivo_proto::control::local::{FromSupervisor, LOCAL_BYTES_MAX};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

/// Nobody is there to read.
pub struct Unread;

/// Messages on their way.
pub struct Outbox {
    socket: OwnedFd,
    /// Parts of an answer that the supervisor has not taken yet.
    answer: VecDeque<Vec<u8>>,
    /// The same of what is told unasked, with the number of samples in it.
    told: Option<(Vec<u8>, usize)>,
}

impl Outbox {
    /// To this socket.
    pub fn new(socket: OwnedFd) -> Outbox {
        Outbox {
            socket,
            answer: VecDeque::new(),
            told: None,
        }
    }

    /// Puts an answer there instead of the one before.
    pub fn answer(&mut self, parts: &[FromSupervisor]) {
        self.answer = parts.iter().filter_map(bytes).collect();
    }

    /// Gives up samples that the supervisor has not taken yet: so many.
    pub fn give_up_samples(&mut self) -> usize {
        let given_up = self.told.take_if(|(_, samples)| *samples > 0);
        given_up.map_or(0, |(_, samples)| samples)
    }

    /// Whether the socket had no room for something.
    pub fn is_stuck(&self) -> bool {
        self.told.is_some() || !self.answer.is_empty()
    }

    /// To wait for room, if that is needed.
    pub fn waited(&self) -> PollFd<'_> {
        let wanted = match self.is_stuck() {
            true => PollFlags::OUT,
            false => PollFlags::empty(),
        };
        PollFd::new(&self.socket, wanted)
    }

    /// Sends what there is room for: parts of the answer, and what `next` has, in turn.
    ///
    /// # Errors
    /// When nobody is there to read.
    pub fn send(&mut self, mut next: impl FnMut() -> Option<FromSupervisor>) -> Result<(), Unread> {
        loop {
            if let Some(part) = self.answer.front() {
                if !is_taken(&self.socket, part)? {
                    return Ok(());
                }
                self.answer.pop_front();
            }
            if self.told.is_none() {
                let next = next();
                let samples = next.as_ref().map_or(0, samples);
                self.told = next.as_ref().and_then(bytes).map(|bytes| (bytes, samples));
            }
            match &self.told {
                Some((told, _)) if !is_taken(&self.socket, told)? => return Ok(()),
                None if self.answer.is_empty() => return Ok(()),
                Some(_) | None => self.told = None,
            }
        }
    }
}

/// A message, unless it is too long for one, which none is.
fn bytes(message: &FromSupervisor) -> Option<Vec<u8>> {
    let bytes = encode(message).ok()?;
    (bytes.len() <= LOCAL_BYTES_MAX).then_some(bytes)
}

/// How many samples are in it.
fn samples(message: &FromSupervisor) -> usize {
    match message {
        FromSupervisor::Samples { taken, .. } => taken.len(),
        _ => 0,
    }
}

/// Whether the socket has room for a message, which is then sent.
fn is_taken(socket: &OwnedFd, message: &[u8]) -> Result<bool, Unread> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match rustix::net::send(socket, message, flags) {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Ok(false),
        Err(_) => Err(Unread),
    }
}
