//! What a sample takes from the thread that it is taken of, on this machine.
//!
//! The kernel interrupts the thread and copies the end of its stack: some microseconds on bare
//! metal, ten times as much on a virtual machine. So it is tried: the same work without samples and
//! with them, in turn, on a thread of ours.

use crate::sampling::record::Record;
use crate::sampling::ring::{Ring, STACK_BYTES, Settings};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// From one sample to the next: rather often, so that there are some in each turn.
const PERIOD_NS: u64 = 100_000;
/// How long a turn of the work takes: short, so that most pass before others get the processor.
const TURN: Duration = Duration::from_micros(250);
/// Turns of each kind that are wanted; the most that are made, some of which are of no use; and how
/// many in one go.
const PAIRS: usize = 40;
const PAIRS_MADE: u32 = 200;
const PAIRS_AT_A_TIME: u32 = 4;
/// Pages of the ring: the samples of a turn.
const PAGES: usize = 16;
/// What is less or more is not what a sample costs.
const COST_MIN: Duration = Duration::from_nanos(500);
const COST_MAX: Duration = Duration::from_millis(1);
/// Memory that the work goes through, as programs do: after a sample some of it is no longer in
/// the nearest caches, and what the kernel needs for the next one is not either.
const MEMORY_BYTES: usize = 1 << 20;

/// A turn without samples, and one soon after it with some.
#[derive(Clone, Copy, Debug)]
struct Pair {
    without: Duration,
    with: Duration,
    samples: u32,
}

/// A trial under way: some 20 ms of work, bit by bit, so that other things are done in between.
pub struct Trial {
    ring: Ring,
    work: Work,
    steps: u32,
    switches: Switches,
    /// The last turn without samples that passed undisturbed.
    without: Option<Duration>,
    pairs: Vec<Pair>,
    made: u32,
}

impl Trial {
    /// Of this thread, which is the one that goes on with it; nothing where it cannot be sampled.
    pub fn begin() -> Option<Trial> {
        Trial::with(PERIOD_NS, TURN)
    }

    fn with(period_ns: u64, turn: Duration) -> Option<Trial> {
        let settings = Settings {
            period_ns,
            // The work is done outside of it, and to see that much is allowed wherever anything is.
            with_kernel: false,
            pages: PAGES,
        };
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let mut ring = Ring::open(thread, settings).ok()?;
        ring.enable(false);
        let mut work = Work::new();
        Some(Trial {
            ring,
            steps: work.steps_of(turn),
            work,
            switches: Switches::of_this_thread(),
            without: None,
            pairs: Vec::new(),
            made: 0,
        })
    }

    /// Works for some 2 ms; false when that is enough.
    pub fn go_on(&mut self) -> bool {
        for _ in 0..PAIRS_AT_A_TIME {
            self.made += 1;
            let pair = self.pair();
            self.pairs.extend(pair);
        }
        self.pairs.len() < PAIRS && self.made < PAIRS_MADE
    }

    /// Time that a sample takes from a thread, as far as it is known; nothing where this thread
    /// never had a processor for long enough to see it.
    pub fn cost(&self) -> Option<Duration> {
        cost(&self.pairs)
    }

    fn pair(&mut self) -> Option<Pair> {
        let (work, steps) = (&mut self.work, self.steps);
        let without = self.switches.undisturbed(|| work.time(steps));
        self.without = without.or(self.without);
        self.ring.enable(true);
        let with = self.switches.undisturbed(|| work.time(steps));
        self.ring.enable(false);
        let samples = taken(&mut self.ring);
        Some(Pair {
            without: self.without?,
            with: with?,
            samples: Some(samples).filter(|samples| *samples > 0)?,
        })
    }
}

/// How many samples there were.
fn taken(ring: &mut Ring) -> u32 {
    let mut samples = 0u32;
    ring.take(|record| match record {
        Record::Sample(_) => samples += 1,
        // The thread was interrupted for them as well.
        Record::Lost(lost) => samples = samples.saturating_add(lost.try_into().unwrap_or(u32::MAX)),
        Record::Mapped | Record::Other => {}
    });
    samples
}

/// The median of what pairs say: interrupts and a machine of which this one is a guest take time
/// from some turns, with samples or without.
fn cost(pairs: &[Pair]) -> Option<Duration> {
    let more = |pair: &Pair| pair.with.saturating_sub(pair.without);
    let each = (pairs.iter()).filter_map(|pair| more(pair).checked_div(pair.samples));
    let mut each: Vec<Duration> = each.collect();
    each.sort_unstable();
    let median = each.get(each.len() / 2)?;
    Some((*median).clamp(COST_MIN, COST_MAX))
}

