//! Sums of waits: of each rank, of all, and by communicator; and their merge.

use super::at_sites::{At, AtSites, Why};
use crate::history::cover;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use hashbrown::HashMap;
use invivo_proto::control::sites::SiteWaits;
use invivo_proto::control::wait_states::{
    COMMUNICATORS_MAX, Calls, Kind, RANKS_MAX, RankWaits, Share, WaitState, WaitStates, Waited,
};
use invivo_proto::ids::{CommId, Rank};
use invivo_proto::rank_set::RankSet;
use rustc_hash::FxBuildHasher;

/// Communicators of which a place keeps the sums, some 1 MB; waits on further ones are summed.
pub const KEPT_MAX: usize = 1 << 12;

/// The sums of one rank; few lines, so that they are searched one by one.
#[derive(Clone, Debug, Default)]
struct Rows(Vec<(Kind, Share, u64)>);

/// The sums of the ranks below one place.
#[derive(Clone, Debug)]
pub struct Sums {
    numbers: RankSet,
    ranks: Vec<Rows>,
    /// The same ranks, by where they waited.
    sites: Vec<AtSites>,
    communicators: HashMap<CommId, [Waited; WaitState::ALL.len()], FxBuildHasher>,
    left_out: Waited,
    /// See [`WaitStates::unblamed_ns`].
    pub unblamed_ns: u64,
    pub calls: Calls,
    /// See [`WaitStates::clock_error_ns`].
    pub clock_error_ns: u64,
}

