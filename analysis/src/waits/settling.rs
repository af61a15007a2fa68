//! All members of a collective have come, or will not: those that wait here are charged, or given
//! up.

use super::at_sites::At;
use super::outgoing::Outgoing;
use super::shape::{Wait, waits};
use super::sums::Sums;
use super::waiting::{Noted, Waiting};
use super::{Open, Waits};
use crate::messages::Late;
use alloc::vec::Vec;
use invivo_proto::control::meetings::{Caused, Collective, Met};
use invivo_proto::control::wait_states::Waited;
use invivo_proto::ids::{CommId, Rank};
use invivo_proto::rank_set::RankSet;

/// A rank of this place, and its number here.
type Who = (usize, Rank);

/// Where waiting is charged.
pub struct Charges<'a> {
    pub sums: &'a mut Sums,
    pub outgoing: &'a mut Outgoing,
    waiting: &'a mut Noted,
    numbers: RankSet,
    /// Times are in job time.
    is_known: bool,
}

impl Charges<'_> {
    /// A rank of this place waited since `from_ns`.
    #[inline]
    fn charge(&mut self, (index, rank): Who, comm: CommId, at: At, from_ns: u64, wait: &Wait) {
        // What goes on is one wait, as long as all of it.
        let mut waited = Waited::once(wait.ns, rank);
        waited.waits = u64::from(wait.before_ns == 0);
        waited.max_ns = waited.max_ns.saturating_add(wait.before_ns);
        let why = (wait.state, wait.causer);
        self.sums.charge(index, comm, at, why, &waited);
        // What is a part of another wait has its time and its causer there.
        if wait.causer.is_none() || wait.state.part_of().is_some() {
            return;
        }
        // Before job time is known a wait has no place on its axis.
        if self.is_known {
            let ns = wait.ns;
            self.waiting.push(Waiting { index, from_ns, ns });
        }
        self.blame(at, wait);
    }

    /// A rank of this place waited for somebody in a call.
    pub fn late(&mut self, index: usize, late: &Late) {
        let at = (late.region, late.site);
        let who = (index, late.waiter);
        self.charge(who, late.comm, at, late.from_ns, &Wait::of(late));
    }

    /// Somebody waited there for a rank, who is here or is told at its place.
    #[inline]
    pub fn blame(&mut self, (region, _): At, wait: &Wait) {
        let Some(rank) = wait.causer else {
            return;
        };
        let Wait { state, ns, .. } = *wait;
        if let Some(index) = self.numbers.index(rank) {
            return self.sums.blame(index, (state, region), 1, ns);
        }
        let caused = Caused {
            rank,
            state,
            region,
            waits: 1,
            ns,
        };
        if !self.outgoing.caused(caused) {
            self.sums.unblamed_ns = self.sums.unblamed_ns.saturating_add(ns);
        }
    }
}

impl Waits {
    /// Where waiting is charged.
    pub(super) fn charges(&mut self) -> Charges<'_> {
        Charges {
            sums: &mut self.sums,
            outgoing: &mut self.outgoing,
            waiting: &mut self.waiting,
            numbers: self.numbers,
            is_known: self.is_known,
        }
    }

    /// All members of a collective have come: those here are charged.
    pub(super) fn settle(&mut self, met: &Met) {
        // Given up here in the meantime.
        let Some(open) = self.open.remove(&met.of) else {
            return;
        };
        let meeting = &met.meeting;
        // Ranks of one node have one clock, and those of one place are on one node.
        let is_here = open.came >= open.size;
        let unclear_ns = match is_here {
            true => 0,
            false => meeting.error_ns.saturating_add(self.clock_error_ns),
        };
        if !is_here {
            self.sums.clock_error_ns = self.sums.clock_error_ns.max(meeting.error_ns);
        }
        let is_known = self.is_known;
        let Waits {
            members,
            calls,
            sums,
            pauses,
            numbers,
            outgoing,
            reset_ns,
            waiting,
            ..
        } = self;
        let mut charges = Charges {
            sums,
            outgoing,
            waiting,
            numbers: *numbers,
            is_known,
        };
        members.take(open.list, |member, at| {
            // What ended before a reset is forgotten.
            let is_forgotten = is_known && member.end_ns <= *reset_ns && *reset_ns != 0;
            let pause = pauses.net(member.begin_ns, member.end_ns);
            let is_untimed = meeting.untimed || member.untimed || pause.paused != 0 || !pause.exact;
            match (is_forgotten, is_untimed) {
                (true, _) => {}
                (_, true) => charges.sums.calls.untimed += 1,
                (..) => charges.sums.calls.met += 1,
            }
            let is_claimed = |wait: &Wait| !is_forgotten && !is_untimed && wait.ns > unclear_ns;
            let waits = waits(open.shape, meeting, member);
            let waits = waits.iter().flatten().filter(|wait| is_claimed(wait));
            let Some(index) = numbers.index(member.rank) else {
                return;
            };
            if member.several == 0 {
                waits.for_each(|wait| {
                    let who = (index, member.rank);
                    charges.charge(who, met.of.comm, at, member.begin_ns, wait);
                });
                return;
            }
            let mut waits = waits.filter_map(|wait| {
                Some(Late {
                    state: wait.state,
                    waiter: member.rank,
                    causer: wait.causer?,
                    comm: met.of.comm,
                    region: at.0,
                    site: at.1,
                    from_ns: member.begin_ns,
                    before_ns: 0,
                    ns: wait.ns,
                    error_ns: 0,
                })
            });
            if let Some(longest) = calls.told(member.several, waits.next()) {
                charges.late(index, &longest);
            }
        });
    }

    /// Of a call that completes several collectives one has come to its end, and nothing was waited
    /// for in it.
    pub(super) fn end_one_of(&mut self, several: u32) {
        let longest = match several {
            0 => None,
            _ => self.calls.told(several, None),
        };
        if let Some(longest) = longest
            && let Some(index) = self.numbers.index(longest.waiter)
        {
            self.charges().late(index, &longest);
        }
    }

    /// Members that wait are given up.
    fn give_up_members(&mut self, open: &Open) {
        let (calls, mut several) = (&mut self.sums.calls, Vec::new());
        self.members.take(open.list, |member, _| {
            calls.limit += 1;
            if member.several != 0 {
                several.push(member.several);
            }
        });
        several.into_iter().for_each(|one| self.end_one_of(one));
    }

    /// Gives up the older half of what waits.
    #[cold]
    pub(super) fn make_room(&mut self) {
        let age = |open: &Open| open.last_ns;
        let mut ages: Vec<u64> = self.open.values().map(age).collect();
        let middle = ages.len() / 2;
        let until_ns = *ages.select_nth_unstable(middle).1;
        let old = self.open.extract_if(|_, open| age(open) <= until_ns);
        let old: Vec<Open> = old.map(|(_, open)| open).collect();
        old.iter().for_each(|open| self.give_up_members(open));
    }

    /// Nobody can be told of it.
    pub(super) fn give_up(&mut self, of: &Collective) {
        if let Some(open) = self.open.remove(of) {
            self.give_up_members(&open);
        }
    }
}
