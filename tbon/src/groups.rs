//! Who is in which communicator, for those who ask. Groups are told once, by the place of the communicator's
//! rank 0, and climb to the root; places that met peers on a communicator ask for its group. A node answers from
//! what it has, and asks its parent for the rest, once for all members that want it. Whoever has asked is also
//! told what comes later: long groups come in pieces.
//!
//! Memory is bounded by the runs of all groups: beyond that the group that was wanted least recently is forgotten.
//! At a node that costs a question to the parent; what the root forgets stays unresolved.

use crate::limits::GROUP_MESSAGE_RUNS_MAX;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use fixedbitset::FixedBitSet;
use invivo_proto::control::results::Group;
use invivo_proto::definition::Run;
use invivo_proto::ids::CommId;

/// Groups by communicator, as messages carry them.
pub(crate) type Told = BTreeMap<CommId, Group>;

#[derive(Clone, Debug, Default)]
struct Entry {
    group: Group,
    runs: usize,
    /// Members that want it.
    askers: FixedBitSet,
    age: u64,
}

/// What a node knows about groups, and who wants what.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    entries: BTreeMap<CommId, Entry>,
    by_age: BTreeSet<(u64, CommId)>,
    /// Whether groups are kept that nobody has asked for: the root's business.
    keeps_all: bool,
    runs: usize,
    bounds: Bounds,
    next_age: u64,
    forgotten: u64,
}

/// How much a node may know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub groups: usize,
    pub runs: usize,
}

impl Groups {
    pub fn new(keeps_all: bool, bounds: Bounds) -> Groups {
        Groups {
            entries: BTreeMap::new(),
            by_age: BTreeSet::new(),
            keeps_all,
            runs: 0,
            bounds,
            next_age: 0,
            forgotten: 0,
        }
    }

    /// Groups that were forgotten for others.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// A member wants groups: what is known of them, and which of them nobody has asked for before.
    pub fn want(&mut self, member: usize, ids: Vec<CommId>) -> (Told, Vec<CommId>) {
        let mut known = Told::new();
        let mut new = Vec::new();
        // One message must not push everything out.
        for id in ids.into_iter().take(self.bounds.groups) {
            if !self.entries.contains_key(&id) {
                new.push(id);
            }
            let entry = self.touch(id);
            entry.askers.grow_and_insert(member);
            if !entry.group.pieces.is_empty() {
                known.insert(id, entry.group.clone());
            }
        }
        self.forget();
        (known, new)
    }

    /// Groups, or pieces of them, became known: what is new of them for whom.
    pub fn learn(&mut self, told: &Told) -> BTreeMap<usize, Told> {
        let mut for_askers: BTreeMap<usize, Told> = BTreeMap::new();
        for (&id, group) in told {
            if !self.keeps_all && !self.entries.contains_key(&id) {
                continue;
            }
            let entry = self.touch(id);
            let before = entry.runs;
            let new = add(&mut entry.group, group);
            entry.runs = runs(&entry.group);
            if !new.pieces.is_empty() {
                for member in entry.askers.ones() {
                    for_askers.entry(member).or_default().insert(id, new.clone());
                }
            }
            let after = entry.runs;
            self.runs = self.runs - before + after;
        }
        self.forget();
        for_askers
    }

    /// The entry, made if there is none, as the one wanted last.
    fn touch(&mut self, id: CommId) -> &mut Entry {
        let age = self.next_age;
        self.next_age += 1;
        let entry = self.entries.entry(id).or_default();
        self.by_age.remove(&(entry.age, id));
        self.by_age.insert((age, id));
        entry.age = age;
        entry
    }

    fn forget(&mut self) {
        while self.runs > self.bounds.runs || self.entries.len() > self.bounds.groups {
            let Some((_, oldest)) = self.by_age.pop_first() else {
                return;
            };
            if let Some(entry) = self.entries.remove(&oldest) {
                self.runs -= entry.runs;
                self.forgotten += 1;
            }
        }
    }
}

/// Adds the pieces of `from`, and gives those that were new. Of two pieces at the same start the one that tells
/// more stays.
fn add(into: &mut Group, from: &Group) -> Group {
    let members = |runs: &[Run]| runs.iter().map(|run| u64::from(run.count)).sum::<u64>();
    let mut new = Group::default();
    for (&start, runs) in &from.pieces {
        let known = into.pieces.get(&start);
        if known.is_none_or(|known| members(known) < members(runs)) {
            into.pieces.insert(start, runs.clone());
            new.pieces.insert(start, runs.clone());
        }
    }
    new
}

/// What a group takes of the bound: its runs, and one for each piece, so that empty ones count as well.
fn runs(group: &Group) -> usize {
    group.pieces.values().map(|runs| runs.len() + 1).sum()
}

