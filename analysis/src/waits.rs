//! Wait states: who waits for whom in collectives, in receives of late senders, and in sends to
//! late receivers.
//!
//! The members of a collective are seen by their ranks, perhaps below different places. A place
//! joins the arrivals of its own ranks. Where these are all members, as always with one place, it
//! is done. Otherwise it tells the sum to the collective's *home*, one of the places
//! ([`homes`]), which sends the whole back when all have come; then each place charges its own
//! ranks, and tells the place of whoever was waited for how much that was. So the row of a rank,
//! what it waited and what it caused, is at one place, and the tree sees sums alone.
//!
//! Members are known by the communicator's id and the collective's number on it, which ranks count
//! whether or not they record: lost records leave a collective open, and shift no other. Those that
//! stay open are bounded; the older half is given up, and counted.
//!
//! Late senders and receivers come from the matching of messages ([`crate::messages`]), at the
//! place of the receiver; what a sender waited for is told to its own. Of a non-blocking send that
//! one alone knows who waited for its completion: it is told when the receive was posted.

mod arriving;
mod at_sites;
mod causers;
mod coming;
mod completing;
mod homes;
mod meeting;
mod members;
mod outgoing;
mod posted;
mod settling;
mod shape;
mod steps;
mod sums;
mod time;
mod waiting;

pub use at_sites::{At, merge as merge_at_site};
pub use coming::UNRESOLVED_MAX;
pub use homes::GATHERED_MAX;
pub use members::WAITING_MAX;
pub use outgoing::OUTGOING_MAX;
pub use posted::POSTED_MAX;
pub use sums::{KEPT_MAX, Sums, merge, totals};
pub use waiting::Waiting;

use crate::messages::{Calls, Late, PlaceOf};
use crate::pauses::Pauses;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use coming::Coming;
use hashbrown::HashMap;
use homes::{Homes, home_number};
use invivo_proto::control::meetings::{
    Arrived, Collective, LatePost, MEETINGS_MAX, Meeting, Meetings,
};
use invivo_proto::control::wait_states::{WaitState, WaitStates, Waited};
use invivo_proto::definition::Definition;
use invivo_proto::ids::CommId;
use invivo_proto::mpi::FUNCTIONS;
use invivo_proto::rank_set::RankSet;
use members::{List, Members};
use outgoing::Outgoing;
use rustc_hash::FxBuildHasher;
use shape::{Shape, Shapes, Wait};
use waiting::Noted;

/// Communicators whose members here are counted: some 1 MB. Of further ones each arrival is told by
/// itself.
pub const COUNTED_MAX: usize = 1 << 16;

/// The place where a collective with this number meets, by the numbers that the driver gives to
/// places.
pub type HomeOf = Box<dyn Fn(u64) -> u32 + Send>;

/// The wait states of the ranks below one place.
pub struct Waits {
    numbers: RankSet,
    job_ranks: u32,
    me: u32,
    home_of: HomeOf,
    place_of: PlaceOf,
    shapes: Shapes,
    /// Ranks here of communicators other than the world.
    local: HashMap<CommId, u32, FxBuildHasher>,
    open: HashMap<Collective, Open, FxBuildHasher>,
    members: Members,
    of_ranks: Vec<posted::OfRank>,
    /// Calls that complete several collectives.
    calls: Calls,
    unresolved: VecDeque<Coming>,
    homes: Homes,
    outgoing: Outgoing,
    pauses: Pauses,
    /// The last reset, in job time; 0 without one.
    reset_ns: u64,
    /// Resets so far.
    resets: u64,
    clock_error_ns: u64,
    /// Times are in job time; they are in the node's own before.
    is_known: bool,
    sums: Sums,
    /// Waits for others that nobody has taken yet.
    waiting: Noted,
}

/// A collective of which members have come.
#[derive(Clone, Debug)]
struct Open {
    shape: Shape,
    /// Members of the communicator.
    size: u32,
    /// What its home has not been told.
    untold: Meeting,
    /// Members here that wait.
    list: List,
    /// Members here that have come.
    came: u32,
    /// When the last of these began to wait, in ns.
    last_ns: u64,
    /// It stands among those that are to be told.
    is_due: bool,
}

