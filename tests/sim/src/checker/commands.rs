//! Checks commands: carried out once, in order, acknowledged by every rank or by the name of who
//! does not answer, at the cut that was ordered.

use super::Checker;
use crate::agenda::Time;
use crate::flat;
use crate::history::{Asked, Obeyed};
use crate::truth::{Cut, What};
use invivo_proto::control::tree::{Acks, Order, Verb};
use invivo_proto::ids::CommandId;
use invivo_tbon::limits::{COMMAND_NS_PER_LAYER, CUT_AHEAD_NS_PER_LAYER};
use invivo_tbon::root::{Ask, Refusal};
use std::collections::BTreeSet;

impl<'a> Checker<'a> {
    /// When an order given at `at` is over at the latest.
    pub(super) fn command_ends(&self, at: Time, order: &Order) -> Time {
        let ahead = self.height() * CUT_AHEAD_NS_PER_LAYER;
        let due = match order {
            Order::Reset | Order::Record { .. } | Order::Analyses { .. } | Order::Select(_) => {
                ahead
            }
            Order::Window { length_ns } => ahead + length_ns,
            // Ranks may come to their MPI_Init as late as that.
            Order::Hold { lease_ns } => *lease_ns,
            Order::Pause { .. }
            | Order::Resume
            | Order::Shutdown
            | Order::Strategy { .. }
            | Order::Sampling { .. }
            | Order::Metrics(_)
            | Order::Overhead { .. } => 0,
        };
        at + due + self.height() * COMMAND_NS_PER_LAYER
    }

    /// The first ask for a command, by the time at which it came to the root.
    fn first(&self, id: CommandId) -> Option<(&'a Asked, &'a Order)> {
        let asks = self.history.asks.iter();
        let same = asks.filter_map(|asked| match &asked.what {
            Ask::Command { id: other, order } if *other == id && !asked.is_excluded() => {
                Some((asked, order))
            }
            _ => None,
        });
        // A command that was refused does not take its id.
        same.min_by_key(|(asked, _)| asked.at)
    }

    /// The command under way at `at` beside which `order` cannot be given. Where one ends at that
    /// very time, it may be either way.
    fn excluding(&self, at: Time, order: &Order) -> Option<CommandId> {
        let excludes = |other: &Order| match order {
            Order::Reset | Order::Window { .. } => matches!(other, Order::Window { .. }),
            Order::Shutdown => *other == Order::Shutdown,
            _ => false,
        };
        let given = self.history.given.iter().map(|(id, _)| *id);
        given.into_iter().find(|&id| {
            let Some((first, other)) = self.first(id) else {
                return false;
            };
            // One without an answer yet is still under way.
            let over = first.delivered.first().map_or(Time::MAX, |(over, _)| *over);
            excludes(other) && first.at < at && at < over
        })
    }

    pub(super) fn refused(
        &mut self,
        index: usize,
        asked: &Asked,
        id: CommandId,
        order: &Order,
        refusal: &Refusal,
    ) {
        let first = self.first(id).map(|(_, order)| order);
        let rightly = match *refusal {
            Refusal::IdTaken { id: taken } => taken == id && first != Some(order),
            Refusal::Window { id: other } | Refusal::ShuttingDown { id: other } => {
                self.excluding(asked.at, order) == Some(other)
            }
            _ => false,
        };

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
        order: &Order,
        acks: &Acks,
    ) {
        // A repeated command is answered from memory: what counts is when it was first given, and
        // what for.
        let Some((first_at, first_order)) = self.first(id).map(|(first, order)| (first.at, order))
        else {
            return;
        };

        let excluding = self.excluding(first_at, first_order);
        self.require(excluding.is_none(), || {
            format!("ask {index}: {order:?} was done as {id} beside {excluding:?}")
        });
        let from = first_at.min(asked.at);
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
            // One iterator for all: a command done twice, or before an earlier one, finds no match
            // behind.
            let mut given = self.history.given.iter();
            let in_order = done
                .iter()
                .all(|command| given.any(|(next, _)| next == command));
            self.require(in_order, || {
                format!(
                    "rank {rank} did {done:?}, given were {:?}",
                    self.history.given
                )
            });
        }
    }

    /// However the commands of several clients follow each other: all places come to the same
    /// epoch, and those that heard of every cut in time made the same ones, from where everything
    /// was forgotten last.
    pub(super) fn places_agree(&mut self) {
        let history = self.history;
        let shut_down = history
            .given
            .iter()
            .any(|(_, verb)| *verb == Verb::Shutdown);
        // With faults places may miss commands; then they differ rightly.
        if !self.case.is_faultless() || shut_down {
            return;
        }

        let epochs: BTreeSet<u32> = history.epochs.values().copied().collect();
        self.require(epochs.len() <= 1, || {
            format!(
                "epochs differ between places: {:?} after {:?}",
                history.epochs, history.given
            )
        });
        // Commands of the last moments may have found no time any more.
        let last = history.cuts_made.iter().map(|cut| cut.at).max();
        let ordered = history.given.iter().map(|(_, verb)| verb.due_ns()).max();
        let all_made = history
            .cuts_made
            .iter()
            .any(|cut| Some(cut.at) == last && Some(cut.ordered_ns) == ordered);
        let after = flat::analyses_after(&history.given);
        let wrong = history.analyses.values().find(|on| **on != after);
        self.require(!all_made || wrong.is_none(), || {
            format!(
                "analyses {wrong:?} are on instead of {after}, after {:?}",
                history.given
            )
        });
        // A late cut lies where the place was by then, and no longer where the others made it.
        if history.cuts_made.iter().any(|cut| !cut.in_time) {
            return;
        }

        let since_forgotten = |cuts: &Vec<Cut>| {
            let last = cuts
                .iter()
                // Cuts before it cut calls that are forgotten: places may differ in them.
                .rposition(|cut| cut.what == What::Forget)
                .unwrap_or(0);
            cuts[last..].iter().map(|cut| cut.what).collect::<Vec<_>>()
        };

        let mut made = history.cuts.values().map(since_forgotten);
        let first = made.next().unwrap_or_default();
        let other = made.find(|other| *other != first);
        self.require(other.is_none(), || {
            format!(
                "cuts differ between places: {first:?} and {other:?} after {:?}",
                history.given
            )
        });
    }

    /// Job time is what every process takes it for, within its error; and a cut lies where its
    /// place says, within the error, and where it was ordered if the place was there in time.
    pub(super) fn cuts(&mut self) {
        self.found.extend(self.history.clocks_wrong.iter().cloned());
        // Made anew of the seed and not read from the simulation, whose error it would share.
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
