//! Compares the table of handles with a naive map of queues, step by step at random.

#[path = "../src/track/handle_table.rs"]
mod handle_table;

use handle_table::{HandleTable, TableAddress};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    Remove(u64),
    Change(u64),
}

/// Few keys, so that they share and collide; some as MPI libraries give them, numbers or addresses.
fn step() -> impl Strategy<Value = Step> {
    let key = prop_oneof![
        0u64..8,
        (0u64..400).prop_map(|n| 0x2c00_0000 + n),
        (0u64..400).prop_map(|n| 0x7f00_1234_0000 + n * 64),
    ];
    (key, 0..5).prop_map(|(key, kind)| match kind {
        0..=1 => Step::Insert(key),
        2..=3 => Step::Remove(key),
        _ => Step::Change(key),
    })
}

/// Checks that an address that is reported makes sense to processes that read it from outside.
fn moved(address: TableAddress) {
    let TableAddress { slots, entries } = address;
    assert!(slots.1.is_power_of_two(), "{} slots", slots.1);
    assert!(slots.0 != 0 && slots.0 % 8 == 0 && entries.0 % 8 == 0);
    assert!(entries.1 <= 1 << 20, "room for {} entries", entries.1);
}

proptest! {
    #[test]
    fn handle_table_equals_map_of_queues(steps in prop::collection::vec(step(), 0..1500)) {
        let mut table = HandleTable::new(moved);
        let mut naive: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(key) => {
                    table.insert(key, number);
                    naive.entry(key).or_default().push_back(number);
                }
                Step::Remove(key) => {
                    let first = naive.get_mut(&key).and_then(VecDeque::pop_front);
                    prop_assert_eq!(table.remove(key), first);
                }
                Step::Change(key) => {
                    let first = naive.get_mut(&key).and_then(VecDeque::front_mut);
                    prop_assert_eq!(table.get(key).copied(), first.as_deref().copied());
                    if let (Some(value), Some(first)) = (table.get(key), first) {
                        (*value, *first) = (number, number);
                    }
                }
            }
        }
        for (key, queue) in naive {
            for value in queue {
                prop_assert_eq!(table.remove(key), Some(value));
            }
            prop_assert_eq!(table.remove(key), None);
        }
    }
}