impl Waits {
    /// Of the place `me`, with these ranks of all that the job has.
    pub fn new(
        ranks: impl Into<RankSet>,
        job_ranks: u32,
        me: u32,
        home_of: HomeOf,
        place_of: PlaceOf,
    ) -> Waits {
        let numbers = ranks.into();
        Waits {
            numbers,
            job_ranks,
            me,
            home_of,
            place_of,
            shapes: Shapes::default(),
            local: HashMap::default(),
            open: HashMap::default(),
            members: Members::default(),
            of_ranks: numbers.iter().map(|_| posted::OfRank::default()).collect(),
            calls: Calls::default(),
            unresolved: VecDeque::new(),
            homes: Homes::default(),
            outgoing: Outgoing::default(),
            pauses: Pauses::default(),
            reset_ns: 0,
            resets: 0,
            clock_error_ns: 0,
            is_known: false,
            sums: Sums::new(numbers),
            waiting: Noted::default(),
        }
    }

    /// A rank defined something.
    pub fn define(&mut self, definition: &Definition<'_>) {
        if let Definition::Communicator { id, .. } = definition
            && (self.local.len() < COUNTED_MAX || self.local.contains_key(id))
        {
            *self.local.entry(*id).or_default() += 1;
        }
    }

    /// A receiver waited for a late sender, or a sender for a late receiver; one of both is here.
    pub fn late(&mut self, late: &Late) {
        let waiter = self.numbers.index(late.waiter);
        let is_here = waiter.is_some() && self.numbers.index(late.causer).is_some();
        if !is_here {
            self.sums.clock_error_ns = self.sums.clock_error_ns.max(late.error_ns);
        }
        let whole_ns = late.before_ns.saturating_add(late.ns);
        if late.ns == 0 || (!is_here && whole_ns <= late.error_ns.saturating_mul(2)) {
            return;
        }
        let mut charges = self.charges();
        if let Some(index) = waiter {
            return charges.late(index, late);
        }
        if charges.outgoing.late_receiver(late) {
            let at = (late.region, late.site);
            charges.blame(at, &Wait::of(late));
        } else {
            let unblamed_ns = &mut charges.sums.unblamed_ns;
            *unblamed_ns = unblamed_ns.saturating_add(late.ns);
        }
    }

    /// A receive was posted late to a send of a rank of another place, which is told.
    pub fn late_post(&mut self, post: LatePost) {
        if !self.outgoing.late_post(post) {
            self.sums.calls.limit += 1;
        }
    }

    /// So many late receivers could not be told, for want of room.
    pub fn lose_posts(&mut self, count: u64) {
        self.sums.calls.limit += count;
    }

    /// Before job time is known a wait has no place on its axis.
    fn note(&mut self, waiting: Waiting) {
        if self.is_known {
            self.waiting.push(waiting);
        }
    }

    /// Waits for others since this was asked last, to be asked after everything that may find some.
    #[inline]
    pub fn take_waiting(&mut self, each: impl FnMut(&Waiting)) {
        self.waiting.take(each);
    }

    /// What is to be told to other places, in messages. `credit` is asked before each whether that
    /// place takes one.
    pub fn take_batches(&mut self, credit: impl FnMut(u32) -> bool) -> Vec<(u32, Meetings)> {
        if !self.is_known {
            return Vec::new();
        }
        while let Some(of) = self.outgoing.take_due() {
            let Some(open) = self.open.get_mut(&of) else {
                continue;
            };
            open.is_due = false;
            let mut arrived = Arrived {
                of,
                size: open.size,
                meeting: core::mem::take(&mut open.untold),
            };
            arrived.meeting.error_ns = self.clock_error_ns;
            let home = (self.home_of)(home_number(&of));
            if home == self.me {
                self.gather(self.me, &arrived);
            } else if !self.outgoing.arrived(home, arrived) {
                self.give_up(&of);
            }
        }
        self.outgoing.take(&self.place_of, self.resets, credit)
    }

