//! Non-blocking collectives, from the call that posts them to the one that completes them: that one
//! says which request it was, and this here which collective.

use crate::messages::LastCall;
use alloc::collections::VecDeque;

/// Non-blocking collectives of one rank that are under way: some 96 KiB. Of more the oldest are
/// forgotten: their completion was lost.
pub const POSTED_MAX: usize = 1 << 12;

/// One that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    /// The request's number, and when the call that posted it began (in ticks): together they name
    /// it, as each thread of the rank numbers its requests by itself.
    pub request: u64,
    pub begin: u64,
    pub ordinal: u64,
}

/// What is kept for each rank.
#[derive(Clone, Debug, Default)]
pub struct OfRank {
    posted: VecDeque<Posted>,
    /// The call that came last, while some are under way.
    pub last: LastCall,
}

impl OfRank {
    /// Those that are under way.
    pub fn under_way(&self) -> usize {
        self.posted.len()
    }

    /// One begins.
    pub fn post(&mut self, one: Posted) {
        if self.posted.len() >= POSTED_MAX {
            self.posted.pop_front();
        }
        self.posted.push_back(one);
    }

    /// The number of a collective that is complete.
    pub fn complete(&mut self, request: u64, begin: u64) -> Option<u64> {
        let is_it = |one: &Posted| one.request == request && one.begin == begin;
        let at = self.posted.iter().position(is_it)?;
        Some(self.posted.remove(at)?.ordinal)
    }
}
