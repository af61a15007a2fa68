//! Distributes the members of communicators: places that met peers on a communicator request them.
//!
//! Groups are reported once, by the place of the communicator's rank 0, and climb to the root;
//! places that met peers on a communicator ask for its group. A node answers from what it has, and
//! asks its parent for the rest, once for all members that want it.
//!
//! Members repeat their questions while something is missing, because questions and answers can be
//! lost: a message is refused, a group forgotten. A repeated question goes up again when it has
//! brought nothing for a while. A member that repeats its own is sent what is new as it comes, and
//! everything again after growing pauses.
//!
//! Memory is bounded by the runs of all groups: beyond that the group that was wanted least
//! recently is forgotten. At a node that costs a question to the parent; what the root forgets
//! stays unresolved.

use crate::limits::{ASK_GROUP_AGAIN_NS, GROUP_MESSAGE_RUNS_MAX, TELL_GROUP_AGAIN_NS_MAX};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use invivo_proto::control::results::Group;
use invivo_proto::ids::CommId;

/// Groups by communicator, as messages carry them.
pub(crate) type Told = BTreeMap<CommId, Group>;

#[derive(Clone, Debug, Default)]
struct Entry {
    group: Group,
    runs: usize,
    /// Members that want it.
    askers: BTreeMap<usize, Asker>,
    /// When the parent was asked last, and what was known then.
    asked: Option<(u64, usize)>,
    age: u64,
}

/// A member that wants a group.
#[derive(Clone, Copy, Debug)]
struct Asker {
    /// When it was told all that was known.
    told_ns: u64,
    /// Before it is told all of it again.
    pause_ns: u64,
}

impl Entry {
    /// Whether a member that asks now is sent all that is known.
    fn is_told_all(&mut self, now_ns: u64, member: usize) -> bool {
        let new = Asker {
            told_ns: now_ns,
            pause_ns: ASK_GROUP_AGAIN_NS,
        };

        let Some(asker) = self.askers.get_mut(&member) else {
            self.askers.insert(member, new);
            return true;
        };

        if now_ns.saturating_sub(asker.told_ns) < asker.pause_ns {
            return false;
        }
        // The pause doubles: what never becomes complete costs less and less.
        *asker = Asker {
            told_ns: now_ns,
            pause_ns: (2 * asker.pause_ns).min(TELL_GROUP_AGAIN_NS_MAX),
        };

        true
    }

    /// Whether the parent is to be asked now; if so, it is taken to be.
    fn is_passed_up(&mut self, now_ns: u64) -> bool {
        let (pass, due) = match self.asked {
            None => (true, true),
            // Where pieces come, the parent knows who wants them.
            Some((asked_ns, runs)) => (
                self.runs == runs,
                now_ns.saturating_sub(asked_ns) >= ASK_GROUP_AGAIN_NS,
            ),
        };
        if due {
            self.asked = Some((now_ns, self.runs));
        }
        pass && due
    }
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

    /// What is known of a group.
    pub fn get(&self, id: CommId) -> Option<&Group> {
        self.entries.get(&id).map(|entry| &entry.group)
    }

    /// Handles the request of a member: returns what is sent to it now, and the groups to request
    /// from the parent.
    pub fn want(&mut self, now_ns: u64, member: usize, ids: Vec<CommId>) -> (Told, Vec<CommId>) {
        let mut told = Told::new();
        let mut up = Vec::new();
        // One message must not push everything out.
        for id in ids.into_iter().take(self.bounds.groups) {
            let entry = self.touch(id);
            if entry.is_passed_up(now_ns) {
                up.push(id);
            }
            if entry.is_told_all(now_ns, member) && !entry.group.pieces.is_empty() {
                told.insert(id, entry.group.clone());
            }
        }
        self.forget();
        (told, up)
    }

