//! Credits: how many messages may be on their way to a process that does not read. MPI takes small
//! messages eagerly and keeps them in the receiver's memory until they are read, so without credits
//! a process that is stopped, or busy, would grow with everything that is said to it.
//!
//! ```text
//! sender    32 credits --- message --->  receiver    reads it, owes a credit
//!           31            --- ... --->
//!            0: queues                               owes 16: gives them back, with its next
//!                                                    message or alone
//! ```
//!
//! A process that passes on what it reads gives credit only for what it can pass on: it reads while
//! the account of whoever takes it next has room ([`Account::has_room`]). So credits work from end
//! to end, and what must not be lost ([`Account::submit_surely`]) waits where it comes from.
//!
//! Pure: what MPI does with a message is not known here. One [`Account`] is one process' side of
//! one channel, in both directions: what it may send, what it owes, and what waits.

use std::collections::VecDeque;

/// Messages on their way to one process that it has not read: more than a wave and a command need
/// at a time, few enough that a process that does not read is found out before its memory grows.
pub const CREDITS: u32 = 32;
/// Credits that are given back alone when no message goes that way: half of them, so that a sender
/// that is never answered pays one small message for sixteen, and is never out of credits while the
/// other side reads.
pub const CREDITS_OWED_MAX: u32 = CREDITS / 2;
/// Messages that wait for credits: all the waves and commands that a node has under way, once.
pub const QUEUE_MAX: usize = 128;
/// Messages that wait for credits where there is no room for more to pass on: the other half is for
/// what a process says of its own accord, an answer to each wave.
pub const PASSED_ON_MAX: usize = QUEUE_MAX / 2;
/// Bytes that wait for credits: the longest message and others beside it.
pub const QUEUE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Bytes behind each message: the credits that come back with it, and whether it is a message at
/// all.
pub const TRAILER_BYTES: usize = 4;
/// Set in the trailer of what carries credits alone.
const ALONE: u32 = 1 << 31;

/// A message that waits.
#[derive(Clone, Debug)]
struct Waiting {
    /// Of one kind only the newest waits.
    kind: Option<u8>,
    bytes: Vec<u8>,
}

/// One process' side of one channel to another process.
#[derive(Clone, Debug)]
pub struct Account {
    credits: u32,
    owed: u32,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
}

/// What a message turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// A message, its trailer taken off.
    Message(Vec<u8>),
    /// Credits alone.
    Credits,
    /// Too short for a trailer: whoever sent it keeps no accounts.
    Malformed(Vec<u8>),
}

impl Default for Account {
    fn default() -> Account {
        Account {
            credits: CREDITS,
            owed: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }
}

impl Account {
    /// Takes a message in. With a `kind`, an older one of the same kind that still waits is
    /// forgotten. False when too much waits: the message is refused.
    pub fn submit(&mut self, kind: Option<u8>, bytes: Vec<u8>) -> bool {
        if kind.is_some()
            && let Some(older) = self.waiting.iter().position(|waiting| waiting.kind == kind)
            && let Some(older) = self.waiting.remove(older)
        {
            self.waiting_bytes -= older.bytes.len();
        }
        let fits =
            self.waiting.len() < QUEUE_MAX && self.waiting_bytes + bytes.len() <= QUEUE_BYTES_MAX;
        // Whatever may go at once goes, however long it is.
        let taken = fits || self.is_free();
        if taken {
            self.wait(Waiting { kind, bytes });
        }
        taken
    }

    /// Takes a message in that must not be lost, however much waits. Of such messages a process has
    /// as many as it takes in from others while there is room, and a few of its own.
    pub fn submit_surely(&mut self, bytes: Vec<u8>) {
        self.wait(Waiting { kind: None, bytes });
    }

    fn wait(&mut self, message: Waiting) {
        self.waiting_bytes += message.bytes.len();
        self.waiting.push_back(message);
    }

    /// Whether there is room for messages of others.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < PASSED_ON_MAX && self.waiting_bytes < QUEUE_BYTES_MAX / 2
    }

    /// The next bytes that may be sent now, if there are any.
    pub fn next_to_send(&mut self) -> Option<Vec<u8>> {
        if self.credits > 0
            && let Some(Waiting { mut bytes, .. }) = self.waiting.pop_front()
        {
            self.credits -= 1;
            self.waiting_bytes -= bytes.len();
            bytes.extend_from_slice(&self.give_back().to_le_bytes());
            return Some(bytes);
        }
        // Credits alone cost no credit, or both sides could wait for each other.
        (self.owed >= CREDITS_OWED_MAX).then(|| (self.give_back() | ALONE).to_le_bytes().to_vec())
    }

    fn give_back(&mut self) -> u32 {
        std::mem::take(&mut self.owed)
    }

    /// Takes bytes that came and were read.
    pub fn receive(&mut self, mut bytes: Vec<u8>) -> Received {
        let Some((_, trailer)) = bytes.split_last_chunk::<TRAILER_BYTES>() else {
            return Received::Malformed(bytes);
        };
        let trailer = u32::from_le_bytes(*trailer);
        // More than there are would let the other side's memory grow, whoever is at fault.
        self.credits = self.credits.saturating_add(trailer & !ALONE).min(CREDITS);
        if trailer & ALONE != 0 {
            return Received::Credits;
        }
        // Owed only once it is read: what lies in MPI's buffers is bounded by that.
        self.owed += 1;
        bytes.truncate(bytes.len() - TRAILER_BYTES);
        Received::Message(bytes)
    }

    /// Whether a message would go at once.
    pub fn is_free(&self) -> bool {
        self.credits > 0 && self.waiting.is_empty()
    }

    /// Messages that wait for credits.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests;
