//! Samples of some threads at some times, against a list of what was added.

use super::*;
use crate::sampling::namer::Namer;
use crate::sampling::path::Modules;
use invivo_proto::control::contexts::Taken;
use proptest::prelude::*;
use std::collections::HashMap;

/// Names of nothing: paths here have no code in files, or wait in vain.
fn with_names<T>(run: impl FnOnce(&Names<'_>) -> T) -> T {
    let (namer, modules) = (Namer::knowing(HashMap::new()), Modules::default());
    run(&Names {
        namer: &namer,
        modules: &modules,
    })
}

fn one(tid: u32, halvings: u32, ordinal: u64) -> One {
    let (at_ns, context) = (ordinal, 0);
    let taken = Taken {
        at_ns,
        ordinal,
        context,
    };
    One {
        tid,
        halvings,
        taken,
    }
}

/// What is known without a name, and what is not.
const KNOWN: [Step; 1] = [Step::Kernel];
const UNNAMED: [Step; 1] = [Step::Code {
    module: 0,
    offset: 0,
}];

/// All messages that there are now.
fn all(of: &mut OneByOne, now: Instant, is_on: bool) -> Vec<FromSupervisor> {
    std::iter::from_fn(|| of.tell(now, is_on)).collect()
}

/// The samples in them.
fn samples(messages: &[FromSupervisor]) -> Vec<One> {
    let each = |message: &FromSupervisor| match message {
        FromSupervisor::Samples {
            tid,
            halvings,
            taken,
            ..
        } => {
            assert!((1..=SAMPLES_PART_MAX).contains(&taken.len()));
            let (tid, halvings) = (*tid, *halvings);
            let one = |taken: &Taken| One {
                tid,
                halvings,
                taken: *taken,
            };
            taken.iter().map(one).collect()
        }
        _ => Vec::new(),
    };
    messages.iter().flat_map(each).collect()
}

#[test]
fn samples_are_told_twice_a_second_or_when_many() {
    with_names(|names| {
        let begun = Instant::now();
        let mut of = OneByOne::new(begun);
        assert_eq!(of.rest(begun, true, false), None, "idle");
        of.add(one(1, 0, 1), &KNOWN, begun);
        assert_eq!(of.rest(begun, true, false), Some(LOOK_INTERVAL));
        of.look(names, begun, true);
        assert_eq!(of.rest(begun, true, false), Some(INTERVAL));
        assert_eq!(of.rest(begun, true, true), None, "the socket is waited for");
        assert!(all(&mut of, begun, true).is_empty());
        let later = begun + INTERVAL;
        assert_eq!(of.rest(later, true, false), Some(Duration::ZERO));
        let told = all(&mut of, later, true);
        assert!(matches!(told[0], FromSupervisor::Contexts { first: 1, .. }));
        assert_eq!(samples(&told).len(), 1);
        assert_eq!(of.rest(later, true, false), None);

        for ordinal in 2..2 + OF_THREAD as u64 {
            assert!(all(&mut of, later, true).is_empty());
            of.add(one(1, 0, ordinal), &KNOWN, later);
        }
        assert_eq!(samples(&all(&mut of, later, true)).len(), OF_THREAD);
        // The last ones do not wait.
        of.add(one(1, 0, 999), &KNOWN, later);
        assert_eq!(samples(&all(&mut of, later, false)).len(), 1);
    });
}

#[test]
fn what_is_too_much_is_counted() {
    with_names(|names| {
        let begun = Instant::now();
        let mut of = OneByOne::new(begun);
        for ordinal in 1..=SAMPLES_MAX as u64 + 7 {
            of.add(one(1, 0, ordinal), &UNNAMED, begun);
        }
        of.look(names, begun, true);
        assert!(all(&mut of, begun + INTERVAL, true).is_empty());
        // Also while they are told.
        of.look(names, begun + PATIENCE, true);
        of.add(one(1, 0, 99_999), &KNOWN, begun);
        let told = all(&mut of, begun + PATIENCE, true);
        let came = samples(&told);
        assert_eq!(came.len(), SAMPLES_MAX);
        assert_eq!(came[SAMPLES_MAX - 1].taken.ordinal, SAMPLES_MAX as u64);
        let is_counted = |message: &FromSupervisor| match message {
            FromSupervisor::Samples { left_out, .. } => *left_out == 8,
            _ => true,
        };
        assert!(told.iter().all(is_counted));
    });
}

#[test]
fn what_is_hurried_is_told_or_given_up() {
    with_names(|names| {
        let begun = Instant::now();
        let mut of = OneByOne::new(begun);
        for ordinal in 1..=5 {
            of.add(one(ordinal as u32, 0, ordinal), &UNNAMED, begun);
        }
        of.hurry(names, begun);
        let contexts = of.tell(begun, true);
        assert!(matches!(contexts, Some(FromSupervisor::Contexts { .. })));
        let first = of.tell(begun, true).expect("the first thread's");
        let samples = samples(&[first]).len();
        of.give_up(samples);
        assert!(all(&mut of, begun, true).is_empty());
        assert_eq!(of.rest(begun, true, false), None);
        of.add(one(1, 0, 6), &UNNAMED, begun);
        of.look(names, begun + PATIENCE, true);
        let last = all(&mut of, begun + PATIENCE, true);
        let [FromSupervisor::Samples { left_out: 5, .. }] = &last[..] else {
            panic!("{last:?}");
        };
    });
}

proptest! {
    /// None is lost, each thread's stay in order, and a message has those of one kind.
    #[test]
    fn all_samples_are_told_in_their_order(
        steps in prop::collection::vec(
            (0u32..3, 0u32..2, 1u64..20, any::<bool>(), 0u64..700), 0..100),
    ) {
        with_names(|names| {
            let mut now = Instant::now();
            let mut of = OneByOne::new(now);
            let (mut added, mut told) = (Vec::new(), Vec::new());
            for (tid, halvings, ordinal, is_known, wait_ms) in steps {
                let path = if is_known { &KNOWN } else { &UNNAMED };
                let one = one(tid, halvings, ordinal);
                of.add(one, path, now);
                added.push(one);
                now += Duration::from_millis(wait_ms);
                of.look(names, now, true);
                told.extend(all(&mut of, now, true));
            }
            now += PATIENCE_AT_END;
            of.look(names, now, false);
            told.extend(all(&mut of, now, false));
            assert_eq!(of.rest(now, false, false), None);
            for message in &told {
                if let FromSupervisor::Samples { taken, left_out: 0, .. } = message {
                    assert!(taken.windows(2).all(|two| two[0].ordinal < two[1].ordinal));
                }
            }
            let came = samples(&told);
            assert!(came.iter().all(|one| one.taken.context > 0));
            for thread in 0..3 {
                let kind = |one: &One| (one.halvings, one.taken.ordinal);
                let of = |all: &[One]| {
                    let its = all.iter().filter(|one| one.tid == thread);
                    its.map(kind).collect::<Vec<_>>()
                };
                assert_eq!(of(&added), of(&came));
            }
        });
    }
}
