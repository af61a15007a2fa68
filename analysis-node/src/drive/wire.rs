//! What a driver needs of the transport: MPI in a job, memory in tests.

use invivo_mpi_link::credit::CREDITS;
use invivo_mpi_link::{Link, LinkError, Message};
use invivo_proto::channel::{TAG_DOWN, TAG_UP};
use invivo_proto::control::encode;
use invivo_proto::control::tree::{Down, Up};
use invivo_proto::ids::WorldRank;
use invivo_tbon::latest::{kind_of_down, kind_of_up, must_arrive};

/// Messages that are read at a time where so many processes send: all that can have come before the
/// first of them is read, so that nothing that has come is taken for late, and whoever goes on
/// sending keeps nobody else waiting.
pub fn at_a_time(senders: usize) -> usize {
    CREDITS as usize * senders
}

/// Messages by credits, as [`Link`] carries them; its methods say how.
pub trait Wire {
    /// What can go wrong.
    type Error;

    /// See [`Link::receive`].
    ///
    /// # Errors
    /// When the transport refuses.
    fn receive(&mut self, tag: i32) -> Result<Option<Message>, Self::Error>;

    /// See [`Link::has_room`].
    fn has_room(&self, to: WorldRank, tag: i32) -> bool;

    /// See [`Link::send_latest`].
    ///
    /// # Errors
    /// When the transport refuses.
    fn send_latest(
        &mut self,
        to: WorldRank,
        tag: i32,
        kind: Option<u8>,
        bytes: Vec<u8>,
    ) -> Result<bool, Self::Error>;

    /// See [`Link::send_surely`].
    ///
    /// # Errors
    /// When the transport refuses.
    fn send_surely(&mut self, to: WorldRank, tag: i32, bytes: Vec<u8>) -> Result<(), Self::Error>;

    /// Sends to a child. Results have a bounded size: what cannot be encoded is a fault that the
    /// other side sees as silence. What a child does not take is counted; it is asked for again, or
    /// the child is named as missing.
    ///
    /// # Errors
    /// When the transport refuses.
    fn send_down(&mut self, to: WorldRank, message: &Down) -> Result<(), Self::Error> {
        match encode(message) {
            Ok(bytes) if must_arrive(message) => self.send_surely(to, TAG_DOWN, bytes),
            Ok(bytes) => self
                .send_latest(to, TAG_DOWN, kind_of_down(message), bytes)
                .map(drop),
            Err(_) => Ok(()),
        }
    }

    /// Sends to the parent. Nothing of it is lost, but for what only the newest counts of.
    ///
    /// # Errors
    /// When the transport refuses.
    fn send_up(&mut self, to: WorldRank, message: &Up) -> Result<(), Self::Error> {
        match (encode(message), kind_of_up(message)) {
            (Ok(bytes), kind @ Some(_)) => self.send_latest(to, TAG_UP, kind, bytes).map(drop),
            (Ok(bytes), None) => self.send_surely(to, TAG_UP, bytes),
            (Err(_), _) => Ok(()),
        }
    }
}

impl Wire for Link {
    type Error = LinkError;

    fn receive(&mut self, tag: i32) -> Result<Option<Message>, LinkError> {
        Link::receive(self, tag)
    }

    fn has_room(&self, to: WorldRank, tag: i32) -> bool {
        Link::has_room(self, to, tag)
    }

    fn send_latest(
        &mut self,
        to: WorldRank,
        tag: i32,
        kind: Option<u8>,
        bytes: Vec<u8>,
    ) -> Result<bool, LinkError> {
        Link::send_latest(self, to, tag, kind, bytes)
    }

    fn send_surely(&mut self, to: WorldRank, tag: i32, bytes: Vec<u8>) -> Result<(), LinkError> {
        Link::send_surely(self, to, tag, bytes)
    }
}
