//! How much of the tools' time on processors the ranks lacked: what they feel of it beside the time
//! that they spend in our code themselves.
//!
//! Where processors stand idle now and then, nobody waits for one. So what was idle of those on
//! which the tools run is taken off, times [`IDLE_COUNTS`]: a processor that a tool process shares
//! with nobody is busy only while that works.

use invivo_mpi_link::clock::cpu_ns;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};

/// Where the system says what its processors did.
const STAT: &str = "/proc/stat";
/// Between two looks at it, in ns: it counts hundredths of a second.
const INTERVAL_NS: u64 = 200_000_000;
/// The same while nobody asks: what was idle for a part of a long time must not make up for the
/// rest.
const UNASKED_NS: u64 = 2_000_000_000;
/// Idle time stands for so much of the tools': who has four fifths of a processor that nobody else
/// uses leaves a fifth of it idle.
const IDLE_COUNTS: u64 = 4;
/// A tick of the counts, in ns: the same on all systems whose `USER_HZ` is 100, which it is on
/// those that this is built for.
const TICK_NS: u64 = 10_000_000;

/// What was found so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Displaced {
    last: Option<Counts>,
    displaced_ns: u64,
}

/// Both since some time of old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    at_ns: u64,
    /// The tools' time on processors.
    tools_ns: u64,
    /// The time that processors were idle on which they run; nothing where it cannot be known.
    idle_ns: Option<u64>,
}

impl Displaced {
    /// Whether it is time to look although nobody asks.
    pub fn is_due(&self, now_ns: u64) -> bool {
        let last = self
            .last
            .filter(|last| now_ns.saturating_sub(last.at_ns) < UNASKED_NS);
        last.is_none()
    }

    /// The time that ranks with these processes lacked since this was first asked, in ns;
    /// `observers_ns` is what is spent beside this process.
    pub fn until(
        &mut self,
        now_ns: u64,
        observers_ns: u64,
        ranks: impl Iterator<Item = Pid>,
    ) -> u64 {
        let is_early = |last: Counts| now_ns.saturating_sub(last.at_ns) < INTERVAL_NS;
        if !self.last.is_some_and(is_early) {
            let tools_ns = cpu_ns().saturating_add(observers_ns);
            match shared(ranks) {
                Some(shared) => {
                    let idle_ns = std::fs::read_to_string(STAT).ok();
                    let idle_ns = idle_ns.and_then(|text| idle_ns_of(&text, &shared));
                    self.add(Counts {
                        at_ns: now_ns,
                        tools_ns,
                        idle_ns,
                    });
                }
                // No rank runs where we do.
                None => {
                    self.last = Some(Counts {
                        at_ns: now_ns,
                        tools_ns,
                        idle_ns: None,
                    });
                }
            }
        }
        self.displaced_ns
    }

    fn add(&mut self, now: Counts) {
        let Some(last) = self.last.replace(now) else {
            return;
        };
        let tools_ns = now.tools_ns.saturating_sub(last.tools_ns);
        // Where nobody knows, they may have lacked all of it.
        let idle_ns = now.idle_ns.zip(last.idle_ns);
        let idle_ns = idle_ns.map_or(0, |(now, last)| now.saturating_sub(last));
        let lacked = tools_ns.saturating_sub(idle_ns.saturating_mul(IDLE_COUNTS));
        self.displaced_ns = self.displaced_ns.saturating_add(lacked);
    }
}

/// The processors on which this process may run, where ranks may run on one of them as well. Where
/// that cannot be known they may.
fn shared(mut ranks: impl Iterator<Item = Pid>) -> Option<CpuSet> {
    let ours = sched_getaffinity(None).ok()?;
    let meets = |theirs: CpuSet| {
        (0..CpuSet::MAX_CPU).any(|processor| ours.is_set(processor) && theirs.is_set(processor))
    };
    let any = ranks.any(|pid| sched_getaffinity(Some(pid)).map_or(true, meets));
    any.then_some(ours)
}

