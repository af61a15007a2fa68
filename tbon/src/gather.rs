//! Gathers the answers of all members for a bounded time, for waves and commands alike.

use crate::members::{Member, Members};
use alloc::vec::Vec;
use fixedbitset::FixedBitSet;

/// What the answers of the members add up to.
pub(crate) trait Answers {
    /// This member does not answer (in time).
    fn absent(&mut self, member: &Member);
}

/// One thing that members are asked for.
#[derive(Clone, Debug)]
struct Gather<K, T> {
    key: K,
    tally: T,
    awaited: FixedBitSet,
    left: usize,
    deadline_ns: u64,
}

/// Everything that a node waits for, in the order in which it began.
#[derive(Clone, Debug)]
pub(crate) struct Gathers<K, T> {
    open: Vec<Gather<K, T>>,
    limit: usize,
}

impl<K: Copy + PartialEq, T: Answers> Gathers<K, T> {
    pub fn new(limit: usize) -> Self {
        Gathers {
            open: Vec::new(),
            limit,
        }
    }

    pub fn is_full(&self) -> bool {
        self.open.len() >= self.limit
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn find(&self, key: K) -> Option<&T> {
        self.open
            .iter()
            .find(|gather| gather.key == key)
            .map(|gather| &gather.tally)
    }

    /// Waits for the members on the roll; the others are absent. Beyond the limit the oldest is
    /// over: it is answered with what it has, so that a node in trouble keeps its memory and still
    /// tells what it does not know.
    pub fn begin(
        &mut self,
        key: K,
        mut tally: T,
        deadline_ns: u64,
        members: &Members,
        awaited: FixedBitSet,
    ) {
        if self.is_full()
            && let Some(oldest) = self.open.iter_mut().find(|gather| gather.deadline_ns != 0)
        {
            // A deadline of 0 is overdue at the next step, whatever its time; `finish` tells it
            // from a real time-out.
            oldest.deadline_ns = 0;
        }

        (0..members.len())
            .filter(|&index| !awaited.contains(index))
            .for_each(|index| tally.absent(members.get(index)));
        self.open.push(Gather {
            key,
            tally,
            left: awaited.count_ones(..),
            awaited,
            deadline_ns,
        });
    }

    /// Takes note that a member answers, and gives the tally to add its answer to; nothing when
    /// nobody waits for it (any more).
    pub fn answered(&mut self, key: K, member: usize) -> Option<&mut T> {
        let gather = self.open.iter_mut().find(|gather| gather.key == key)?;
        gather.tick_off(member).then_some(&mut gather.tally)
    }

    /// Nobody waits any longer for a member that is gone.
    pub fn give_up(&mut self, index: usize, member: &Member) {
        for gather in &mut self.open {
            if gather.tick_off(index) {
                gather.tally.absent(member);
            }
        }
    }

    /// Takes out what is complete, or overdue at `overdue_ns`, with the absent members noted. Those
    /// that had the whole time and did not answer are silent from now on.
    pub fn finish(&mut self, overdue_ns: u64, members: &mut Members) -> Vec<(K, T)> {
        self.open
            // In the order in which they began, so that answers leave in that order as well.
            .extract_if(.., |gather| {
                gather.left == 0 || gather.deadline_ns <= overdue_ns
            })
            .map(|mut gather| {
                for index in gather.awaited.ones() {
                    let member = members.get_mut(index);
                    gather.tally.absent(member);
                    // The node itself is there, whatever its ranks do.
                    // A member whose gather was cut short for lack of room had no fair chance to
                    // answer.
                    member.silent |= gather.deadline_ns != 0 && !member.local;
                }
                (gather.key, gather.tally)
            })
            .collect()
    }

    /// When the next one is overdue.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        self.open.iter().map(|gather| gather.deadline_ns).min()
    }

    pub fn clear(&mut self) {
        self.open.clear();
    }
}

impl<K, T> Gather<K, T> {
    fn tick_off(&mut self, member: usize) -> bool {
        let awaited = self.awaited.contains(member);
        if awaited {
            self.awaited.remove(member);
            self.left -= 1;
        }
        awaited
    }
}
