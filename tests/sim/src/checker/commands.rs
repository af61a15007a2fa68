//! Commands: each is done once, in order, acknowledged by every rank or by the name of who does not answer, at the cut that
//! it was ordered for.

use super::Checker;
use crate::agenda::Time;
use crate::flat;
use crate::history::{Asked, Obeyed};
use invivo_proto::control::tree::{Acks, Order};
use invivo_proto::ids::CommandId;
use invivo_tbon::limits::{COMMAND_NS_PER_LAYER, CUT_AHEAD_NS_PER_LAYER};
use invivo_tbon::root::{Ask, Refusal};

impl Checker<'_> {
    /// When an order given at `at` is over at the latest.
    pub(super) fn command_ends(&self, at: Time, order: Order) -> Time {
        let ahead = self.height() * CUT_AHEAD_NS_PER_LAYER;
        let due = match order {
            Order::Reset | Order::Record { .. } => ahead,
            Order::Window { length_ns } => ahead + length_ns,
            Order::Hold { lease_ns } => lease_ns,
            Order::Pause { .. } | Order::Resume | Order::Shutdown | Order::Strategy { .. } => 0,
        };
        at + due + self.height() * COMMAND_NS_PER_LAYER
    }

    /// The first ask for a command, by the time at which it came to the root.
    fn first(&self, id: CommandId) -> Option<(&Asked, Order)> {
        let same = self.history.asks.iter().filter_map(|asked| match asked.what {
            Ask::Command { id: other, order } if other == id => Some((asked, order)),
            _ => None,
        });
        same.min_by_key(|(asked, _)| asked.at)
    }

    pub(super) fn refused(&mut self, index: usize, id: CommandId, order: Order, refusal: &Refusal) {
        let first = self.first(id).map(|(_, order)| order);
        let rightly = *refusal == Refusal::IdTaken { id } && first != Some(order);
        self.require(rightly, || {
            format!("ask {index}: {order:?} was refused by {refusal:?}, {id} is {first:?}")
        });
    }

    pub(super) fn acks(
        &mut self,
        index: usize,
        asked: &Asked,
        at: Time,
        id: CommandId,
        order: Order,
        acks: &Acks,
    ) {
        // A repeated command is answered from memory: what counts is when it was first given, and what for.
        let Some((first, first_order)) = self.first(id) else {
            return;
        };
        let from = first.at.min(asked.at);
        self.require(order == first_order, || {
            format!("ask {index}: {order:?} was done as {id}, which is {first_order:?}")
        });
        self.missing(index, from, at, &acks.missing);
        let counted = self.counted(&acks.missing);
        let places: Vec<&Obeyed> = counted
            .iter()
            .filter_map(|&place| self.history.obeyed.get(&(id, place)))
            .collect();
        let below: usize = counted
            .iter()
            .map(|&place| self.layout.ranks_of(place).len())
            .sum();
        let expected = flat::acks(&places, self.case.ranks() - below as u32, &acks.missing);
        self.require(*acks == expected, || {
            format!("ask {index}: {acks:?} instead of {expected:?}")
        });
        let named: u32 = places.iter().map(|place| place.ranks.len() as u32).sum();
        self.require(named == below as u32, || {
            format!("ask {index}: {named} of {below} ranks answer for {order:?}")
        });
    }

    /// No rank does a command twice, and all in the order in which they were given.
    pub(super) fn commands_done_once(&mut self) {
        for (rank, done) in &self.history.done {
            let mut given = self.history.given.iter();
            let in_order = done.iter().all(|command| given.any(|(next, _)| next == command));
            self.require(in_order, || {
                format!("rank {rank} did {done:?}, given were {:?}", self.history.given)
            });
        }
    }

    /// Job time is what every process takes it for, within its error; and a cut lies where its place says, within the
    /// error, and where it was ordered if the place was there in time.
    pub(super) fn cuts(&mut self) {
        self.found.extend(self.history.clocks_wrong.iter().cloned());
        let root = crate::clocks::HostClock::of(
            self.case.seed ^ u64::from(self.layout.hosts() - 1) << 32,
            self.case.offset_ms,
            self.case.drift_ppm,
        );
        for made in &self.history.cuts_made {
            let job_ns = root.local(made.at);
            let stated = job_ns.abs_diff(made.stated_ns) <= made.error_ns;
            self.require(stated, || {
                format!("a cut lay at {job_ns} ns of job time: {made:?}")
            });
            self.require(!made.in_time || made.stated_ns == made.ordered_ns, || {
                format!("a cut was made in time and not where it was ordered: {made:?}")
            });
        }
    }
}
