//! The members of a node: its children and, where ranks report to it, itself; who is silent, who is
//! gone.

use crate::coverage;
use crate::limits::GONE_NS;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use fixedbitset::FixedBitSet;
use invivo_proto::control::results::{Coverage, Ledger, NOTES_MAX};
use invivo_proto::control::whereabouts::Whereabouts;
use invivo_proto::ids::WorldRank;

/// A child of a node, or the node itself.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub world: WorldRank,
    /// Ranks below it.
    pub ranks: u32,
    /// The node itself, for the ranks that it serves directly.
    pub local: bool,
    /// When its last message came; at first, when the node began.
    pub heard_ns: u64,
    /// It missed a wave or a command, and has sent nothing since: it gets no queries, and commands
    /// do not wait for it.
    pub silent: bool,
    /// It has been silent for so long that what it held is given up. It may come back all the same.
    pub gone: bool,
    /// Messages of it that could not be read, or cannot be true.
    pub garbage: u64,
    /// The ledger of its last answer.
    pub last: Ledger,
    /// Where it runs, once it has said so.
    pub here: Whereabouts,
}

impl Member {
    pub fn new(now_ns: u64, world: WorldRank, ranks: u32, local: bool) -> Member {
        Member {
            world,
            ranks,
            local,
            heard_ns: now_ns,
            silent: false,
            gone: false,
            garbage: 0,
            last: Ledger::default(),
            here: Whereabouts::default(),
        }
    }

    /// Notes a message of the member: whatever it missed, it is alive, and its ledger is valid.
    pub fn hear(&mut self, now_ns: u64) {
        self.heard_ns = now_ns;
        (self.silent, self.gone) = (false, false);
    }

    /// When it is gone, if it goes on to be silent.
    fn gone_ns(&self) -> Option<u64> {
        (!self.local && !self.gone).then(|| self.heard_ns.saturating_add(GONE_NS))
    }

    /// What is wrong with it, as sentences for a status.
    fn notes(&self) -> impl Iterator<Item = String> {
        let Member {
            world,
            ranks,
            garbage,
            ..
        } = self;
        let garbage = (*garbage > 0).then(|| {
            format!(
                "tool process {world} sent garbage: {garbage} messages that cannot be read or \
                 cannot be true were ignored"
            )
        });
        let absence = if self.gone {
            Some(format!(
                "tool process {world} has been silent for {} s: what it held of its {ranks} ranks \
                 counts as dropped until it is heard",
                GONE_NS / 1_000_000_000
            ))
        } else if self.silent {
            Some(format!(
                "tool process {world} does not answer: its {ranks} ranks are missing until it does"
            ))
        } else {
            None
        };

        garbage.into_iter().chain(absence)
    }

    /// The coverage of its silence: its ranks count and do not report. What a member held that is
    /// gone is dropped; the ledger of a late one is unknown until it answers.
    pub fn absence(&self) -> Coverage {
        let ledger = if self.gone {
            coverage::gone(&self.last)
        } else {
            Ledger::default()
        };
        Coverage {
            ranks: self.ranks,
            members_missing: 1,
            ledger,
            ..Coverage::default()
        }
    }
}

/// The members of a node, in the order of their world ranks.
#[derive(Clone, Debug)]
pub(crate) struct Members(Vec<Member>);

impl Members {
    pub fn new(mut members: Vec<Member>) -> Members {
        members.sort_by_key(|member| member.world);
        Members(members)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn get(&self, index: usize) -> &Member {
        &self.0[index]
    }

    pub fn get_mut(&mut self, index: usize) -> &mut Member {
        &mut self.0[index]
    }

    /// All but the node itself.
    pub fn children(&self) -> impl Iterator<Item = &Member> {
        self.0.iter().filter(|member| !member.local)
    }

    /// Those who are gone now and were not before.
    pub fn leave(&mut self, now_ns: u64) -> Vec<usize> {
        let mut gone = Vec::new();
        for (index, member) in self.0.iter_mut().enumerate() {
            if member.gone_ns().is_some_and(|gone_ns| gone_ns <= now_ns) {
                // Its time-out is far longer than that of a wave, so it is silent in any case.
                (member.silent, member.gone) = (true, true);
                gone.push(index);
            }
        }
        gone
    }

    /// When the next one is gone, if nothing is heard before.
    pub fn next_gone_ns(&self) -> Option<u64> {
        self.0.iter().filter_map(Member::gone_ns).min()
    }

    pub fn child(&self, world: WorldRank) -> Option<usize> {
        self.0
            .binary_search_by_key(&world, |member| member.world)
            .ok()
            .filter(|&index| !self.0[index].local)
    }

    pub fn local(&self) -> Option<usize> {
        self.0.iter().position(|member| member.local)
    }

    /// The ranks below all of them.
    pub fn ranks(&self) -> u32 {
        self.0
            .iter()
            .fold(0, |ranks: u32, member| ranks.saturating_add(member.ranks))
    }

    /// A list on which everybody has to be ticked off.
    pub fn roll(&self) -> FixedBitSet {
        (0..self.len()).collect()
    }

    /// A list of those who are waited for: all who are not silent.
    pub fn roll_of_awake(&self) -> FixedBitSet {
        // Waiting for a silent member would cost every question its whole time-out.
        (0..self.len())
            .filter(|&index| !self.0[index].silent)
            .collect()
    }

    /// What is wrong with them, as sentences for a status, one more than it has room for at most.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.0.iter().flat_map(Member::notes).take(NOTES_MAX + 1)
    }
}

/// A message that every member sends once, and the node once all have sent it.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    silent: FixedBitSet,
    left: usize,
    said: bool,
}

impl Tally {
    pub fn new(members: &Members) -> Tally {
        let silent = members.roll();
        Tally {
            left: silent.count_ones(..),
            silent,
            said: false,
        }
    }

    /// Notes the message of a member; a repetition changes nothing.
    pub fn tick_off(&mut self, member: usize) {
        if self.silent.contains(member) {
            self.silent.remove(member);
            self.left -= 1;
        }
    }

    /// Whether all have sent it.
    pub fn is_complete(&self) -> bool {
        self.left == 0
    }

    /// True once, as soon as nobody is left.
    pub fn complete(&mut self) -> bool {
        self.left == 0 && !core::mem::replace(&mut self.said, true)
    }
}