    /// Takes in what the place `from` tells.
    ///
    /// # Errors
    /// What of it was not used.
    pub fn arrive(&mut self, from: u32, told: &Meetings) -> Result<(), &'static str> {
        if told.len() > MEETINGS_MAX {
            return Err("more about collectives than one message may have");
        }
        let mut refused = Ok(());
        for arrived in &told.arrived {
            let count = arrived.meeting.arrivals;
            let is_sound = meeting::is_sound(&arrived.meeting, self.job_ranks);
            if count == 0 || count > arrived.size || arrived.size > self.job_ranks || !is_sound {
                refused = Err("a collective with members that it cannot have");
            } else if (self.home_of)(home_number(&arrived.of)) != self.me {
                refused = Err("a collective that meets at another place");
            } else {
                self.gather(from, arrived);
            }
        }
        for met in &told.met {
            if meeting::is_sound(&met.meeting, self.job_ranks) {
                self.settle(met);
            } else {
                refused = Err("a collective of ranks that the job does not have");
            }
        }
        // Sums of before a reset that has been made here are forgotten.
        if told.resets < self.resets {
            return refused;
        }
        for caused in &told.caused {
            let index = self.numbers.index(caused.rank);
            let Some(index) = index.filter(|_| usize::from(caused.region.0) < FUNCTIONS.len())
            else {
                refused = Err("a cause that is none of this place's ranks");
                continue;
            };
            let kind = (caused.state, caused.region);
            self.sums.blame(index, kind, caused.waits, caused.ns);
        }
        for late in &told.late_receivers {
            let index = self.numbers.index(late.rank);
            let is_one = usize::from(late.region.0) < FUNCTIONS.len();
            let Some(index) = index.filter(|_| is_one) else {
                refused = Err("a wait that is of none of this place's ranks");
                continue;
            };
            let waited = Waited {
                waits: late.waits,
                ns: late.ns,
                max_ns: late.max_ns,
                max_rank: late.rank,
            };
            let at = (late.region, late.site);
            let why = (WaitState::LateReceiver, Some(late.receiver));
            self.sums.charge(index, late.comm, at, why, &waited);
            let ns = late.ns.min(late.until_ns);
            let from_ns = late.until_ns - ns;
            self.note(Waiting { index, from_ns, ns });
        }
        refused
    }

    /// At the home of a collective: members have come.
    fn gather(&mut self, from: u32, arrived: &Arrived) {
        let Some((met, places)) = self.homes.arrive(from, arrived) else {
            return;
        };
        for place in places {
            if place == self.me {
                self.settle(&met);
            } else if !self.outgoing.met(place, met.clone()) {
                self.sums.calls.limit += 1;
            }
        }
    }

    /// Resets so far.
    pub fn resets(&self) -> u64 {
        self.resets
    }

    /// What waits to be told to other places.
    pub fn outgoing(&self) -> usize {
        self.outgoing.len()
    }

    /// Forgets the sums. From now on counts what ended behind `at_ns` (job time). `resets` is how
    /// many there have been, this one included: the same number at all places, whose times of one
    /// may differ a little.
    pub fn reset(&mut self, at_ns: u64, resets: u64) {
        self.sums = Sums::new(self.numbers);
        self.outgoing.forget_sums();
        self.calls.forget();
        self.reset_ns = at_ns;
        self.resets = resets;
        if !self.is_known {
            // Their times cannot be compared with that of the reset.
            self.members
                .iter_mut()
                .for_each(|member| member.untimed = true);
            self.open
                .values_mut()
                .for_each(|open| open.untold.untimed = true);
            let early = self.of_ranks.iter_mut().flat_map(posted::OfRank::early_mut);
            let unresolved = self.unresolved.iter_mut().chain(early);
            unresolved.for_each(|one| one.arrival.untimed = true);
        }
    }

    /// What the ranks have waited so far.
    pub fn sums(&self) -> &Sums {
        &self.sums
    }

    /// The same; from now on it counts anew.
    pub fn take_sums(&mut self) -> Sums {
        core::mem::replace(&mut self.sums, Sums::new(self.numbers))
    }

    /// The answer so far, with so many rows by rank at most.
    pub fn to_partial(&self, ranks_max: u32) -> WaitStates {
        let mut partial = self.sums.to_partial(ranks_max);
        self.add_open(&mut partial);
        partial
    }

    /// Adds the calls that wait for others to an answer.
    pub fn add_open(&self, partial: &mut WaitStates) {
        let early = self.of_ranks.iter().map(posted::OfRank::early);
        partial.calls.open += (self.members.len() + early.sum::<usize>()) as u64;
        partial.calls.unresolved += self.unresolved.len() as u64;
    }
}

#[cfg(test)]
mod tests;