    /// Takes over groups, or pieces of them; returns what is new, by the member that wants it.
    pub fn learn(&mut self, told: &Told) -> BTreeMap<usize, Told> {
        let mut for_askers: BTreeMap<usize, Told> = BTreeMap::new();
        for (&id, group) in told {
            // Nobody below asked for it; the root keeps it for those who will.
            if !self.keeps_all && !self.entries.contains_key(&id) {
                continue;
            }
            let entry = self.touch(id);
            let before = entry.runs;
            let new = entry.group.merge(group);
            entry.runs = runs(&entry.group);
            if !new.pieces.is_empty() {
                // Only what is new: they were sent the rest when they asked.
                for &member in entry.askers.keys() {
                    for_askers
                        .entry(member)
                        .or_default()
                        .insert(id, new.clone());
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
        // The age is the key of the second index: the old one goes out before the new one goes in.
        self.by_age.remove(&(entry.age, id));
        self.by_age.insert((age, id));
        entry.age = age;
        entry
    }

    fn forget(&mut self) {
        // Also empty entries count: a member could ask for any number of ids.
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

/// What a group takes of the bound: its runs, and one for each piece, so that empty ones count as
/// well.
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
            // A piece longer than the limit goes alone rather than never.
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
    use invivo_proto::definition::Run;
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
        Wait(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let want = (0..MEMBERS, prop::collection::vec(0u32..6, 0..4));
        prop_oneof![
            want.prop_map(|(member, ids)| Step::Want(member, ids)),
            (0u32..6, 0u32..4, 1u32..5).prop_map(|(of, start, length)| Step::Learn {
                of,
                start,
                length
            }),
            (0..2 * ASK_GROUP_AGAIN_NS).prop_map(Step::Wait),
        ]
    }

    fn join(into: &mut Told, from: &Told) {
        for (&id, group) in from {
            into.entry(id).or_default().merge(group);
        }
    }

    proptest! {
        /// While nothing is forgotten: who asked has heard everything there is about what it asked
        /// for, from before and after its question, and nothing else; and no question goes up twice
        /// within a second.
        #[test]
        fn who_asks_hears_all_of_it(
            steps in prop::collection::vec(step(), 0..60),
            keeps_all: bool,
        ) {
            let mut groups = Groups::new(keeps_all, MANY);
            let mut there_is = Told::new();
            let mut wanted = vec![BTreeSet::new(); MEMBERS];
            let mut heard = vec![Told::new(); MEMBERS];
            let mut passed_up = BTreeMap::new();
            let mut now_ns = 0;
            for step in steps {
                match step {
                    Step::Wait(ns) => now_ns += ns,
                    Step::Want(member, ids) => {
                        wanted[member].extend(ids.iter().copied().map(id));
                        let (known, up) = groups.want(
                            now_ns,
                            member,
                            ids.into_iter().map(id).collect(),
                        );
                        join(&mut heard[member], &known);
                        for id in up {
                            let before = passed_up.insert(id, now_ns);
                            prop_assert!(
                                before.is_none_or(|before| now_ns >= before + ASK_GROUP_AGAIN_NS)
                            );
                        }
                    }
                    Step::Learn { of, start, length } => {
                        // A node without the root's memory hears only what it asked for.
                        if !keeps_all && !passed_up.contains_key(&id(of)) {
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
                prop_assert_eq!(
                    &heard[member],
                    &all.map(|(id, group)| (*id, group.clone())).collect::<Told>()
                );
            }
        }

        #[test]
        fn memory_is_bounded_and_the_books_of_it_are_right(
            steps in prop::collection::vec(step(), 0..100),
            runs_max in 1usize..30,
        ) {
            let mut groups = Groups::new(true, Bounds { runs: runs_max, ..MANY });
            for step in steps {
                match step {
                    Step::Wait(_) => {}
                    Step::Want(member, ids) => drop(
                        groups.want(0, member, ids.into_iter().map(id).collect()),
                    ),
                    Step::Learn { of, start, length } => drop(
                        groups.learn(&told(of, start, length)),
                    ),
                }
                let held: usize = groups.entries.values().map(|entry| runs(&entry.group)).sum();
                prop_assert_eq!(groups.runs, held);
                prop_assert!(held <= runs_max);
                prop_assert_eq!(groups.by_age.len(), groups.entries.len());
            }
        }

        #[test]
        fn messages_carry_everything_in_bounded_portions(
            pieces in prop::collection::vec((0u32..6, 0u32..9, 1u32..2000), 0..40),
        ) {
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

    /// A node whose every message may be lost, below a root: whoever goes on asking hears
    /// everything in the end.
    #[test]
    fn lost_questions_answers_and_memory_are_made_good() {
        let narrow = Bounds {
            groups: 1,
            runs: 100,
        };

        let (mut root, mut node) = (Groups::new(true, MANY), Groups::new(false, narrow));
        root.learn(&told(1, 0, 3));
        root.learn(&told(2, 0, 3));
        const STEP_NS: u64 = ASK_GROUP_AGAIN_NS / 4;
        let mut heard = Told::new();
        let (mut ups, mut downs) = (0, 0);
        for now_ns in (0..400).map(|step| step * STEP_NS) {
            // The second group pushes the first one out of the node's memory again and again.
            let wishes = [1, 2]
                .map(id)
                .into_iter()
                .filter(|id| !heard.contains_key(id));
            for wish in wishes.collect::<Vec<_>>() {
                let (known, up) = node.want(now_ns, 0, vec![wish]);
                join(&mut heard, &known);
                if up.is_empty() {
                    continue;
                }
                ups += 1;
                if ups < 3 {
                    continue;
                }
                let (answer, _) = root.want(now_ns, 0, up);
                downs += usize::from(!answer.is_empty());
                if !answer.is_empty() && downs > 3 {
                    node.learn(&answer)
                        .into_values()
                        .for_each(|told| join(&mut heard, &told));
                }
            }
        }

        assert_eq!(heard.len(), 2);
    }

    #[test]
    fn what_never_becomes_complete_is_told_ever_more_seldom() {
        let mut root = Groups::new(true, MANY);
        root.learn(&told(1, 0, 3));
        const STEP_NS: u64 = ASK_GROUP_AGAIN_NS / 4;
        let answers =
            (0..4 * 600).filter(|step| !root.want(step * STEP_NS, 0, vec![id(1)]).0.is_empty());
        // At once, after 1, 2, 4, 8, 16, 32 s, and every 64 s then.
        assert_eq!(answers.count(), 7 + (600 - 63) / 64);
        // What is new comes at once.
        assert_eq!(root.learn(&told(1, 9, 2))[&0], told(1, 9, 2));
    }

    #[test]
    fn a_flood_of_wishes_is_bounded() {
        let mut groups = Groups::new(false, MANY);
        groups.want(0, 0, (0..3 * MANY.groups as u32).map(id).collect());
        groups.want(0, 1, (0..2).map(|n| id(1_000_000 + n)).collect());
        assert_eq!(groups.entries.len(), MANY.groups);
        assert_eq!(groups.forgotten(), 2);
    }
}
