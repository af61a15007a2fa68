//! The word that says whether calls are recorded, beside two plain switches.

use invivo_proto::shm::recording::{self, by_place, by_program, epoch, is_on, position, word};
use proptest::prelude::*;

/// Who switches.
#[derive(Clone, Copy, Debug)]
enum Switch {
    /// The place; where it switches on from off it begins an epoch.
    Place(bool),
    Program(bool),
}

fn switch() -> impl Strategy<Value = Switch> {
    prop_oneof![
        any::<bool>().prop_map(Switch::Place),
        any::<bool>().prop_map(Switch::Program)
    ]
}

proptest! {
    #[test]
    fn calls_are_recorded_while_both_are_on(
        first in 0u32..1 << 28, switches in prop::collection::vec(switch(), 0..40),
    ) {
        let (mut now, mut number) = (word(first, true), first);
        let (mut place, mut program) = (true, true);
        for switch in switches {
            let before = now;
            match switch {
                Switch::Place(on) => {
                    number += u32::from(on && !place);
                    place = on;
                    now = by_place(now, number, on);
                }
                Switch::Program(on) => {
                    program = on;
                    now = by_program(now, on);
                }
            }
            prop_assert_eq!(is_on(now), place && program);
            prop_assert_eq!(recording::is_off_by_program(now), !program);
            prop_assert_eq!(epoch(now), number);
            // An off that becomes an on is seen as later.
            if !is_on(before) && is_on(now) {
                prop_assert!(position(now) > position(before));
            }
        }
    }
}

#[test]
fn epochs_begin_anew_where_they_have_no_room() {
    for on in [false, true] {
        assert_eq!(word(1 << 29, on), word(0, on));
        assert_eq!(epoch(word((1 << 29) - 1, on)), (1 << 29) - 1);
        assert!(!recording::is_off_by_program(word(u32::MAX, on)));
    }
}
