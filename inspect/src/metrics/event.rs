//! What a processor or the kernel counts of one thread: a perf event that takes no samples.

use crate::perf::{self, Refusal};
use invivo_proto::control::metrics::{NoMetric, SystemMetric};
use perf_event::events::{Hardware, Software};
use perf_event::{Builder, Counter};

/// An event of one thread. It does not tell whether the thread has ended: without a ring for
/// samples it is hung up from the beginning.
pub struct Event {
    /// What it counts.
    pub metric: SystemMetric,
    counter: Counter,
    last: Count,
}

/// What an event has counted since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    count: u64,
    /// Time on a processor of its thread, in ns.
    enabled_ns: u64,
    /// The part of it in which the event was counted.
    running_ns: u64,
}

impl Event {
    /// Begins to count, in the kernel too where that is wanted.
    ///
    /// # Errors
    /// Why that cannot be.
    pub fn open(tid: i32, metric: SystemMetric, with_kernel: bool) -> Result<Event, Refusal> {
        let hardware = match metric {
            SystemMetric::CpuMigrations => None,
            SystemMetric::Cycles => Some(Hardware::CPU_CYCLES),
            SystemMetric::Instructions => Some(Hardware::INSTRUCTIONS),
            SystemMetric::CacheReferences => Some(Hardware::CACHE_REFERENCES),
            SystemMetric::CacheMisses => Some(Hardware::CACHE_MISSES),
            SystemMetric::Branches => Some(Hardware::BRANCH_INSTRUCTIONS),
            SystemMetric::BranchMisses => Some(Hardware::BRANCH_MISSES),
            _ => return Err(Refusal::Unsupported),
        };
        let mut builder = match hardware {
            Some(hardware) => Builder::new(hardware),
            None => Builder::new(Software::CPU_MIGRATIONS),
        };
        // It does not pass on to threads that this one starts: an event that does cannot be read
        // without asking all processors that they are on.
        builder
            .observe_pid(tid)
            .any_cpu()
            .enabled(true)
            .exclude_kernel(!with_kernel);
        let mut counter = builder.build().map_err(|error| perf::refusal(&error))?;
        let read = counter.read_count_and_time();
        read.map_err(|error| perf::refusal(&error))?;
        Ok(Event {
            metric,
            counter,
            last: Count::default(),
        })
    }

    /// What was added since the last time; nothing where that cannot be told. Also of a thread that
    /// has ended.
    pub fn grown(&mut self) -> Option<u64> {
        let read = self.counter.read_count_and_time().ok()?;
        let now = Count {
            count: read.count,
            enabled_ns: read.time_enabled,
            running_ns: read.time_running,
        };
        grown(&mut self.last, now)
    }
}

/// Opens an event, without the kernel's side where that is forbidden.
///
/// # Errors
/// Why it cannot be counted.
pub fn open_event(
    tid: i32,
    metric: SystemMetric,
    with_kernel: &mut bool,
) -> Result<Event, NoMetric> {
    // All migrations happen in the kernel: without its side there are none.
    let must = metric == SystemMetric::CpuMigrations;
    let opened = Event::open(tid, metric, must || *with_kernel);
    let opened = match opened {
        Err(Refusal::Forbidden { .. }) if *with_kernel && !must => {
            let event = Event::open(tid, metric, false);
            *with_kernel = event.is_err();
            event
        }
        _ => opened,
    };
    opened.map_err(no_metric)
}

fn no_metric(refusal: Refusal) -> NoMetric {
    match refusal {
        Refusal::Forbidden { paranoid } => NoMetric::Forbidden { paranoid },
        Refusal::NoRoom => NoMetric::NoRoom,
        Refusal::Ended => NoMetric::Ended,
        Refusal::Unsupported => NoMetric::Unsupported,
    }
}

/// What was added since the last time, for all the time in which the thread ran.
///
/// A processor counts few events at a time. Where more are open the kernel gives each its turn, so
/// that what was counted stands for a longer time, as perf takes it. Scaled here is what was added
/// since the last time, and not the whole count: a sum of such parts never falls, as a scaled count
/// does when the event gets a turn in which little happens.
fn grown(last: &mut Count, now: Count) -> Option<u64> {
    let running_ns = now.running_ns.saturating_sub(last.running_ns);
    if running_ns == 0 {
        // The thread was not on a processor, or the event had no turn: then what is counted next
        // stands for this time too. One that had none ever, as where somebody else holds the
        // counters, has no value.
        return (now.running_ns > 0 || now.enabled_ns == 0).then_some(0);
    }
    let enabled_ns = now.enabled_ns.saturating_sub(last.enabled_ns);
    let count = now.count.saturating_sub(last.count);
    *last = now;
    let scaled =
        u128::from(count) * u128::from(enabled_ns.max(running_ns)) / u128::from(running_ns);
    Some(u64::try_from(scaled).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn count(count: u64, enabled_ns: u64, running_ns: u64) -> Count {
        Count {
            count,
            enabled_ns,
            running_ns,
        }
    }

    fn sum(counts: &[Count]) -> Option<u64> {
        let mut last = Count::default();
        let parts = counts.iter().map(|now| grown(&mut last, *now));
        parts.fold(None, |sum, part| {
            part.map(|part| part + sum.unwrap_or(0)).or(sum)
        })
    }

    #[test]
    fn a_count_without_turns_is_itself() {
        assert_eq!(sum(&[count(0, 0, 0)]), Some(0), "it sleeps");
        let counts = [
            count(10, 100, 100),
            count(10, 100, 100),
            count(17, 130, 130),
        ];
        assert_eq!(sum(&counts), Some(17));
    }

    #[test]
    fn a_count_in_turns_stands_for_the_whole_time() {
        assert_eq!(sum(&[count(10, 100, 25)]), Some(40));
        // Nothing happens in its second turn: the whole count, scaled, would fall from 40 to 20.
        let counts = [count(10, 100, 25), count(10, 200, 100)];
        assert_eq!(sum(&counts), Some(40));
        // No turn in between.
        let counts = [
            count(10, 100, 100),
            count(10, 200, 100),
            count(20, 300, 150),
        ];
        assert_eq!(sum(&counts), Some(10 + 40));
        let largest = count(u64::MAX, u64::MAX, 1);
        assert_eq!(sum(&[largest]), Some(u64::MAX));
    }

    #[test]
    fn an_event_without_any_turn_has_no_value() {
        assert_eq!(sum(&[count(0, 100, 0)]), None);
        assert_eq!(sum(&[count(0, 100, 0), count(6, 200, 50)]), Some(24));
    }

    proptest! {
        /// A rate that is always the same is told exactly, whatever turns there are.
        #[test]
        fn an_even_rate_is_told_exactly(
            turns in prop::collection::vec((1u64..1000, 0u64..1000), 1..50),
        ) {
            let (mut enabled, mut running) = (0, 0);
            let mut last = Count::default();
            let mut told = 0;
            for (ran, waited) in turns {
                (enabled, running) = (enabled + ran + waited, running + ran);
                told += grown(&mut last, count(3 * running, enabled, running)).expect("it ran");
                prop_assert_eq!(told, 3 * enabled);
            }
        }
    }
}
