//! Compares a program's counters and values with a list of names, from one thread and from many.

#[allow(dead_code)]
#[path = "../src/clock.rs"]
mod clock;
#[path = "../src/track/program_metrics.rs"]
mod program_metrics;
#[path = "../src/signals.rs"]
mod signals;

use invivo_proto::shm::program_metric::{CLAIMED, COUNTER, FREE, GIVEN_UP, VALUE};
use invivo_proto::shm::{PROGRAM_METRICS_MAX, PROGRAM_NAME_BYTES, ProgramMetric};
use program_metrics::{Name, keep};
use proptest::prelude::*;
use std::ffi::CString;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What is in a rank's page.
struct Kept {
    metrics: [ProgramMetric; PROGRAM_METRICS_MAX],
    lost: AtomicU32,
}

impl Kept {
    fn new() -> Kept {
        // SAFETY: numbers, each of which may be 0; as the supervisor makes the page.
        unsafe { std::mem::zeroed() }
    }

    fn keep(&self, kind: u32, name: &str, number: u64) {
        let name = CString::new(name).expect("a name without a zero");
        // SAFETY: a string of C.
        let name = unsafe { Name::of(name.as_ptr()) };
        if let Some(name) = name {
            keep(&self.metrics, &self.lost, kind, name, number);
        }
    }

    fn lost(&self) -> u32 {
        self.lost.load(Ordering::Relaxed)
    }

    /// All slots that are taken, as another process reads them.
    fn read(&self) -> Vec<(u32, String, u64)> {
        let state = |metric: &ProgramMetric| metric.state.load(Ordering::Acquire);
        let taken = self
            .metrics
            .iter()
            .take_while(|metric| state(metric) != FREE);
        let read: Vec<_> = taken
            .map(|metric| {
                let words = metric.name.each_ref();
                let words = words.map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
                let name = String::from_utf8_lossy(words.as_flattened());
                let name = name.trim_end_matches('\0').to_owned();
                (state(metric), name, metric.value.load(Ordering::Relaxed))
            })
            .collect();
        let free = &self.metrics[read.len()..];
        assert!(free.iter().all(|metric| state(metric) == FREE));
        read
    }
}

fn row(kind: u32, name: &str, number: u64) -> (u32, String, u64) {
    (kind, name.to_owned(), number)
}

#[test]
fn a_name_is_its_text_wherever_it_stands() {
    let kept = Kept::new();
    let mut text = *b"steps\0";
    let one = |text: &[u8; 6]| {
        // SAFETY: a string of C.
        let name = unsafe { Name::of(text.as_ptr().cast()) }.expect("a name");
        keep(&kept.metrics, &kept.lost, COUNTER, name, 1);
    };
    one(&text);
    one(&text.clone());
    text[4] = b'_';
    one(&text);
    kept.keep(COUNTER, "steps", 1);
    kept.keep(COUNTER, "step", 1);
    let expected = [
        row(COUNTER, "steps", 3),
        row(COUNTER, "step_", 1),
        row(COUNTER, "step", 1),
    ];
    assert_eq!(kept.read(), expected);
}

#[test]
fn counters_and_values_of_one_name_are_two() {
    let kept = Kept::new();
    for _ in 0..3 {
        kept.keep(COUNTER, "cells", 5);
        kept.keep(VALUE, "cells", 7);
    }
    assert_eq!(
        kept.read(),
        [row(COUNTER, "cells", 15), row(VALUE, "cells", 7)]
    );
}

#[test]
fn without_a_name_nothing_is_kept() {
    let kept = Kept::new();
    kept.keep(COUNTER, "", 1);
    // SAFETY: null is allowed.
    assert!(unsafe { Name::of(std::ptr::null()) }.is_none());
    assert_eq!((kept.read().len(), kept.lost()), (0, 0));
}

#[test]
fn long_names_are_one_where_their_begin_is() {
    let kept = Kept::new();
    let begin = "0123456789abcdef0123456789ABCDEF";
    assert_eq!(begin.len(), PROGRAM_NAME_BYTES);
    for end in ["", "1", "2, and much more of it"] {
        kept.keep(COUNTER, &format!("{begin}{end}"), 1);
    }
    kept.keep(COUNTER, &begin[..31], 1);
    assert_eq!(
        kept.read(),
        [row(COUNTER, begin, 3), row(COUNTER, &begin[..31], 1)]
    );
}

