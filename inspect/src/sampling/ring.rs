//! The perf event of one thread, with the ring that the kernel writes its samples into.
//!
//! Unsafe code is needed to wait for an event, whose descriptor its crate only gives as a number.

use crate::perf::{self, Refusal};
use crate::sampling::record::{REGISTERS, Record, read};
use invivo_proto::control::profile::NoSamples;
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Bytes of the stack that a sample has: some ten to fifty frames. Of paths that are deeper the
/// inner part is seen.
pub const STACK_BYTES: u32 = 8192;
/// Pages of a ring that has room for one sample.
const PAGES_MIN: usize = 4;
const PAGE_BYTES: usize = 4096;
/// Records that are taken in one go: a ring must not keep us from the others.
const RECORDS_MAX: usize = 256;

/// What an event is to count.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Time on a processor from one sample to the next, in ns.
    pub period_ns: u64,
    /// Also in the kernel.
    pub with_kernel: bool,
    /// Pages of the ring: a power of two. It gets fewer where there is no room for so many.
    pub pages: usize,
}

/// The event of one thread.
pub struct Ring(Sampler);

impl Ring {
    /// Begins to sample a thread.
    ///
    /// # Errors
    /// Why that cannot be.
    pub fn open(tid: i32, settings: Settings) -> Result<Ring, NoSamples> {
        let mut pages = settings.pages;
        loop {
            let mut builder = Builder::new(Software::CPU_CLOCK);
            builder
                .observe_pid(tid)
                .any_cpu()
                .enabled(true)
                .exclude_kernel(!settings.with_kernel)
                .mmap(true)
                .sample(SampleFlag::TIME | SampleFlag::REGS_USER | SampleFlag::STACK_USER)
                .clockid(Clock::MONOTONIC)
                .sample_regs_user(REGISTERS)
                .sample_stack_user(STACK_BYTES)
                .sample_period(settings.period_ns)
                .wakeup_watermark(pages * PAGE_BYTES / 2);
            let counter = builder.build().map_err(|error| reason(&error))?;
            match counter.sampled(pages * PAGE_BYTES) {
                Ok(sampler) => return Ok(Ring(sampler)),
                // Users may lock so much memory for rings and no more.
                Err(error) if is(&error, &[Errno::PERM, Errno::NOMEM]) && pages > PAGES_MIN => {
                    pages /= 2;
                }
                Err(error) if is(&error, &[Errno::PERM]) => return Err(NoSamples::NoRoom),
                Err(error) => return Err(reason(&error)),
            }
        }
    }

    /// Samples from now on, or not until it is told again.
    pub fn enable(&mut self, is_on: bool) {
        // It does not fail for an event that is there.
        let _ = match is_on {
            true => self.0.enable(),
            false => self.0.disable(),
        };
    }

    /// Readable when half of the ring is full; hung up when the thread has ended.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the event's, which lives as long as what is given here.
        unsafe { BorrowedFd::borrow_raw(self.0.as_raw_fd()) }
    }

    /// Shows what has come, some hundred records at most.
    pub fn take(&mut self, mut each: impl FnMut(Record<'_>)) {
        for _ in 0..RECORDS_MAX {
            let Some(record) = self.0.next_record() else {
                return;
            };
            each(read(record.ty(), record.misc(), &record.to_contiguous()));
        }
    }
}

fn is(error: &io::Error, any: &[Errno]) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| any.contains(&errno))
}

/// Why an event could not be opened.
fn reason(error: &io::Error) -> NoSamples {
    match perf::refusal(error) {
        Refusal::Forbidden { paranoid } => NoSamples::Forbidden { paranoid },
        Refusal::NoRoom => NoSamples::NoRoom,
        Refusal::Ended => NoSamples::Ended,
        Refusal::Unsupported => NoSamples::Unsupported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apart::once;
    use crate::mapped;
    use crate::perf::paranoid;
    use rustix::process::{Resource, Rlimit, Uid, geteuid, setrlimit};
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(30);
    const SETTINGS: Settings = Settings {
        period_ns: 10_000_000,
        with_kernel: false,
        pages: 64,
    };

    /// What an ordinary user gets, who may lock no memory but for rings; in a process of its own.
    fn as_nobody(run: impl FnOnce() -> Vec<u8>) -> Option<Vec<u8>> {
        once(LONG, &[], || {
            let none = Rlimit {
                current: Some(0),
                maximum: Some(0),
            };
            setrlimit(Resource::Memlock, none).expect("less is allowed");
            if geteuid().is_root() {
                rustix::thread::set_thread_uid(Uid::from_raw(65534)).expect("root may");
            }
            run()
        })
    }

    #[test]
    fn another_users_process_is_forbidden() {
        let told = as_nobody(|| match Ring::open(1, SETTINGS) {
            Err(NoSamples::Forbidden { paranoid }) => vec![paranoid as u8],
            _ => Vec::new(),
        });
        assert_eq!(told, Some(vec![paranoid() as u8]));
    }

    #[test]
    fn rings_become_smaller_until_there_is_no_room() {
        if paranoid() < 0 {
            // Then nobody counts what is locked.
            return;
        }
        let asked = Settings {
            pages: 4096,
            ..SETTINGS
        };
        let told = as_nobody(|| {
            let own = rustix::thread::gettid().as_raw_nonzero().get();
            let mut rings = Vec::new();
            while rings.len() < 255 {
                match Ring::open(own, asked) {
                    Ok(ring) => rings.push(ring),
                    Err(NoSamples::NoRoom) => break,
                    Err(why) => panic!("{why:?}"),
                }
            }
            let mappings = mapped::mappings(rustix::process::getpid()).expect("our own");
            let events = mappings
                .lines()
                .filter(|line| line.ends_with("[perf_event]"));
            let pages = events.map(|line| {
                let range = line
                    .split(' ')
                    .next()
                    .and_then(|range| range.split_once('-'));
                let (start, end) = range.expect("a range");
                let number = |text| usize::from_str_radix(text, 16).expect("a number");
                (number(end) - number(start)) / PAGE_BYTES - 1
            });
            let mut sizes = vec![rings.len().min(255) as u8];
            sizes.extend(pages.map(|pages| {
                assert!(pages.is_power_of_two());
                pages.ilog2() as u8
            }));
            sizes
        });
        let told = told.expect("no fault");
        let (count, sizes) = told.split_first().expect("a count");
        assert!((1..255).contains(count), "{count}");
        assert_eq!(sizes.len(), usize::from(*count));
        assert!(
            sizes.iter().all(|size| (2..=12).contains(size)),
            "{sizes:?}"
        );
        assert!(sizes.iter().any(|size| *size < 12), "{sizes:?}");
    }
}