/// Cuts groups into messages of bounded length; pieces stay whole, they are short.
pub(crate) fn messages(told: Told) -> Vec<Told> {
    let mut messages = Vec::new();
    let (mut message, mut length) = (Told::new(), 0);
    for (id, group) in told {
        for (start, piece) in group.pieces {
            let own = piece.len() + 1;
            if length > 0 && length + own > GROUP_MESSAGE_RUNS_MAX {
                messages.push(core::mem::take(&mut message));
                length = 0;
            }
            length += own;
            message.entry(id).or_default().pieces.insert(start, piece);
        }
    }
    if length > 0 {
        messages.push(message);
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::ids::Rank;
    use proptest::prelude::*;
    use std::vec;

    const MEMBERS: usize = 3;
    const MANY: Bounds = Bounds {
        groups: 100,
        runs: 1 << 20,
    };

    fn id(of: u32) -> CommId {
        CommId {
            leader: Rank(of),
            counter: 1,
        }
    }

    fn piece(length: u32) -> Vec<Run> {
        (0..length)
            .map(|first| Run {
                first: Rank(first),
                stride: 1,
                count: 1,
            })
            .collect()
    }

    fn told(of: u32, start: u32, length: u32) -> Told {
        let group = Group {
            pieces: [(start, piece(length))].into(),
        };
        Told::from([(id(of), group)])
    }

    #[derive(Clone, Debug)]
    enum Step {
        Want(usize, Vec<u32>),
        Learn { of: u32, start: u32, length: u32 },
    }

    fn step() -> impl Strategy<Value = Step> {
        let want = (0..MEMBERS, prop::collection::vec(0u32..6, 0..4));
        prop_oneof![
            want.prop_map(|(member, ids)| Step::Want(member, ids)),
            (0u32..6, 0u32..4, 1u32..5).prop_map(|(of, start, length)| Step::Learn { of, start, length }),
        ]
    }

    fn join(into: &mut Told, from: &Told) {
        for (&id, group) in from {
            add(into.entry(id).or_default(), group);
        }
    }

    proptest! {
        /// While nothing is forgotten: who asked has heard everything there is about what it asked for, from
        /// before and after its question, and nothing else; and no question goes up twice.
        #[test]
        fn who_asks_hears_all_of_it(steps in prop::collection::vec(step(), 0..60), keeps_all: bool) {
            let mut groups = Groups::new(keeps_all, MANY);
            let mut there_is = Told::new();
            let mut wanted = vec![BTreeSet::new(); MEMBERS];
            let mut heard = vec![Told::new(); MEMBERS];
            let mut passed_up = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Want(member, ids) => {
                        wanted[member].extend(ids.iter().copied().map(id));
                        let (known, new) = groups.want(member, ids.into_iter().map(id).collect());
                        join(&mut heard[member], &known);
                        for id in new {
                            prop_assert!(keeps_all || passed_up.insert(id));
                        }
                    }
                    Step::Learn { of, start, length } => {
                        // A node without the root's memory hears only what it asked for.
                        if !keeps_all && !passed_up.contains(&id(of)) {
                            prop_assert!(groups.learn(&told(of, start, length)).is_empty());
                            continue;
                        }
                        join(&mut there_is, &told(of, start, length));
                        for (member, told) in groups.learn(&told(of, start, length)) {
                            join(&mut heard[member], &told);
                        }
                    }
                }
            }
            for member in 0..MEMBERS {
                let all = there_is.iter().filter(|(id, _)| wanted[member].contains(id));
                prop_assert_eq!(&heard[member], &all.map(|(id, group)| (*id, group.clone())).collect::<Told>());
            }
        }

        #[test]
        fn memory_is_bounded_and_the_books_of_it_are_right(steps in prop::collection::vec(step(), 0..100), runs_max in 1usize..30) {
            let mut groups = Groups::new(true, Bounds { runs: runs_max, ..MANY });
            for step in steps {
                match step {
                    Step::Want(member, ids) => drop(groups.want(member, ids.into_iter().map(id).collect())),
                    Step::Learn { of, start, length } => drop(groups.learn(&told(of, start, length))),
                }
                let held: usize = groups.entries.values().map(|entry| runs(&entry.group)).sum();
                prop_assert_eq!(groups.runs, held);
                prop_assert!(held <= runs_max);
                prop_assert_eq!(groups.by_age.len(), groups.entries.len());
            }
        }

        #[test]
        fn messages_carry_everything_in_bounded_portions(pieces in prop::collection::vec((0u32..6, 0u32..9, 1u32..2000), 0..40)) {
            let mut all = Told::new();
            for (of, start, length) in pieces {
                join(&mut all, &told(of, start, length));
            }
            let mut again = Told::new();
            for message in messages(all.clone()) {
                prop_assert!(message.values().map(runs).sum::<usize>() <= GROUP_MESSAGE_RUNS_MAX);
                join(&mut again, &message);
            }
            prop_assert_eq!(again, all);
        }
    }

    #[test]
    fn a_flood_of_wishes_is_bounded() {
        let mut groups = Groups::new(false, MANY);
        groups.want(0, (0..3 * MANY.groups as u32).map(id).collect());
        groups.want(1, (0..2).map(|n| id(1_000_000 + n)).collect());
        assert_eq!(groups.entries.len(), MANY.groups);
        assert_eq!(groups.forgotten(), 2);
    }
}
