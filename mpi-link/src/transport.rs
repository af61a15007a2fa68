//! The interface between a role and its messages: MPI in a job, memory in tests.

use crate::{Link, LinkError, Message};
use invivo_proto::ids::WorldRank;

/// Packets of the ranks, and messages by credits. [`Link`] carries them over MPI; its methods say
/// how. Every error is that of the transport itself: the process cannot go on.
pub trait Transport {
    type Error;

    /// See [`Link::packets`].
    ///
    /// # Errors
    /// When the transport refuses.
    fn packets(&mut self, sink: impl FnMut(WorldRank, Option<&[u8]>))
    -> Result<usize, Self::Error>;

    /// See [`Link::receive`].
    ///
    /// # Errors
    /// When the transport refuses.
    fn receive(&mut self, tag: i32) -> Result<Option<Message>, Self::Error>;

    /// See [`Link::has_room`].
    fn has_room(&self, to: WorldRank, tag: i32) -> bool;

    /// See [`Link::is_free`].
    fn is_free(&self, to: WorldRank, tag: i32) -> bool;

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

    /// See [`Link::progress`].
    ///
    /// # Errors
    /// When the transport refuses.
    fn progress(&mut self) -> Result<(), Self::Error>;

    /// See [`Link::refused_sends`].
    fn refused_sends(&self) -> u64;
}

impl Transport for Link {
    type Error = LinkError;

    fn packets(&mut self, sink: impl FnMut(WorldRank, Option<&[u8]>)) -> Result<usize, LinkError> {
        Link::packets(self, sink)
    }

    fn receive(&mut self, tag: i32) -> Result<Option<Message>, LinkError> {
        Link::receive(self, tag)
    }

    fn has_room(&self, to: WorldRank, tag: i32) -> bool {
        Link::has_room(self, to, tag)
    }

    fn is_free(&self, to: WorldRank, tag: i32) -> bool {
        Link::is_free(self, to, tag)
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

    fn progress(&mut self) -> Result<(), LinkError> {
        Link::progress(self)
    }

    fn refused_sends(&self) -> u64 {
        Link::refused_sends(self)
    }
}