#[test]
fn names_without_room_are_said_and_change_nothing() {
    let kept = Kept::new();
    let name = |number: usize| format!("number {number}");
    for number in 0..PROGRAM_METRICS_MAX {
        kept.keep(VALUE, &name(number), 1 + number as u64);
    }
    let before = kept.read();
    assert_eq!((before.len(), kept.lost()), (PROGRAM_METRICS_MAX, 0));
    kept.keep(VALUE, "one more", 9);
    kept.keep(COUNTER, &name(3), 9);
    assert_eq!((kept.read(), kept.lost()), (before, 1));
    // Those that have room go on.
    kept.keep(VALUE, &name(15), 100);
    assert_eq!(kept.read()[15], row(VALUE, "number 15", 100));
}

/// Few short names, which share their begins, and long ones.
fn step() -> impl Strategy<Value = (u32, String, u64)> {
    let name = prop_oneof![
        "[ab]{0,3}",
        (5usize..36, "[ab]?").prop_map(|(length, end)| "x".repeat(length) + &end),
    ];
    let number = prop_oneof![0..9u64, Just(u64::MAX), any::<u64>()];
    (prop_oneof![Just(COUNTER), Just(VALUE)], name, number)
}

proptest! {
    #[test]
    fn slots_equal_a_list_of_names(steps in prop::collection::vec(step(), 0..200)) {
        let kept = Kept::new();
        let (mut naive, mut lost): (Vec<(u32, String, u64)>, u32) = (Vec::new(), 0);
        for (kind, name, number) in steps {
            kept.keep(kind, &name, number);
            let name = &name[..name.len().min(PROGRAM_NAME_BYTES)];
            let has_room = naive.len() < PROGRAM_METRICS_MAX;
            let known = naive.iter_mut().find(|known| known.0 == kind && known.1 == name);
            match known {
                _ if name.is_empty() => {}
                Some(known) if kind == COUNTER => known.2 = known.2.wrapping_add(number),
                Some(known) => known.2 = number,
                None if has_room => naive.push(row(kind, name, number)),
                None => lost = 1,
            }
        }
        prop_assert_eq!(kept.read(), naive);
        prop_assert_eq!(kept.lost(), lost);
    }
}

/// Threads meet the same names at once, in different orders: each is there once, with all of it.
#[test]
fn threads_that_count_at_once_lose_nothing() {
    const THREADS: usize = 8;
    const ADDS: u64 = 20;
    let names: Vec<String> = (0..PROGRAM_METRICS_MAX).map(|n| format!("n{n}")).collect();
    for _ in 0..200 {
        let (kept, begin) = (Kept::new(), Barrier::new(THREADS));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (kept, begin, names) = (&kept, &begin, &names);
                scope.spawn(move || {
                    begin.wait();
                    for add in 0..ADDS {
                        for nth in 0..names.len() {
                            let name = &names[(nth + 2 * thread) % names.len()];
                            kept.keep(COUNTER, name, 1 + add);
                        }
                    }
                });
            }
        });
        let mut read = kept.read();
        read.sort_by_key(|(_, name, _)| names.iter().position(|known| known == name));
        let sum = THREADS as u64 * ADDS * (ADDS + 1) / 2;
        let expected: Vec<_> = names.iter().map(|name| row(COUNTER, name, sum)).collect();
        assert_eq!((read, kept.lost()), (expected, 0));
    }
}

/// Whoever claims it never writes its name, as one that was cancelled there.
fn claim_for_ever(kept: &Kept, slot: usize) {
    kept.metrics[slot].state.store(CLAIMED, Ordering::Relaxed);
}

#[test]
fn a_slot_that_stays_claimed_holds_nobody() {
    let kept = Kept::new();
    kept.keep(COUNTER, "before", 1);
    claim_for_ever(&kept, 1);
    kept.keep(COUNTER, "before", 2);
    assert_eq!(kept.lost(), 0, "nobody needed the slot");
    // Threads that bring the same name find the same slot behind it.
    let begin = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                begin.wait();
                kept.keep(COUNTER, "behind", 5);
            });
        }
    });
    assert_eq!(kept.lost(), 1);
    // Nobody waits for it again.
    let begin = Instant::now();
    for _ in 0..1000 {
        kept.keep(COUNTER, "behind", 1);
    }
    kept.keep(VALUE, "another", 9);
    assert!(begin.elapsed() < Duration::from_secs(5));
    let expected = [
        row(COUNTER, "before", 3),
        row(GIVEN_UP, "", 0),
        row(COUNTER, "behind", 1020),
        row(VALUE, "another", 9),
    ];
    assert_eq!(kept.read(), expected);
}

