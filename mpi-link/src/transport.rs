//! The interface between a role and its messages: MPI in a job, memory in tests.

use invivo_proto::ids::WorldRank;

/// Fewest buffers for packets: a burst of one rank finds room.
const BUFFERS_MIN: usize = 8;
/// Most buffers for packets (6.4 MiB): MPI looks through all of them at each poll.
pub const BUFFERS_MAX: usize = 64;

/// Buffers that a place posts for the packets of so many ranks: two each, so that one arrives while
/// another is read, and a rank that computes in the middle of a transfer leaves room for the
/// others.
pub fn packet_buffers(ranks: usize) -> usize {
    (2 * ranks).clamp(BUFFERS_MIN, BUFFERS_MAX)
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who sent it.
    pub from: WorldRank,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Packets of the ranks, and messages by credits. [`crate::Link`] carries them over MPI; its
/// methods say how. Every error is that of the transport itself: the process cannot go on.
pub trait Transport {
    type Error;

    /// See [`crate::Link::packets`].
    ///
    /// # Errors
    /// When the transport refuses.
    fn packets(&mut self, sink: impl FnMut(WorldRank, Option<&[u8]>))
    -> Result<usize, Self::Error>;

    /// See [`crate::Link::receive`].
    ///
    /// # Errors
    /// When the transport refuses.
    fn receive(&mut self, tag: i32) -> Result<Option<Message>, Self::Error>;

    /// See [`crate::Link::has_room`].
    fn has_room(&self, to: WorldRank, tag: i32) -> bool;

    /// See [`crate::Link::is_free`].
    fn is_free(&self, to: WorldRank, tag: i32) -> bool;

    /// See [`crate::Link::send_latest`].
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

    /// See [`crate::Link::send_surely`].
    ///
    /// # Errors
    /// When the transport refuses.
    fn send_surely(&mut self, to: WorldRank, tag: i32, bytes: Vec<u8>) -> Result<(), Self::Error>;

    /// See [`crate::Link::is_sending`].
    fn is_sending(&self) -> bool {
        false
    }

    /// See [`crate::Link::progress`].
    ///
    /// # Errors
    /// When the transport refuses.
    fn progress(&mut self) -> Result<(), Self::Error>;

    /// See [`crate::Link::refused_sends`].
    fn refused_sends(&self) -> u64;
}
