//! Samples that timers in the rank take, where perf events are forbidden: orders them, and reads
//! what they have written into the rank's own memory.
//!
//! The rank carries an order out with its next call of MPI. What the program may have overwritten
//! there is a lost sample at worst.

use crate::frames::Registers;
use crate::memory::ProcessMemory;
use crate::sampling::record::{Record, Sample};
use invivo_proto::control::profile::NoSamples;
use invivo_proto::shm::{
    Page, TIMER_SAMPLE_HEAD, TIMER_SAMPLES, TIMER_STACK_BYTES, TIMER_THREADS_MAX, TimerSample,
    timer_refusal,
};
use rustix::time::{ClockId, clock_getres, clock_gettime};
use std::mem::offset_of;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long samples are taken after the last word of ours.
const LEASE: Duration = Duration::from_secs(10);
/// How long the rank's word is waited for: one that calls MPI all the time has it by then.
const WORD_WITHIN: Duration = Duration::from_millis(20);
const WORD_LOOKS: u32 = 20;
/// A sample that is still being written after this time is given up: its thread may have ended.
const WRITTEN_WITHIN: Duration = Duration::from_millis(100);
/// Where nothing has come for this time, the rank looks whether its timers still find its handler.
const SILENT: Duration = Duration::from_secs(1);
/// The longest between two looks at what has come.
const TAKE_WITHIN: Duration = Duration::from_millis(100);

/// The timers of a rank.
pub struct Timers<'m> {
    page: &'static Page,
    memory: &'m ProcessMemory,
    /// What is ordered: threads, and the time from one sample to the next, 0 for no samples.
    threads: Vec<i32>,
    period_ns: u64,
    /// The number of the next sample to be read.
    next: u64,
    /// Since when that has been waited for.
    waiting: Option<Instant>,
    /// When that changed last.
    ordered: Instant,
    /// Samples begun when that changed last.
    begun: (u64, Instant),
    /// Time in handlers that was told.
    told_ns: u64,
    bytes: Vec<u8>,
}

/// What stands at the place of a sample.
enum Found {
    /// The sample: its thread, how many of it were missed before, and how many bytes there are.
    Whole(i32, u32, usize),
    /// It is being written, or not begun.
    Writing,
    /// A later one, or nothing that can be read.
    Gone,
}

