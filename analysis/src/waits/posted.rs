//! Non-blocking collectives, from the call that posts them to the one that completes them: that one
//! says which request it was, and this here which collective.
//!
//! One thread may post what another one completes, and records of two threads come in any order: a
//! completion waits here for its post.

use super::coming::Coming;
use crate::messages::LastCall;
use alloc::collections::VecDeque;

/// Non-blocking collectives of one rank that are under way: some 128 KiB. Of more the oldest are
/// forgotten: their completion was not recorded.
pub const POSTED_MAX: usize = 1 << 12;
/// Completions of one rank that wait for their post: some 192 KiB, as many as a thread may complete
/// until what the others recorded is read. Of more the oldest are given up.
pub const EARLY_MAX: usize = 1 << 11;
/// So long behind a completion its post was not recorded, in ns: records of two threads are read
/// one behind the other, and no later than that.
const EARLY_NS: u64 = 2_000_000_000;

/// Names a request: its number, and when the call that posted it began (in ticks), as each thread
/// of the rank numbers its requests by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub number: u64,
    pub begin: u64,
}

/// One that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    pub request: Request,
    /// Its number on its communicator.
    pub ordinal: u64,
    /// A part of the call that posted it was cut off: its begin is a later one.
    pub is_cut: bool,
}

// What the memory that the limits state is computed from.
const _: () = assert!(size_of::<Posted>() == 32 && size_of::<(Request, Coming)>() <= 96);

impl Posted {
    /// Whether that is its completion, of which the number of the request alone may be right.
    fn may_be(&self, completed: &Request) -> bool {
        let Request { number, begin } = self.request;
        self.is_cut && number == completed.number && begin >= completed.begin
    }
}

/// What is kept for each rank.
#[derive(Clone, Debug, Default)]
pub struct OfRank {
    posted: VecDeque<Posted>,
    /// Completed, with what lacks nothing but the number on the communicator.
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

    /// One begins. If it is complete already: what of.
    pub fn post(&mut self, one: Posted) -> Option<Coming> {
        if !self.early.is_empty() {
            let mut early = self.early.iter();
            let exact = early.position(|(completed, _)| *completed == one.request);
            let mut early = self.early.iter();
            let at = exact.or_else(|| early.position(|(completed, _)| one.may_be(completed)));
            if let Some((_, complete)) = at.and_then(|at| self.early.remove(at)) {
                let ordinal = one.ordinal;
                return Some(Coming {
                    ordinal,
                    ..complete
                });
            }
        }
        if self.posted.len() >= POSTED_MAX {
            self.posted.pop_front();
        }
        self.posted.push_back(one);
        None
    }

    /// The number of a collective that is complete.
    pub fn complete(&mut self, request: Request) -> Option<u64> {
        let is_it = |one: &Posted| one.request == request;
        // Many that are under way are mostly completed in their order. Else from the newest: what
        // never completes stands before it.
        let at = match self.posted.front() {
            Some(first) if is_it(first) => Some(0),
            _ => self.posted.iter().rposition(is_it),
        };
        let at = at.or_else(|| self.posted.iter().rposition(|one| one.may_be(&request)))?;
        self.posted.remove(at).map(|one| one.ordinal)
    }

    /// A completion waits for its post. Gives one up where there is no room.
    pub fn wait(&mut self, request: Request, one: Coming) -> Option<Coming> {
        let is_full = self.early.len() >= EARLY_MAX;
        let first = is_full.then(|| self.early.pop_front()).flatten();
        self.early.push_back((request, one));
        first.map(|(_, one)| one)
    }

    /// A completion whose post was not recorded, as far as is known at that time.
    pub fn give_up(&mut self, now_ns: u64) -> Option<Coming> {
        let (_, first) = self.early.front()?;
        let is_old = first.arrival.end_ns.saturating_add(EARLY_NS) < now_ns;
        let first = is_old.then(|| self.early.pop_front()).flatten();
        first.map(|(_, one)| one)
    }
}
