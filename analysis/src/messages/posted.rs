//! Receives of one rank in the order in which they were posted.
//!
//! MPI gives a message to the receive that was posted first among those that it fits; the program
//! learns of them in whatever order it completes them. So a completed receive is held back here as
//! long as one that was posted before it is open and could have taken a message of the same
//! channel: that one has taken an earlier message.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use invivo_proto::ids::CommLocal;
use invivo_proto::mpi::{ANY_TAG, peer};

/// Open receives of one rank that are kept in order: some 128 KiB. Where there are more, receives
/// are taken in the order of their completion until all that are open now are complete.
pub const POSTED_MAX: usize = 1 << 12;
/// Completed receives of one rank that are held back. What stands before so many is none that will
/// complete: its completion was lost.
pub const HELD_MAX: usize = 1 << 12;

/// Whom a receive takes messages from, or took one from: the rank's own number of the communicator,
/// peer and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub comm: CommLocal,
    pub peer: i32,
    pub tag: i32,
}

impl Pattern {
    /// Whether a receive posted like this may take a message of that channel.
    #[inline]
    fn covers(&self, channel: &Pattern) -> bool {
        self.comm == channel.comm
            && (self.peer == channel.peer || self.peer == peer::ANY)
            && (self.tag == channel.tag || self.tag == ANY_TAG)
    }
}

/// A receive that is open.
#[derive(Clone, Copy, Debug)]
struct Posted {
    order: u64,
    /// The request's number, and when the call that posted it began (in ticks): together they name
    /// it, as each thread of the rank numbers its requests by itself.
    request: u64,
    begin: u64,
    pattern: Pattern,
}

/// Brings completed receives into the order of their posting. `R` is what is known of a completed
/// receive.
#[derive(Clone, Debug)]
pub struct InOrder<R> {
    posted: VecDeque<Posted>,
    held: BTreeMap<u64, (Pattern, R)>,
    next: u64,
}

impl<R> Default for InOrder<R> {
    fn default() -> Self {
        InOrder {
            posted: VecDeque::new(),
            held: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<R: Copy> InOrder<R> {
    /// Completed receives that are held back.
    #[cfg(test)]
    pub fn held(&self) -> impl Iterator<Item = &R> {
        self.held.values().map(|(_, receive)| receive)
    }

    /// Completed receives that are held back, to be changed.
    pub fn held_mut(&mut self) -> impl Iterator<Item = &mut R> {
        self.held.values_mut().map(|(_, receive)| receive)
    }

    /// A receive was posted.
    #[inline]
    pub fn post(&mut self, request: u64, begin: u64, pattern: Pattern) {
        // So many open receives mean lost completions: order is given up rather than memory.
        if self.posted.len() >= POSTED_MAX {
            self.posted.clear();
        }
        let order = self.order();
        self.posted.push_back(Posted {
            order,
            request,
            begin,
            pattern,
        });
    }

    /// A receive that was not posted under a number is complete: whether it may be matched now,
    /// and then `out` gets what else may be, in order.
    #[inline]
    pub fn receive(&mut self, channel: &Pattern, receive: &R, out: &mut Vec<(Pattern, R)>) -> bool {
        let order = self.order();
        self.complete(order, channel, receive, out)
    }

    /// The posted receive is complete: whether it may be matched now, and then `out` gets what else
    /// may be, in order.
    #[inline]
    pub fn completed(
        &mut self,
        request: u64,
        begin: u64,
        channel: &Pattern,
        receive: &R,
        out: &mut Vec<(Pattern, R)>,
    ) -> bool {
        let found = self.position(request, begin);
        // Its number alone will do where the begin was clipped.
        let found = found.or_else(|| self.posted.iter().position(|p| p.request == request));
        match found.and_then(|at| self.posted.remove(at)) {
            Some(posted) => {
                let goes = self.complete(posted.order, channel, receive, out);
                self.release(&posted.pattern, out);
                goes
            }
            None => self.receive(channel, receive, out),
        }
    }

    /// A request ended without its operation; it may have been a receive, or something else.
    pub fn cancelled(&mut self, request: u64, begin: u64, out: &mut Vec<(Pattern, R)>) {
        if let Some(posted) = self
            .position(request, begin)
            .and_then(|at| self.posted.remove(at))
        {
            self.release(&posted.pattern, out);
        }
    }

    /// What is open now will not complete. Gives what was held back, in order.
    pub fn forget(&mut self, out: &mut Vec<(Pattern, R)>) {
        self.posted.clear();
        out.extend(core::mem::take(&mut self.held).into_values());
    }

    #[inline]
    fn order(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    #[inline]
    fn position(&self, request: u64, begin: u64) -> Option<usize> {
        self.posted
            .iter()
            .position(|posted| posted.request == request && posted.begin == begin)
    }

    /// Whether an open receive that was posted earlier may have taken an earlier message of this
    /// channel.
    #[inline]
    fn is_behind(&self, order: u64, channel: &Pattern) -> bool {
        let earlier = self.posted.iter().take_while(|posted| posted.order < order);
        earlier
            .into_iter()
            .any(|posted| posted.pattern.covers(channel))
    }

    /// Whether it goes now; else it is held back.
    #[inline]
    fn complete(
        &mut self,
        order: u64,
        channel: &Pattern,
        receive: &R,
        out: &mut Vec<(Pattern, R)>,
    ) -> bool {
        if !self.is_behind(order, channel) {
            return true;
        }
        self.held.insert(order, (*channel, *receive));
        // What holds back so many will not complete any more.
        if self.held.len() > HELD_MAX {
            self.forget(out);
        }
        false
    }

    /// Gives what only an open receive of this pattern has held back.
    fn release(&mut self, pattern: &Pattern, out: &mut Vec<(Pattern, R)>) {
        if self.held.is_empty() {
            return;
        }
        // In posting order, as the map is ordered by it: MPI matches in that order.
        let free: Vec<u64> = self
            .held
            .iter()
            .filter(|(order, (channel, _))| {
                pattern.covers(channel) && !self.is_behind(**order, channel)
            })
            .map(|(order, _)| *order)
            .collect();
        out.extend(
            free.into_iter()
                .filter_map(|order| self.held.remove(&order)),
        );
    }
}
