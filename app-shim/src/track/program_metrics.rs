//! What a program counts and measures itself, by names: a slot of the rank's page for each, from
//! which others read it whenever they like.
//!
//! Slots are taken in their order and never given back. So whoever passes all that are taken knows
//! that none of them is its own, and may take the next; a thread that meets one whose name is being
//! written waits for that. That way two threads that bring the same name at once have one slot.
//!
//! Nobody waits for ever: whoever writes a name may be ended there by an asynchronous
//! `pthread_cancel`. After a while the slot is given up, and is nobody's name from then on. Who
//! writes its name all the same finds that out, and goes on to the next slot with its number.

use crate::clock::sleep_us;
use crate::signals::without_signals;
use core::ffi::c_char;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, Ordering};
use invivo_proto::shm::{PROGRAM_NAME_BYTES, ProgramMetric, program_metric};

/// Bytes of a word of a name.
const WORD: usize = size_of::<u64>();
/// Looks at a slot whose name is being written, at first without a pause: it takes a few
/// instructions.
const LOOKS: u32 = 100;
/// Then with a pause after each, 0.1 s in all. In a pause a thread of lower priority, too, gets the
/// processor, which one of a real-time class that only yields may keep from it.
const PATIENT_LOOKS: u32 = 1000;
const PAUSE_US: u64 = 100;

/// A name as its slot has it.
#[derive(Clone, Copy)]
pub struct Name([u64; PROGRAM_NAME_BYTES / WORD]);

impl Name {
    /// Nothing for null, and for a text without a byte. What does not fit is cut off.
    ///
    /// # Safety
    /// A string of C, or null.
    #[inline(always)]
    pub unsafe fn of(name: *const c_char) -> Option<Self> {
        if name.is_null() {
            return None;
        }
        let mut words = [0; PROGRAM_NAME_BYTES / WORD];
        let mut next = name.cast::<u8>();
        // Byte by byte: for names as programs have them that is faster than any call.
        'name: for word in &mut words {
            for nth in 0..WORD {
                // SAFETY: the string goes on at least to here: no byte before was its end.
                let byte = unsafe { next.read() };
                if byte == 0 {
                    break 'name;
                }
                *word |= u64::from(byte) << (8 * nth);
                next = next.wrapping_add(1);
            }
        }
        (words[0] != 0).then(|| Name(words.map(u64::to_le)))
    }

    #[inline(always)]
    fn is_of(self, metric: &ProgramMetric) -> bool {
        let words = self.0.iter().zip(&metric.name);
        // Written before the state, which was read before.
        words.fold(0, |differ, (own, other)| {
            differ | (own ^ other.load(Ordering::Relaxed))
        }) == 0
    }
}

/// Adds to the counter of this name, or sets the value: `kind` is one of [`program_metric`]. Where
/// the name finds no room, or a slot was given up, `lost` becomes 1.
#[inline(always)]
pub fn keep(metrics: &[ProgramMetric], lost: &AtomicU32, kind: u32, name: Name, number: u64) {
    match found(metrics, kind, name) {
        Some(metric) => change(metric, kind, number),
        None => meet(metrics, lost, kind, name, number),
    }
}

#[inline(always)]
fn change(metric: &ProgramMetric, kind: u32, number: u64) {
    if kind == program_metric::COUNTER {
        metric.value.fetch_add(number, Ordering::Relaxed);
    } else {
        metric.value.store(number, Ordering::Relaxed);
    }
}

/// The slot of a name that was met before.
#[inline(always)]
fn found(metrics: &[ProgramMetric], kind: u32, name: Name) -> Option<&ProgramMetric> {
    for metric in metrics {
        let state = metric.state.load(Ordering::Acquire);
        if state == kind && name.is_of(metric) {
            return Some(metric);
        }
        if !is_taken(state) {
            break;
        }
    }
    None
}

/// Whether a slot has its name.
#[inline(always)]
fn is_taken(state: u32) -> bool {
    state != program_metric::FREE && state != program_metric::CLAIMED
}

/// The same as [`keep`] for a name that was not found at once.
#[cold]
#[inline(never)]
fn meet(metrics: &[ProgramMetric], lost: &AtomicU32, kind: u32, name: Name, number: u64) {
    // Without a system call where there are too many names: then it is so at each call.
    let last = metrics
        .last()
        .map(|last| last.state.load(Ordering::Acquire));
    let is_kept = if last.is_none_or(is_taken) {
        // Another thread may have met it meanwhile.
        let metric = found(metrics, kind, name);
        metric.map(|metric| change(metric, kind, number)).is_some()
    } else {
        // A handler that comes while its thread writes a name would wait for that for ever.
        without_signals(|| take(metrics, lost, kind, name, number))
    };
    if !is_kept {
        say_lost(lost);
    }
}

fn say_lost(lost: &AtomicU32) {
    // Others read it all the time.
    if lost.load(Ordering::Relaxed) == 0 {
        lost.store(1, Ordering::Relaxed);
    }
}

/// Takes the first free slot, or the one that another thread has taken for this name meanwhile.
fn take(metrics: &[ProgramMetric], lost: &AtomicU32, kind: u32, name: Name, number: u64) -> bool {
    let (free, claimed) = (program_metric::FREE, program_metric::CLAIMED);
    for metric in metrics {
        let state = &metric.state;
        let claim = state.compare_exchange(free, claimed, Ordering::Acquire, Ordering::Relaxed);
        if claim.is_ok() {
            for (word, own) in metric.name.iter().zip(name.0) {
                word.store(own, Ordering::Relaxed);
            }
            // Before others see it: a value that is set was never 0.
            change(metric, kind, number);
            let told = state.compare_exchange(claimed, kind, Ordering::Release, Ordering::Relaxed);
            if told.is_ok() {
                return true;
            }
            // Given up meanwhile: nobody reads what is in it. Who gave it up may have brought the
            // same name, and has the next slot then.
            continue;
        }
        if named(metric, lost) == kind && name.is_of(metric) {
            change(metric, kind, number);
            return true;
        }
    }
    false
}

/// The state of a slot that is not free, once it has its name or is given up. Then `lost` is set: a
/// slot is, and maybe the number of whoever wrote its name there.
fn named(metric: &ProgramMetric, lost: &AtomicU32) -> u32 {
    for look in 0..LOOKS + PATIENT_LOOKS {
        let state = metric.state.load(Ordering::Acquire);
        if is_taken(state) {
            return state;
        }
        if look < LOOKS {
            spin_loop();
        } else {
            sleep_us(PAUSE_US);
        }
    }
    let (state, order) = (&metric.state, Ordering::Acquire);
    let given_up = state.compare_exchange(
        program_metric::CLAIMED,
        program_metric::GIVEN_UP,
        order,
        order,
    );
    if given_up.is_ok() {
        say_lost(lost);
    }
    // Otherwise it has its name at the last moment.
    given_up.map_or_else(|state| state, |_| program_metric::GIVEN_UP)
}
