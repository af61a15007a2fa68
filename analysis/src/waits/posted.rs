//! Non-blocking collectives, from the call that posts them to the one that completes them: that one
//! says which request it was, and this here which collective.
//!
//! One thread may post what another one completes, and records of two threads come in any order: a
//! completion waits here for its post.

use super::coming::Coming;
use crate::messages::LastCall;
use alloc::collections::VecDeque;

/// Non-blocking collectives of one rank that are under way: some 96 KiB. Of more the oldest are
/// forgotten: their completion was not recorded.
pub const POSTED_MAX: usize = 1 << 12;
/// Completions of one rank that wait for their post: some 24 KiB. Of more the oldest are given up:
/// their post was not recorded.
pub const EARLY_MAX: usize = 1 << 8;

/// Names a request: its number, and when the call that posted it began (in ticks), as each thread
/// of the rank numbers its requests by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub number: u64,
    pub begin: u64,
}

impl Request {
    /// Whether a completion is of this post, whose begin may have been cut off.
    fn is_of(&self, completed: &Request) -> bool {
        self.number == completed.number && self.begin >= completed.begin
    }
}

/// What is kept for each rank.
#[derive(Clone, Debug, Default)]
pub struct OfRank {
    /// Under way, with their numbers on their communicators.
    posted: VecDeque<(Request, u64)>,
    /// Completed, with what lacks nothing but that number.
    early: VecDeque<(Request, Coming)>,
    /// The call that completed collectives last.
    pub last: LastCall,
}

impl OfRank {
    /// Those that are under way.
    #[cfg(test)]
    pub fn under_way(&self) -> usize {
        self.posted.len()
    }

    /// Completions that wait.
    pub fn early(&self) -> usize {
        self.early.len()
    }

    /// Completions that wait, to be changed.
    pub fn early_mut(&mut self) -> impl Iterator<Item = &mut Coming> {
        self.early.iter_mut().map(|(_, one)| one)
    }

    /// One begins, the `ordinal`-th on its communicator. If it is complete already: what of.
    pub fn post(&mut self, request: Request, ordinal: u64) -> Option<Coming> {
        let is_it = |(completed, _): &(Request, Coming)| request.is_of(completed);
        if let Some(at) = self.early.iter().position(is_it) {
            let (_, one) = self.early.remove(at)?;
            return Some(Coming { ordinal, ..one });
        }
        if self.posted.len() >= POSTED_MAX {
            self.posted.pop_front();
        }
        self.posted.push_back((request, ordinal));
        None
    }

    /// The number of a collective that is complete.
    pub fn complete(&mut self, request: Request) -> Option<u64> {
        let has = |exact: bool| {
            move |(posted, _): &(Request, u64)| match exact {
                true => *posted == request,
                false => posted.is_of(&request),
            }
        };
        // From the newest: what never completes stands before them.
        let posted = || self.posted.iter();
        let at = posted().rposition(has(true));
        let at = at.or_else(|| posted().rposition(has(false)))?;
        self.posted.remove(at).map(|(_, ordinal)| ordinal)
    }

    /// A completion waits for its post. Gives one up where there is no room.
    pub fn wait(&mut self, request: Request, one: Coming) -> Option<Coming> {
        self.early.push_back((request, one));
        let is_full = self.early.len() > EARLY_MAX;
        let first = is_full.then(|| self.early.pop_front()).flatten();
        first.map(|(_, one)| one)
    }
}
