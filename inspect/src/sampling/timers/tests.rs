//! Memory as a rank writes it, and as a broken program may leave it.

use super::*;
use crate::test_memory::region;
use proptest::prelude::*;
use rustix::process::getpid;
use std::sync::atomic::AtomicU64;

const TID: i32 = 4711;
const WORDS: usize = size_of::<TimerSample>() / 8;

/// A rank that is this process.
struct Fake {
    page: &'static Page,
    words: Vec<AtomicU64>,
}

impl Fake {
    fn new() -> Fake {
        let words = (0..WORDS * TIMER_SAMPLES).map(|_| AtomicU64::new(0));
        let page = region().page();
        let words: Vec<AtomicU64> = words.collect();
        let timers = &page.sample_timers;
        timers
            .samples_at
            .store(words.as_ptr().addr() as u64, Ordering::Relaxed);
        Fake { page, words }
    }

    fn put(&self, number: u64, word: usize, value: u64) {
        let at = number as usize % TIMER_SAMPLES * WORDS + word;
        self.words[at].store(value, Ordering::Relaxed);
    }

    /// Begins the next sample; gives its number.
    fn begin(&self) -> u64 {
        let number = self
            .page
            .sample_timers
            .begun
            .fetch_add(1, Ordering::Relaxed);
        self.put(number, 0, number * 2 + 1);
        number
    }

    /// Writes the one of this number, of which so many were missed.
    fn write(&self, number: u64, missed: u64) {
        self.put(number, 1, 1000 + number);
        self.put(number, 2, TID.unsigned_abs() as u64 | missed << 32);
        for (word, value) in [(3, 1), (4, 0x1000), (5, 3), (6, 16), (7, 77), (8, number)] {
            self.put(number, word, value);
        }
        self.put(number, 0, number * 2 + 2);
    }

    fn sample(&self, missed: u64) {
        let number = self.begin();
        self.write(number, missed);
    }
}

/// What was taken: the time and the second word of the stack of samples, and how many were lost.
fn taken(timers: &mut Timers<'_>) -> (Vec<(u64, u64)>, u64) {
    let (mut all, mut lost) = (Vec::new(), 0);
    timers.take(|tid, record| match record {
        Record::Sample(sample) => {
            assert_eq!(tid, TID);
            assert_eq!(sample.word(0x1010), None, "behind what was copied");
            all.push((sample.time_ns, sample.word(0x1008).expect("two words")));
        }
        Record::Lost(more) => lost += more,
        other => panic!("{other:?}"),
    });
    (all, lost)
}

fn of<'m>(memory: &'m ProcessMemory, fake: &Fake) -> Timers<'m> {
    let mut timers = Timers::new(fake.page, memory);
    timers.order(&[TID], 1_000_000);
    timers
}

#[test]
fn samples_are_read_once_and_in_order() {
    let fake = Fake::new();
    let memory = ProcessMemory::of(getpid()).expect("our own memory");
    let mut timers = of(&memory, &fake);
    assert_eq!(taken(&mut timers), (vec![], 0));
    fake.sample(0);
    fake.sample(2);
    assert_eq!(taken(&mut timers), (vec![(1000, 0), (1001, 1)], 2));
    assert_eq!(taken(&mut timers), (vec![], 0));
    // More than there is room for.
    for _ in 0..TIMER_SAMPLES + 3 {
        fake.sample(0);
    }
    let (all, lost) = taken(&mut timers);
    assert_eq!((all.len(), lost), (TIMER_SAMPLES, 3));
    assert_eq!(all[0], (1005, 5));
}

#[test]
fn a_sample_that_is_being_written_is_waited_for() {
    let fake = Fake::new();
    let memory = ProcessMemory::of(getpid()).expect("our own memory");
    let mut timers = of(&memory, &fake);
    let slow = fake.begin();
    fake.sample(0);
    assert_eq!(taken(&mut timers), (vec![], 0));
    fake.write(slow, 0);
    assert_eq!(taken(&mut timers), (vec![(1000, 0), (1001, 1)], 0));
    // Its thread has ended in the middle.
    fake.begin();
    fake.sample(0);
    assert_eq!(taken(&mut timers), (vec![], 0));
    std::thread::sleep(WRITTEN_WITHIN);
    assert_eq!(taken(&mut timers), (vec![(1003, 3)], 1));
}

#[test]
fn the_rank_is_told_and_answers() {
    let fake = Fake::new();
    let memory = ProcessMemory::of(getpid()).expect("our own memory");
    let mut timers = of(&memory, &fake);
    let told = &fake.page.sample_timers;
    let is_asked = || fake.page.control.errand.swap(0, Ordering::Relaxed) == 1;
    assert!(is_asked() && told.until_ns.load(Ordering::Relaxed) > now_ns());
    assert_eq!(timers.outcome(), Err(NoSamples::NextCall));
    assert_eq!(timers.soon(), Ok(()), "it may come later");
    fake.sample(0);
    timers.order(&[TID], 1_000_000);
    assert!(!is_asked(), "nothing new");
    told.done
        .store(told.order.load(Ordering::Relaxed), Ordering::Relaxed);
    assert_eq!(timers.outcome(), Ok(()));
    told.refusal
        .store(timer_refusal::SIGNAL_IN_USE, Ordering::Relaxed);
    assert_eq!(timers.soon(), Err(NoSamples::SignalInUse));
    // Where nothing comes for long, it is to look again.
    std::thread::sleep(SILENT);
    fake.sample(0);
    timers.order(&[TID], 1_000_000);
    assert!(!is_asked(), "a sample has come");
    std::thread::sleep(SILENT);
    timers.order(&[TID], 1_000_000);
    assert!(is_asked());
    timers.order(&[TID, 1, 2], 1_000_000);
    assert!(is_asked());
    assert_eq!(told.count.load(Ordering::Relaxed), 3);
    assert_eq!(told.threads[0].load(Ordering::Relaxed), TID.unsigned_abs());
    timers.order(&[], 0);
    assert!(is_asked());
    assert_eq!(told.period_ns.load(Ordering::Relaxed), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever stands there, at an address of the program's choice.
    #[test]
    fn garbage_is_at_most_lost(
        begun: [u64; 3],
        base in prop::option::of(any::<u64>()),
        words in prop::collection::vec((0usize..WORDS * 4, any::<u64>()), 0..40),
    ) {
        let fake = Fake::new();
        let memory = ProcessMemory::of(getpid()).expect("our own memory");
        let mut timers = of(&memory, &fake);
        if let Some(base) = base {
            fake.page.sample_timers.samples_at.store(base, Ordering::Relaxed);
        }
        for (at, word) in words {
            fake.words[at].store(word, Ordering::Relaxed);
        }
        for begun in begun {
            fake.page.sample_timers.begun.store(begun, Ordering::Relaxed);
            timers.take(|_, record| {
                if let Record::Sample(sample) = record {
                    let _ = sample.word(sample.time_ns);
                }
            });
        }
    }
}
