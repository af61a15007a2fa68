//! Ids of communicators: no two of a job are the same, and their numbers can be read back.

use invivo_proto::ids::{CommId, Rank};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const RANKS: u32 = 6;

/// One communicator of a simulated job.
struct Made {
    /// Its members, rank 0 first.
    members: Vec<u32>,
    id: Option<CommId>,
    /// Calls so far that all its members made in the same order.
    calls: u64,
}

/// How new communicators are made of an old one.
#[derive(Clone, Debug)]
enum Step {
    /// A split: the part that each rank of the world is in, if any, and by how much each part's
    /// ranks are turned.
    Split(Vec<Option<u8>>, usize),
    /// Some members alone, whose rank 0 numbers it.
    Apart(Vec<bool>, usize),
    /// All of the same, without a word: it may get no id.
    Idup,
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let parts = prop::collection::vec(prop::option::weighted(0.8, 0u8..3), RANKS as usize);
    let some = prop::collection::vec(any::<bool>(), RANKS as usize);
    let step = prop_oneof![
        4 => (parts, 0..4usize).prop_map(|(parts, turn)| Step::Split(parts, turn)),
        1 => (some, 0..4usize).prop_map(|(some, turn)| Step::Apart(some, turn)),
        2 => Just(Step::Idup),
    ];
    (any::<prop::sample::Index>(), step).prop_map(|(of, step)| (of.index(64), step))
}

#[derive(Default)]
struct Job {
    comms: Vec<Made>,
    /// How many communicators each rank has numbered itself.
    led: BTreeMap<u32, u32>,
}

impl Job {
    fn lead(&mut self, leader: u32) -> Option<CommId> {
        let next = self.led.entry(leader).or_insert(1);
        *next += 1;
        CommId::led(Rank(leader), *next)
    }

    fn add(&mut self, mut members: Vec<u32>, turn: usize, parent: Option<(CommId, u64)>) {
        if members.is_empty() {
            return;
        }
        let turn = turn % members.len();
        members.rotate_left(turn);
        let leader = members[0];
        let id = parent.and_then(|(id, ordinal)| id.made_of(ordinal, Rank(leader)));
        let id = id.or_else(|| self.lead(leader));
        self.comms.push(Made {
            members,
            id,
            calls: 0,
        });
    }

    fn step(&mut self, of: usize, step: &Step) {
        let of = of % self.comms.len();
        let parent = &mut self.comms[of];
        let members = parent.members.clone();
        if let Step::Apart(some, turn) = step {
            let some = members
                .into_iter()
                .filter(|rank| some[*rank as usize])
                .collect();
            return self.add(some, *turn, None);
        }
        parent.calls += 1;
        let (id, calls) = (parent.id, parent.calls);
        let named = id.map(|id| (id, calls));
        match step {
            Step::Split(parts, turn) => {
                for part in 0..3 {
                    let in_part = |rank: &u32| parts[*rank as usize] == Some(part);
                    let members = members.iter().copied().filter(in_part).collect();
                    self.add(members, *turn, named);
                }
            }
            _ => {
                let id = named.and_then(|(id, ordinal)| id.made_of(ordinal, id.leader));
                self.comms.push(Made {
                    members,
                    id,
                    calls: 0,
                });
            }
        }
    }
}

/// Begins with the world and each rank's self.
fn job() -> Job {
    let mut job = Job::default();
    let first = |members: Vec<u32>, id| Made {
        members,
        id,
        calls: 0,
    };
    job.comms
        .push(first((0..RANKS).collect(), Some(CommId::WORLD)));
    for rank in 0..RANKS {
        job.comms
            .push(first(vec![rank], CommId::led(Rank(rank), 1)));
    }
    job
}

proptest! {
    #[test]
    fn no_two_communicators_have_one_id(steps in prop::collection::vec(step(), 0..200)) {
        let mut job = job();
        for (of, step) in &steps {
            job.step(*of, step);
        }
        let mut seen = BTreeSet::new();
        for made in &job.comms {
            if let Some(id) = made.id {
                prop_assert_eq!(id.leader, Rank(made.members[0]));
                prop_assert!(seen.insert(id), "{} twice", id);
            }
        }
    }

    #[test]
    fn numbers_are_read_back(
        first in 0u32..5000,
        path in prop::collection::vec(1u64..100_000, 0..5),
    ) {
        let leader = Rank(3);
        let mut id = match first {
            0 => CommId { leader, ..CommId::WORLD },
            number => CommId::led(leader, number).unwrap(),
        };
        let mut expected = vec![u64::from(first)];
        for number in path {
            let Some(next) = id.made_of(number, leader) else { break };
            id = next;
            expected.push(number);
        }
        prop_assert_eq!(id.numbers().collect::<Vec<_>>(), expected.clone());
        let text: Vec<String> = expected.iter().map(u64::to_string).collect();
        prop_assert_eq!(id.to_string(), format!("3.{}", text.join("/")));
    }

    #[test]
    fn any_bytes_have_numbers(leader: u32, counter: u32) {
        let id = CommId { leader: Rank(leader), counter };
        prop_assert!(id.numbers().count() <= 32);
        let _ = id.made_of(1, Rank(leader));
    }
}

#[test]
fn the_world_has_room_for_many_and_deep_chains() {
    let child = CommId::WORLD.made_of(2_000_000, Rank(5)).unwrap();
    assert_eq!(child.to_string(), "5.0/2000000");
    assert_eq!(CommId::WORLD.made_of(u64::MAX, Rank(5)), None);
    let mut id = CommId::WORLD;
    for _ in 0..30 {
        id = id.made_of(1, Rank(1)).unwrap();
    }
    assert_eq!(id.made_of(1, Rank(1)), None);
}

#[test]
fn a_led_parent_names_only_its_leaders_communicators() {
    let led = CommId::led(Rank(2), 7).unwrap();
    assert_eq!(led.made_of(4, Rank(2)).unwrap().to_string(), "2.7/4");
    assert_eq!(led.made_of(4, Rank(3)), None);
    assert_eq!(CommId::led(Rank(2), u32::MAX), None);
}