/// How often a thread was given a processor: between two equal counts it kept it.
struct Switches(Option<File>);

impl Switches {
    fn of_this_thread() -> Switches {
        Switches(File::open("/proc/thread-self/schedstat").ok())
    }

    /// What this gives, unless the thread had to give its processor away meanwhile.
    fn undisturbed<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        let before = self.count();
        let done = run();
        (self.count() == before).then_some(done)
    }

    /// Always the same where the kernel does not tell.
    fn count(&self) -> Option<u64> {
        let mut bytes = [0; 64];
        let read = self.0.as_ref()?.read_at(&mut bytes, 0).ok()?;
        // Time on a processor, time waiting for one, and this.
        let text = str::from_utf8(&bytes[..read]).ok()?;
        text.split_whitespace().nth(2)?.parse().ok()
    }
}

/// Work that takes the same time whenever it is done.
struct Work {
    memory: Vec<u64>,
    at: usize,
}

impl Work {
    /// Words from one step to the next: a line of the cache.
    const STRIDE: usize = 8;
    /// Steps by which it is seen how fast they are, and how often it is looked.
    const FEW: u32 = 5_000;
    const TRIES: usize = 5;

    fn new() -> Work {
        Work {
            memory: vec![1; MEMORY_BYTES / size_of::<u64>()],
            at: 0,
        }
    }

    /// How many steps take so long.
    fn steps_of(&mut self, time: Duration) -> u32 {
        // The first time memory and code are fetched, and others may be in between.
        let took = (0..Self::TRIES).map(|_| self.time(Self::FEW).as_nanos());
        let took = took.min().unwrap_or_default().max(1);
        let times = time.as_nanos() as f64 / took as f64;
        (f64::from(Self::FEW) * times) as u32
    }

    /// How long so many steps take.
    #[inline(never)]
    fn time(&mut self, steps: u32) -> Duration {
        // As much of the stack as a sample copies.
        let stack = black_box([1u8; STACK_BYTES as usize]);
        let begin = Instant::now();
        let mut sum = u64::from(stack[0]);
        for _ in 0..steps {
            self.at = (self.at + Self::STRIDE) % self.memory.len();
            sum = sum.wrapping_add(self.memory[self.at]);
            self.memory[self.at] = sum;
        }
        let took = begin.elapsed();
        black_box((sum, stack));
        took
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(without_us: u64, with_us: u64, samples: u32) -> Pair {
        let [without, with] = [without_us, with_us].map(Duration::from_micros);
        Pair {
            without,
            with,
            samples,
        }
    }

    #[test]
    fn turns_that_were_interrupted_say_nothing() {
        let calm = [
            pair(1000, 1050, 5),
            pair(1000, 1060, 5),
            pair(1000, 1072, 6),
        ];
        let us = |us| Some(Duration::from_micros(us));
        assert_eq!(cost(&calm), us(12));
        // In a turn without samples, in one with some, and before the first sample of one.
        let others = [
            pair(4000, 1060, 5),
            pair(1000, 4060, 5),
            pair(1000, 5000, 0),
        ];
        assert_eq!(cost(&[calm, others].concat()), us(12));
    }

    #[test]
    fn a_cost_is_within_reason() {
        assert_eq!(cost(&[]), None);
        assert_eq!(cost(&[pair(1000, 1500, 0)]), None);
        assert_eq!(cost(&[pair(1000, 900, 5)]), Some(COST_MIN));
        assert_eq!(cost(&[pair(1000, 100_000, 1)]), Some(COST_MAX));
    }

    fn result(mut trial: Trial) -> Option<Duration> {
        while trial.go_on() {}
        trial.cost()
    }

    #[test]
    fn what_is_tried_is_what_work_loses_at_a_kilohertz() {
        let kilohertz = || {
            // Half of the turns have a sample: some trials together.
            let tries = (0..15).map(|_| Trial::with(1_000_000, 2 * TURN).map(result));
            let mut costs: Vec<Duration> = tries.flatten().flatten().collect();
            costs.sort_unstable();
            costs.get(costs.len() / 2).copied()
        };
        let (Some(cost), Some(lost)) = (Trial::begin().and_then(result), kilohertz()) else {
            println!("no perf events, or no processor, to be had here");
            return;
        };
        println!("{cost:?} a sample, {lost:?} at a kilohertz");
        // At a kilohertz a sample is a hundredth of a turn, which other work may hide.
        let is_seen = lost > COST_MIN;
        assert!(
            !is_seen || cost < 5 * lost && lost < 5 * cost,
            "{cost:?} {lost:?}"
        );
    }
}