impl Rows {
    #[inline]
    fn of(&mut self, kind: Kind) -> &mut (Kind, Share, u64) {
        let at = self.0.iter().position(|row| row.0 == kind);
        let at = at.unwrap_or_else(|| {
            self.0.push((kind, Share::default(), 0));
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

impl Default for Sums {
    /// Of no ranks.
    fn default() -> Sums {
        Sums::new(RankSet::from(0..0))
    }
}

impl Sums {
    /// Of these ranks.
    pub fn new(numbers: RankSet) -> Sums {
        let mut sums = Sums {
            numbers,
            ranks: Vec::new(),
            sites: Vec::new(),
            communicators: HashMap::default(),
            left_out: Waited::default(),
            unblamed_ns: 0,
            calls: Calls::default(),
            clock_error_ns: 0,
        };
        sums.number(numbers);
        sums
    }

    fn number(&mut self, numbers: RankSet) {
        self.numbers = numbers;
        self.ranks.resize_with(numbers.len(), Rows::default);
        self.sites.resize_with(numbers.len(), AtSites::default);
    }

    /// Adds what the same ranks waited at other times.
    pub fn add(&mut self, from: &Sums) {
        if self.ranks.len() < from.ranks.len() {
            self.number(from.numbers);
        }
        for (into, from) in self.ranks.iter_mut().zip(&from.ranks) {
            for (kind, share, max_ns) in &from.0 {
                let (_, into, longest_ns) = into.of(*kind);
                add_share(into, share);
                *longest_ns = (*longest_ns).max(*max_ns);
            }
        }
        for (into, from) in self.sites.iter_mut().zip(&from.sites) {
            into.add(from);
        }
        for (comm, states) in &from.communicators {
            for (state, waited) in WaitState::ALL.into_iter().zip(states) {
                if waited.waits > 0 {
                    self.charge_communicator(*comm, state, waited);
                }
            }
        }
        self.left_out.add(&from.left_out);
        self.unblamed_ns = self.unblamed_ns.saturating_add(from.unblamed_ns);
        self.clock_error_ns = self.clock_error_ns.max(from.clock_error_ns);
        add_calls(&mut self.calls, &from.calls);
    }

    /// How much memory it takes, in rows of some hundred bytes.
    pub fn rows(&self) -> usize {
        let by_kind = self.ranks.iter().map(|rows| rows.0.len());
        let by_site = self.sites.iter().map(AtSites::len);
        // A communicator has a sum for each wait state.
        by_kind.chain(by_site).sum::<usize>() + 4 * self.communicators.len()
    }

    /// The ranks that may have waited.
    pub fn ranks(&self) -> impl Iterator<Item = Rank> {
        self.numbers.iter()
    }

    /// A rank, the `index`-th here, waited, once or more often.
    #[inline]
    pub fn charge(&mut self, index: usize, comm: CommId, at: At, why: Why, waited: &Waited) {
        let (Some(rows), Some(sites)) = (self.ranks.get_mut(index), self.sites.get_mut(index))
        else {
            return;
        };
        sites.charge(at, why, waited);
        let state = why.0;
        let (_, share, max_ns) = rows.of((state, at.0));
        share.waits = share.waits.saturating_add(waited.waits);
        share.ns = share.ns.saturating_add(waited.ns);
        *max_ns = waited.max_ns.max(*max_ns);
        self.charge_communicator(comm, state, waited);
    }

    /// Somebody waited on a communicator.
    #[inline]
    fn charge_communicator(&mut self, comm: CommId, state: WaitState, waited: &Waited) {
        let is_full = self.communicators.len() >= KEPT_MAX;
        match self.communicators.get_mut(&comm) {
            Some(of) => of[state as usize].add(waited),
            None if is_full => leave_out(&mut self.left_out, state, waited),
            None => {
                let of = self.communicators.entry(comm).or_default();
                of[state as usize] = *waited;
            }
        }
    }

    /// Others waited for a rank, the `index`-th here.
    #[inline]
    pub fn blame(&mut self, index: usize, kind: Kind, waits: u64, ns: u64) {
        if let Some(rows) = self.ranks.get_mut(index) {
            let (_, share, _) = rows.of(kind);
            share.caused = share.caused.saturating_add(waits);
            share.caused_ns = share.caused_ns.saturating_add(ns);
        }
    }

    /// Where a rank waited: by function and site, in no order. Sums of all ranks are those of the
    /// answer by wait state and function.
    pub fn at_sites(&self, rank: Rank) -> impl Iterator<Item = (At, WaitState, &SiteWaits)> {
        let of_rank = self.numbers.index(rank);
        let of_rank = of_rank.and_then(|index| self.sites.get(index));
        of_rank.into_iter().flat_map(AtSites::iter)
    }

    /// The answer of this place, with so many rows by rank at most.
    pub fn to_partial(&self, ranks_max: u32) -> WaitStates {
        let mut partial = WaitStates {
            ranks_max: ranks_max.min(RANKS_MAX),
            communicators_left_out: self.left_out,
            unblamed_ns: self.unblamed_ns,
            calls: self.calls,
            clock_error_ns: self.clock_error_ns,
            ..WaitStates::default()
        };
        for (rank, rows) in self.numbers.iter().zip(&self.ranks) {
            if rows.0.is_empty() {
                continue;
            }
            partial.ranks_total += 1;
            let mut of_rank = RankWaits::default();
            for &(kind, share, max_ns) in &rows.0 {
                of_rank.kinds.insert(kind, share);
                let waited = Waited {
                    waits: share.waits,
                    ns: share.ns,
                    max_ns,
                    max_rank: rank,
                };
                if share.waits > 0 {
                    partial.kinds.entry(kind).or_default().add(&waited);
                }
            }
            partial.ranks.insert(rank, of_rank);
        }
        for (comm, of) in &self.communicators {
            let states = WaitState::ALL.into_iter().zip(*of);
            let some = states.filter(|(_, waited)| waited.waits > 0).collect();
            partial.communicators.insert(*comm, some);
        }
        cut(&mut partial);
        partial
    }
}

/// Adds waits to those of communicators of which none of their own are kept.
fn leave_out(left_out: &mut Waited, state: WaitState, waited: &Waited) {
    if state.part_of().is_none() {
        left_out.add(waited);
    }
}

/// How long a rank waited, and made others wait.
pub fn totals(of: &RankWaits) -> (u64, u64) {
    let whole = of
        .kinds
        .iter()
        .filter(|((state, _), _)| state.part_of().is_none());
    whole.fold((0, 0), |(waited_ns, caused_ns): (u64, u64), (_, share)| {
        (
            waited_ns.saturating_add(share.ns),
            caused_ns.saturating_add(share.caused_ns),
        )
    })
}

/// Adds other ranks. Which ranks stay is the same for every shape of the tree; which communicators
/// stay is not, where some have to go, but their sums and what was left out together are.
pub fn merge(into: &mut WaitStates, from: WaitStates) {
    // The answer of nobody asks for no rows; all others of one question ask for the same.
    into.ranks_max = into.ranks_max.max(from.ranks_max);
    for (kind, waited) in from.kinds {
        into.kinds.entry(kind).or_default().add(&waited);
    }
    for (rank, other) in from.ranks {
        let of_rank = into.ranks.entry(rank).or_default();
        for (kind, other) in other.kinds {
            add_share(of_rank.kinds.entry(kind).or_default(), &other);
        }
    }
    into.ranks_total = into.ranks_total.saturating_add(from.ranks_total);
    for (comm, states) in from.communicators {
        let of_comm = into.communicators.entry(comm).or_default();
        for (state, waited) in states {
            of_comm.entry(state).or_default().add(&waited);
        }
    }
    (into.communicators_left_out).add(&from.communicators_left_out);
    into.unblamed_ns = into.unblamed_ns.saturating_add(from.unblamed_ns);
    into.clock_error_ns = into.clock_error_ns.max(from.clock_error_ns);
    cover(&mut into.past, from.past);
    add_calls(&mut into.calls, &from.calls);
    cut(into);
}

fn add_share(into: &mut Share, from: &Share) {
    into.waits = into.waits.saturating_add(from.waits);
    into.ns = into.ns.saturating_add(from.ns);
    into.caused = into.caused.saturating_add(from.caused);
    into.caused_ns = into.caused_ns.saturating_add(from.caused_ns);
}

fn add_calls(into: &mut Calls, from: &Calls) {
    for (into, from) in [
        (&mut into.met, from.met),
        (&mut into.untimed, from.untimed),
        (&mut into.open, from.open),
        (&mut into.limit, from.limit),
        (&mut into.unresolved, from.unresolved),
        (&mut into.outside, from.outside),
    ] {
        *into = into.saturating_add(from);
    }
}

/// Keeps as much as an answer has room for.
fn cut(answer: &mut WaitStates) {
    let most = answer.ranks_max as usize;
    if answer.ranks.len() > most {
        // Ranks are disjoint between places: keeping the worst everywhere gives the worst of all.
        let mut stay = Vec::new();
        for of in [|totals: (u64, u64)| totals.0, |totals: (u64, u64)| totals.1] {
            let ranks = answer.ranks.iter();
            let mut worst: Vec<(Reverse<u64>, Rank)> = ranks
                .map(|(rank, waits)| (Reverse(of(totals(waits))), *rank))
                .filter(|(Reverse(ns), _)| *ns > 0)
                .collect();
            worst.sort_unstable();
            stay.extend(worst.into_iter().take(most).map(|(_, rank)| rank));
        }
        stay.sort_unstable();
        answer
            .ranks
            .retain(|rank, _| stay.binary_search(rank).is_ok());
    }
    if answer.communicators.len() > COMMUNICATORS_MAX {
        let all = core::mem::take(&mut answer.communicators);
        let mut all: Vec<(CommId, BTreeMap<WaitState, Waited>)> = all.into_iter().collect();
        let sum = |of: &BTreeMap<WaitState, Waited>| -> u64 {
            let whole = of.iter().filter(|(state, _)| state.part_of().is_none());
            whole
                .map(|(_, waited)| waited.ns)
                .fold(0, u64::saturating_add)
        };
        all.sort_by_key(|(comm, of)| (Reverse(sum(of)), *comm));
        for (_, of) in all.drain(COMMUNICATORS_MAX..) {
            for (state, waited) in &of {
                leave_out(&mut answer.communicators_left_out, *state, waited);
            }
        }
        answer.communicators = all.into_iter().collect();
    }
}