#[test]
fn a_last_slot_that_stays_claimed_is_no_room() {
    let kept = Kept::new();
    for number in 1..PROGRAM_METRICS_MAX {
        kept.keep(VALUE, &number.to_string(), 1);
    }
    claim_for_ever(&kept, PROGRAM_METRICS_MAX - 1);
    kept.keep(VALUE, "one more", 9);
    assert_eq!(kept.lost(), 1);
    assert_eq!(kept.read().pop(), Some(row(GIVEN_UP, "", 0)));
}

/// Gives up slots while their names are written: each name has one slot all the same, with all of
/// its numbers.
#[test]
fn whoever_finds_its_slot_given_up_takes_another() {
    const NAMES: usize = 4;
    let mut given_up = 0;
    for _ in 0..300 {
        let (kept, begin, is_done) = (Kept::new(), Barrier::new(4), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let count = |first: usize| {
                begin.wait();
                for nth in 0..NAMES {
                    kept.keep(COUNTER, &((first + nth) % NAMES).to_string(), 1);
                }
            };
            let threads = [0, 1, 2].map(|first| scope.spawn(move || count(first)));
            scope.spawn(|| {
                begin.wait();
                // So many that all names have room.
                let mut left = PROGRAM_METRICS_MAX - NAMES;
                let mut slots = kept.metrics.iter().cycle();
                while left > 0 && !is_done.load(Ordering::Relaxed) {
                    let state = slots.next().map(|metric| &metric.state);
                    let (from, order) = (CLAIMED, Ordering::Relaxed);
                    let spoil = |state: &AtomicU32| {
                        state.compare_exchange(from, GIVEN_UP, order, order).is_ok()
                    };
                    left -= usize::from(state.is_some_and(spoil));
                }
            });
            for thread in threads {
                thread.join().expect("no fault");
            }
            is_done.store(true, Ordering::Relaxed);
        });
        let mut read = kept.read();
        let slots = read.len();
        read.retain(|(kind, ..)| *kind != GIVEN_UP);
        given_up += slots - read.len();
        read.sort_unstable();
        let expected = [0, 1, 2, 3].map(|name| row(COUNTER, &name.to_string(), 3));
        assert_eq!(read, expected);
    }
    assert!(given_up > 0);
}

static IN_HANDLER: AtomicPtr<Kept> = AtomicPtr::new(std::ptr::null_mut());
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_in_handler(_: libc::c_int) {
    // SAFETY: null, or what the interrupted thread keeps alive.
    if let Some(kept) = unsafe { IN_HANDLER.load(Ordering::Relaxed).as_ref() } {
        // SAFETY: a string of C.
        if let Some(name) = unsafe { Name::of(c"handled".as_ptr()) } {
            keep(&kept.metrics, &kept.lost, COUNTER, name, 1);
            HANDLED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A handler that counts may interrupt the thread where it takes a slot: it must not wait for that.
#[test]
fn handlers_of_signals_may_count_as_well() {
    // SAFETY: the handler does what handlers may; the thread lives until it is joined.
    let interrupt = |thread| unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
    // SAFETY: as above.
    unsafe {
        let handler = count_in_handler as extern "C" fn(libc::c_int);
        libc::signal(libc::SIGUSR1, handler as libc::sighandler_t);
    }
    // SAFETY: no preconditions.
    let thread = unsafe { libc::pthread_self() };
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                interrupt(thread);
            }
        });
        let mut handled = 0;
        for _ in 0..2_000 {
            let kept = Box::new(Kept::new());
            IN_HANDLER.store((&raw const *kept).cast_mut(), Ordering::Relaxed);
            for name in 1..PROGRAM_METRICS_MAX {
                kept.keep(VALUE, &name.to_string(), 1);
            }
            IN_HANDLER.store(std::ptr::null_mut(), Ordering::Relaxed);
            let count = kept.read().into_iter().find(|(kind, ..)| *kind == COUNTER);
            handled += count.map_or(0, |(.., count)| count);
            assert_eq!(kept.lost(), 0);
        }
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(HANDLED.load(Ordering::Relaxed), handled);
    });
}
