//! Calls that complete several receives, or several collectives: a call waits for all of them at
//! once, so that its waiting time is the longest of theirs, once.

use alloc::vec::Vec;
use invivo_proto::control::wait_states::WaitState;
use invivo_proto::ids::{CommId, Rank, RegionId, SiteId};
use invivo_proto::record::Facts;

/// A call that waited for somebody: a late sender, a late receiver, a member of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// In which way.
    pub state: WaitState,
    /// Who waited.
    pub waiter: Rank,
    /// For whom.
    pub causer: Rank,
    /// The communicator; of a message as the sender's side knows it.
    pub comm: CommId,
    /// The function in which it was waited.
    pub region: RegionId,
    /// Where that was called.
    pub site: SiteId,
    /// Since when, in job time.
    pub from_ns: u64,
    /// For how long the same call had waited for others until then, in ns, as was told before: it
    /// goes on.
    pub before_ns: u64,
    /// For how long, in ns.
    pub ns: u64,
    /// How far the clock of either side may have been off, in ns.
    pub error_ns: u64,
}

/// The call of a rank that came last of those that are followed.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastCall {
    /// In the rank's ticks.
    pub begin: u64,
    pub region: RegionId,
    pub site: SiteId,
    /// Where it completes several.
    pub number: u32,
    /// It completes receives, as far as is known.
    pub receives: bool,
}

impl LastCall {
    /// A call that began then.
    #[inline]
    pub fn new(begin: u64, facts: &Facts) -> LastCall {
        LastCall {
            begin,
            region: facts.region,
            site: facts.site,
            number: 0,
            receives: false,
        }
    }

    /// What follows are more parts of a call that began then.
    pub fn goes_on(&mut self, begin: u64) {
        // Of another thread's call: where that was made is not known, and its function is taken to
        // be that of the call before.
        if self.begin != begin {
            self.begin = begin;
            self.site = SiteId::NONE;
            self.number = 0;
            self.receives = false;
        }
    }

    /// The rank's call completes so many that are to be told of, beside those that it was known to.
    pub fn completes(&mut self, count: u32, rank: Rank, calls: &mut Calls) {
        let of = (rank, self.begin);
        if self.number != 0 && !calls.extend(self.number, count, of) {
            // All that was told of so far is over: the rest waits for itself.
            self.number = 0;
        }
        if self.number == 0 && count > 1 {
            self.number = calls.begin(count, of);
        }
    }
}

/// A call some of whose receives have not met their sends, or collectives not all members.
#[derive(Clone, Copy, Debug, Default)]
struct Several {
    /// Whose it is, and when it began.
    of: (Rank, u64),
    /// What of it is to be told of.
    open: u32,
    /// The longest wait so far.
    longest: Option<Late>,
    /// The next free one, plus one.
    free: u32,
}

/// Such calls, by numbers from 1. There are no more than receives or collectives that wait.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    all: Vec<Several>,
    free: u32,
}

impl Calls {
    /// A call that completes so many; its number.
    pub fn begin(&mut self, count: u32, of: (Rank, u64)) -> u32 {
        let one = Several {
            of,
            open: count,
            ..Several::default()
        };
        match self.free.checked_sub(1) {
            Some(at) => {
                let several = &mut self.all[at as usize];
                self.free = several.free;
                *several = one;
                at + 1
            }
            None => {
                self.all.push(one);
                self.all.len() as u32
            }
        }
    }

    /// A call completes more than it was known to. False where it is over already.
    pub fn extend(&mut self, number: u32, count: u32, of: (Rank, u64)) -> bool {
        let is_it = |several: &&mut Several| several.open > 0 && several.of == of;
        let several = self.get(number).filter(is_it);
        several.map(|several| several.open += count).is_some()
    }

    /// One of them waited for somebody, or for nobody. When it was the last one: the
    /// longest wait of all.
    pub fn told(&mut self, number: u32, wait: Option<Late>) -> Option<Late> {
        let several = self.get(number).filter(|several| several.open > 0)?;
        // Of equally long ones who and what decides, so that the order of telling does not matter.
        let longer = |late: Option<Late>| late.map(|of| (of.ns, of.causer, of.comm, of.state));
        if longer(wait) > longer(several.longest) {
            several.longest = wait;
        }
        several.open -= 1;
        if several.open > 0 {
            return None;
        }
        let longest = several.longest;
        let free = core::mem::replace(&mut self.free, number);
        if let Some(several) = self.get(number) {
            several.free = free;
        }
        longest
    }

    /// Job time is so far ahead of the clock that waits so far were told by.
    pub fn shift(&mut self, offset_ns: i64) {
        let longest = self.all.iter_mut().filter_map(|of| of.longest.as_mut());
        longest.for_each(|late| late.from_ns = late.from_ns.saturating_add_signed(offset_ns));
    }

    /// Waits so far do not count.
    pub fn forget(&mut self) {
        self.all
            .iter_mut()
            .for_each(|several| several.longest = None);
    }

    fn get(&mut self, number: u32) -> Option<&mut Several> {
        self.all.get_mut((number as usize).checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn late(ns: u64, sender: u32) -> Option<Late> {
        Some(Late {
            state: WaitState::LateSender,
            waiter: Rank(0),
            causer: Rank(sender),
            comm: CommId::WORLD,
            region: RegionId(1),
            site: SiteId(2),
            from_ns: 0,
            before_ns: 0,
            ns,
            error_ns: 0,
        })
    }

    #[test]
    fn a_call_waits_once_for_its_last_sender() {
        let mut calls = Calls::default();
        let of = (Rank(0), 7);
        let (one, other) = (calls.begin(3, of), calls.begin(2, of));
        assert_eq!(calls.told(one, late(30, 5)), None);
        assert_eq!(calls.told(other, None), None);
        assert_eq!(calls.told(one, late(70, 6)), None);
        assert_eq!(calls.told(other, None), None, "nobody was late");
        assert_eq!(calls.told(one, late(50, 7)), late(70, 6));
        // Numbers are used again, and a call that is over is not told of.
        assert_eq!(calls.told(one, late(9, 1)), None);
        assert!(!calls.extend(one, 1, of));
        let again = (calls.begin(1, of), calls.begin(1, of), calls.begin(1, of));
        assert_eq!(again, (one, other, 3));
        assert_eq!(calls.told(one, late(9, 1)), late(9, 1));
    }

    #[test]
    fn a_call_goes_on_and_a_reset_forgets_its_waits() {
        let mut calls = Calls::default();
        let of = (Rank(0), 7);
        let one = calls.begin(1, of);
        // Its number may be that of another call by now.
        assert!(!calls.extend(one, 2, (Rank(1), 7)) && !calls.extend(one, 2, (Rank(0), 8)));
        assert!(calls.extend(one, 2, of));
        assert_eq!(calls.told(one, late(30, 5)), None);
        calls.forget();
        assert_eq!(calls.told(one, None), None);
        assert_eq!(calls.told(one, late(10, 4)), late(10, 4));
    }
}