impl<'m> Timers<'m> {
    /// Of this rank. What a sampler of before has ordered, which is gone, holds until the next
    /// order.
    pub fn new(page: &'static Page, memory: &'m ProcessMemory) -> Timers<'m> {
        let timers = &page.sample_timers;
        Timers {
            page,
            memory,
            threads: Vec::new(),
            period_ns: timers.period_ns.load(Ordering::Relaxed),
            next: 0,
            waiting: None,
            ordered: Instant::now(),
            begun: (0, Instant::now()),
            told_ns: timers.handler_ns.load(Ordering::Relaxed),
            bytes: vec![0; TIMER_SAMPLE_HEAD + TIMER_STACK_BYTES],
        }
    }

    /// The most samples a second: timers of a thread's time are looked at with the kernel's tick.
    pub fn most() -> u32 {
        let tick = clock_getres(ClockId::MonotonicCoarse);
        let ns = u64::try_from(tick.tv_nsec).unwrap_or(0).max(1);
        u32::try_from(1_000_000_000 / ns).unwrap_or(u32::MAX)
    }

    /// Begins to sample.
    pub fn begin(&mut self) {
        // What is there is of a time before.
        self.next = self.page.sample_timers.begun.load(Ordering::Acquire);
        self.waiting = None;
    }

    /// These threads are sampled, so many ns of their time from one sample to the next; 0 for no
    /// more samples. What is so already is only kept up.
    pub fn order(&mut self, threads: &[i32], period_ns: u64) {
        let timers = &self.page.sample_timers;
        let until = now_ns().saturating_add(nanoseconds(LEASE));
        let before = timers.until_ns.swap(until, Ordering::Relaxed);
        if before <= now_ns() && self.period_ns > 0 {
            // The rank may have deleted its timers meanwhile.
            self.page.control.errand.store(1, Ordering::Release);
        }
        let threads = &threads[..threads.len().min(TIMER_THREADS_MAX)];
        if (threads, period_ns) == (&self.threads[..], self.period_ns) {
            return self.look_again();
        }
        (self.threads, self.period_ns) = (threads.to_vec(), period_ns);
        self.ordered = Instant::now();
        for (word, tid) in timers.threads.iter().zip(threads) {
            word.store(tid.unsigned_abs(), Ordering::Relaxed);
        }
        timers.count.store(threads.len() as u32, Ordering::Relaxed);
        timers.period_ns.store(period_ns, Ordering::Relaxed);
        let order = timers.order.load(Ordering::Relaxed).wrapping_add(1);
        timers.order.store(order, Ordering::Release);
        self.page.control.errand.store(1, Ordering::Release);
    }

    /// Has the rank look at its timers again where no samples come: the program may have put an
    /// action of its own in the place of ours.
    fn look_again(&mut self) {
        let begun = self.page.sample_timers.begun.load(Ordering::Relaxed);
        if begun != self.begun.0 {
            self.begun = (begun, Instant::now());
        } else if self.period_ns > 0 && self.begun.1.elapsed() >= SILENT {
            self.begun.1 = Instant::now();
            self.page.control.errand.store(1, Ordering::Release);
        }
    }

    /// Whether the rank has done what was ordered, as it says.
    ///
    /// # Errors
    /// Why there are no samples, if it has not.
    pub fn outcome(&self) -> Result<(), NoSamples> {
        let timers = &self.page.sample_timers;
        if timers.done.load(Ordering::Acquire) != timers.order.load(Ordering::Relaxed) {
            return Err(NoSamples::NextCall);
        }
        match timers.refusal.load(Ordering::Relaxed) {
            timer_refusal::NONE => Ok(()),
            timer_refusal::SIGNAL_IN_USE => Err(NoSamples::SignalInUse),
            timer_refusal::NO_ROOM => Err(NoSamples::NoRoom),
            _ => Err(NoSamples::NoTimers),
        }
    }

    /// As [`Timers::outcome`], waited for a moment. That the rank has not called MPI yet is no
    /// failure.
    pub fn soon(&self) -> Result<(), NoSamples> {
        for _ in 0..WORD_LOOKS {
            match self.outcome() {
                Err(NoSamples::NextCall) => std::thread::sleep(WORD_WITHIN / WORD_LOOKS),
                outcome => return outcome,
            }
        }
        Ok(())
    }

    /// Whether some threads have no timer: for long, or because that was refused.
    pub fn is_untimed(&self) -> bool {
        match self.outcome() {
            Ok(()) => false,
            Err(NoSamples::NextCall) => self.ordered.elapsed() >= SILENT,
            Err(_) => true,
        }
    }

    /// How soon to look at what has come, so that no place is used again before.
    pub fn take_within(&self) -> Duration {
        let half = self.period_ns.saturating_mul(TIMER_SAMPLES as u64 / 2);
        let each = half / (self.threads.len() as u64).max(1);
        Duration::from_nanos(each).clamp(Duration::from_millis(2), TAKE_WITHIN)
    }

    /// Time that was spent in handlers since this was asked last.
    pub fn handler_time(&mut self) -> Duration {
        let now = self.page.sample_timers.handler_ns.load(Ordering::Relaxed);
        let more = now.saturating_sub(self.told_ns);
        self.told_ns = now;
        Duration::from_nanos(more)
    }

    /// Shows what has come, with its thread; 0 where that is not known.
    pub fn take(&mut self, mut each: impl FnMut(i32, Record<'_>)) {
        let timers = &self.page.sample_timers;
        let begun = timers.begun.load(Ordering::Acquire);
        let base = timers.samples_at.load(Ordering::Acquire);
        if base == 0 || begun < self.next {
            self.next = begun;
            return;
        }
        let oldest = begun.saturating_sub(TIMER_SAMPLES as u64);
        if self.next < oldest {
            each(0, Record::Lost(oldest - self.next));
            self.next = oldest;
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        while self.next < begun {
            match self.find(base, &mut bytes) {
                Found::Whole(tid, missed, copied) => {
                    if missed > 0 {
                        each(tid, Record::Lost(missed.into()));
                    }
                    each(tid, Record::Sample(sample(&bytes, copied)));
                }
                Found::Writing if !self.is_late() => break,
                Found::Writing | Found::Gone => each(0, Record::Lost(1)),
            }
            self.waiting = None;
            self.next += 1;
        }
        self.bytes = bytes;
    }

    /// Whether the next sample has been waited for long enough.
    fn is_late(&mut self) -> bool {
        let since = *self.waiting.get_or_insert_with(Instant::now);
        since.elapsed() >= WRITTEN_WITHIN
    }

    /// Reads the next sample.
    fn find(&self, base: u64, bytes: &mut [u8]) -> Found {
        let place = self.next % TIMER_SAMPLES as u64;
        let at = base.wrapping_add(place.wrapping_mul(size_of::<TimerSample>() as u64));
        let wanted = self.next.wrapping_mul(2).wrapping_add(2);
        // Its first word is read first, and again behind the rest.
        if self.memory.read_some(at, bytes) < bytes.len() {
            return Found::Gone;
        }
        let state = word(bytes, offset_of!(TimerSample, state));
        if state < wanted {
            return Found::Writing;
        }
        if state != wanted || self.memory.word(at) != Some(wanted) {
            return Found::Gone;
        }
        // The thread, and behind it how many were missed.
        let both = word(bytes, offset_of!(TimerSample, tid));
        let (tid, missed) = (both as u32, (both >> 32) as u32);
        let tid = i32::try_from(tid).ok();
        let Some(tid) = tid.filter(|tid| self.threads.contains(tid)) else {
            return Found::Gone;
        };
        let copied =
            usize::try_from(word(bytes, offset_of!(TimerSample, copied))).unwrap_or(usize::MAX);
        Found::Whole(tid, missed, copied.min(TIMER_STACK_BYTES))
    }
}

fn sample(bytes: &[u8], copied: usize) -> Sample<'_> {
    let registers = Registers {
        code: word(bytes, offset_of!(TimerSample, code)),
        stack: word(bytes, offset_of!(TimerSample, stack)),
        frame: Some(word(bytes, offset_of!(TimerSample, frame))),
    };
    let stack = &bytes[TIMER_SAMPLE_HEAD..TIMER_SAMPLE_HEAD + copied];
    Sample::in_program(
        word(bytes, offset_of!(TimerSample, time_ns)),
        registers,
        stack,
    )
}

/// The word at this offset, which lies in the head of a sample.
fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok());
    u64::from_ne_bytes(word.unwrap_or_default())
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    nanoseconds(Duration::new(
        now.tv_sec.unsigned_abs(),
        now.tv_nsec.unsigned_abs() as u32,
    ))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