/// For how long these processors were idle, in ns since the system's start, by its own text.
fn idle_ns_of(text: &str, processors: &CpuSet) -> Option<u64> {
    let mut ticks = None;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().and_then(|word| word.strip_prefix("cpu"));
        let Some(number) = number.and_then(|number| number.parse::<usize>().ok()) else {
            continue;
        };
        if number >= CpuSet::MAX_CPU || !processors.is_set(number) {
            continue;
        }
        // user, nice, system, idle, iowait.
        let idle = words.skip(3).take(2).map(str::parse::<u64>);
        let idle: u64 = idle.collect::<Result<Vec<_>, _>>().ok()?.iter().sum();
        ticks = Some(ticks.unwrap_or(0u64).saturating_add(idle));
    }
    ticks.map(|ticks| ticks.saturating_mul(TICK_NS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn after(counts: &[(u64, Option<u64>)]) -> u64 {
        let mut displaced = Displaced::default();
        for (at, (tools_ms, idle_ms)) in counts.iter().enumerate() {
            displaced.add(Counts {
                at_ns: at as u64,
                tools_ns: tools_ms * MS,
                idle_ns: idle_ms.map(|ms| ms * MS),
            });
        }
        displaced.displaced_ns / MS
    }

    #[test]
    fn tools_displace_ranks_where_no_processor_is_idle() {
        let full = [(100, Some(5000)), (300, Some(5000))];
        assert_eq!(
            after(&full),
            200,
            "before the first look there were no ranks"
        );
        let spare = [(0, Some(5000)), (200, Some(5800))];
        assert_eq!(after(&spare), 0, "they have a processor of their own");
        let almost = [(0, Some(5000)), (200, Some(5010))];
        assert_eq!(after(&almost), 160);
        assert_eq!(after(&[(0, None), (70, None)]), 70, "nobody knows");
        let back = [(0, Some(9)), (50, Some(9)), (20, Some(5)), (60, Some(5))];
        assert_eq!(after(&back), 90, "counts that run back add nothing");
    }

    #[test]
    fn idle_time_is_that_of_the_processors_in_question() {
        let text = "cpu  9 9 9 900 9 9\ncpu0 1 2 3 40 5 6 7 0 0 0\ncpu1 1 2 3 60 0 6 7 0 0 0\n\
                    cpu2 1 2 3 4000 0 6 7 0 0 0\nintr 12 34\n";
        let mut processors = CpuSet::new();
        processors.set(0);
        processors.set(1);
        assert_eq!(idle_ns_of(text, &processors), Some(105 * TICK_NS));
        processors.set(700);
        assert_eq!(idle_ns_of(text, &processors), Some(105 * TICK_NS));
        assert_eq!(idle_ns_of("cpu0 1 2 three", &processors), Some(0));
        assert_eq!(idle_ns_of("cpu0 1 2 3 four", &processors), None);
        assert_eq!(idle_ns_of("", &processors), None);
    }

    #[test]
    fn a_process_shares_processors_with_itself() {
        let me = rustix::process::getpid();
        assert!(shared([me].into_iter()).is_some());
        assert!(shared(std::iter::empty()).is_none());
        let mut displaced = Displaced::default();
        let first = displaced.until(0, 5, [me].into_iter());
        assert!(!displaced.is_due(UNASKED_NS - 1) && displaced.is_due(UNASKED_NS));
        let again = displaced.until(INTERVAL_NS - 1, 500, [me].into_iter());
        assert_eq!(first, again, "not looked at again yet");
        let hour = 3_600_000_000_000;
        let later = displaced.until(INTERVAL_NS, hour, [me].into_iter());
        assert!(later > hour / 2, "{later}: nobody was idle for so long");
        let alone = displaced.until(3 * INTERVAL_NS, 3 * hour, std::iter::empty());
        assert_eq!(alone, later, "no rank is there that could lack it");
    }
}
