//! Memory and file descriptors of each process over time, and whether they grow without end.
//!
//! The life of a process is divided into quarters. The first is for warming up: buffers fill, every
//! kind of question is asked. A process leaks when its lowest usage in the third quarter is above
//! that of the second, and that of the last above that of the third, each by more than the slack:
//! what is leaked never comes back, and a leak goes on. The highest and the usual usage say
//! nothing, because an answer of thousands of calls is a megabyte or two, and the allocator keeps
//! the memory of some of them for minutes. A pool that a busy moment fills to its limit grows once
//! only. A process that lived too short is not judged: the test must let one of its kind live.

use crate::processes::{Process, open_files, resident_bytes};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Growth from one quarter to the next that is no leak: allocators and MPIs keep memory that a busy
/// moment needed.
const SLACK_BYTES: u64 = 512 << 10;
/// The same as a part of the memory in use.
const SLACK_PART: f64 = 0.01;
/// File descriptors of the clients that are connected at the moment.
const SLACK_FILES: u64 = 4;
/// Processes that lived for this part of the run are judged.
const LONG: f64 = 0.25;

/// Memory and file descriptors of a process at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Resident memory, shared pages included.
    pub bytes: u64,
    /// Open file descriptors.
    pub files: u64,
}

impl Usage {
    /// The usage of a process now; `None` of one that has ended.
    pub fn of(process: &Process) -> Option<Usage> {
        // A process that has ended has no memory, nor has a zombie.
        let bytes = resident_bytes(process);
        let files = open_files(process) as u64;
        (bytes > 0).then_some(Usage { bytes, files })
    }

    /// Folds the numbers of several usages, memory and descriptors apart.
    fn fold(usages: &[Usage], number: impl Fn(Vec<u64>) -> u64) -> Usage {
        Usage {
            bytes: number(usages.iter().map(|usage| usage.bytes).collect()),
            files: number(usages.iter().map(|usage| usage.files).collect()),
        }
    }
}

/// A process: its role in the job, and its PID.
pub type Who = (String, i32);

/// The samples of all processes.
#[derive(Clone, Debug, Default)]
pub struct UsageLog {
    samples: BTreeMap<Who, Vec<(Duration, Usage)>>,
}

/// The lowest and the highest usage in a quarter of a life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Quarter {
    least: Usage,
    most: Usage,
}

impl UsageLog {
    pub fn add(&mut self, who: Who, at: Duration, usage: Usage) {
        self.samples.entry(who).or_default().push((at, usage));
    }

    /// The role of each process that lived long enough to be judged.
    pub fn judged(&self, run: Duration) -> impl Iterator<Item = &str> {
        self.long(run).map(|((role, _), _)| role.as_str())
    }

    /// A line for each process that is judged, with the lowest and the highest usage in each
    /// quarter of its life; and one for the others of each role.
    pub fn text(&self, run: Duration) -> String {
        let mut text = String::new();
        for ((role, pid), samples) in self.long(run) {
            let quarter = |quarter: Quarter| {
                let (least, most) = (quarter.least, quarter.most);
                format!(
                    "{} to {} KiB, {} files",
                    least.bytes >> 10,
                    most.bytes >> 10,
                    least.files
                )
            };
            let quarters = quarters(samples).map(quarter).join("; ");
            let _ = writeln!(
                text,
                "{role}: process {pid}, {:.0} s: {quarters}",
                life(samples).as_secs_f64()
            );
        }

        let mut short: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
        for ((role, _), samples) in &self.samples {
            if !is_long(samples, run) {
                let (processes, most) = short.entry(role).or_default();
                *processes += 1;
                *most = samples
                    .iter()
                    .map(|(_, usage)| usage.bytes)
                    .fold(*most, u64::max);
            }
        }

        for (role, (processes, most)) in short {
            let _ = writeln!(
                text,
                "{role}: {processes} that lived too short, {} KiB at most",
                most >> 10
            );
        }
        text
    }

    /// The processes that leak, with the lowest usages of their quarters.
    pub fn growing(&self, run: Duration) -> Vec<String> {
        let grows = |((role, pid), samples): (&Who, &Vec<(Duration, Usage)>)| {
            let [_, second, third, last] = quarters(samples).map(|quarter| quarter.least);
            // From the second quarter: the first is for warming up.
            let slack = SLACK_BYTES + (second.bytes as f64 * SLACK_PART) as u64;

            let goes_on = |number: fn(Usage) -> u64, slack: u64| {
                number(third) > number(second) + slack && number(last) > number(third) + slack
            };

            let more = goes_on(|held| held.bytes, slack) || goes_on(|held| held.files, SLACK_FILES);
            more.then(|| format!("{role}, process {pid}: {second:?}, {third:?}, {last:?}"))
        };
        self.long(run).filter_map(grows).collect()
    }

    fn long(&self, run: Duration) -> impl Iterator<Item = (&Who, &Vec<(Duration, Usage)>)> {
        self.samples
            .iter()
            .filter(move |(_, samples)| is_long(samples, run))
    }
}

fn is_long(samples: &[(Duration, Usage)], run: Duration) -> bool {
    life(samples) >= run.mul_f64(LONG)
}

fn life(samples: &[(Duration, Usage)]) -> Duration {
    let ends = samples.first().zip(samples.last());
    ends.map_or(Duration::ZERO, |((born, _), (died, _))| {
        died.saturating_sub(*born)
    })
}

fn quarters(samples: &[(Duration, Usage)]) -> [Quarter; 4] {
    let life = life(samples).as_secs_f64();
    let mut held: [Vec<Usage>; 4] = Default::default();
    let born = samples.first().map_or(Duration::ZERO, |(born, _)| *born);

    for (at, usage) in samples {
        let quarter = (4.0 * at.saturating_sub(born).as_secs_f64() / life) as usize;
        // The last sample lies exactly at the end.
        held[quarter.min(3)].push(*usage);
    }

    held.map(|held| Quarter {
        least: Usage::fold(&held, |numbers| {
            numbers.into_iter().min().unwrap_or_default()
        }),
        most: Usage::fold(&held, |numbers| {
            numbers.into_iter().max().unwrap_or_default()
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Duration = Duration::from_secs(180);
    const MIB: u64 = 1 << 20;

    /// The samples of one process that lives through these seconds with this usage.
    fn usages(life: std::ops::Range<u64>, bytes: impl Fn(u64) -> u64) -> UsageLog {
        let mut usages = UsageLog::default();
        for second in life {
            let usage = Usage {
                bytes: bytes(second),
                files: 10 + second % 3,
            };
            usages.add(("root".into(), 7), Duration::from_secs(second), usage);
        }
        usages
    }

    #[test]
    fn a_leak_is_found_in_a_long_life() {
        // The second as a gateway lives that is killed.
        let leak = |life| usages(life, |second| 8 * MIB + second * (50 << 10));
        for life in [0..180, 60..120] {
            let leak = leak(life);
            assert_eq!(leak.growing(RUN).len(), 1, "{}", leak.text(RUN));
        }
        let young = leak(60..77);
        assert_eq!(young.growing(RUN), [] as [String; 0]);
        assert_eq!(young.judged(RUN).count(), 0, "it does not count as judged");
        assert_eq!(
            young.text(RUN),
            "root: 1 that lived too short, 11992 KiB at most\n"
        );
    }

    #[test]
    fn a_leak_of_descriptors_is_found() {
        let mut leak = UsageLog::default();
        for second in 0..180 {
            let usage = Usage {
                bytes: MIB,
                files: 10 + second / 9,
            };
            leak.add(("root".into(), 7), Duration::from_secs(second), usage);
        }
        assert_eq!(leak.growing(RUN).len(), 1, "{}", leak.text(RUN));
    }

    #[test]
    fn warming_up_and_passing_peaks_are_no_leaks() {
        for held in [
            |second: u64| second.min(40) * MIB,
            |second: u64| (second % 10) * MIB,
            // A pool that a busy moment fills, and what an allocator keeps for a minute, ever more
            // of it.
            |second: u64| u64::from(second > 100) * 18 * MIB,
            |second: u64| u64::from(second > 170) * 2 * MIB,
            |second: u64| u64::from(second % 45 > 3) * second / 20 * MIB,
        ] {
            let held = usages(0..180, |second| 20 * MIB + held(second));
            assert_eq!(held.growing(RUN), [] as [String; 0], "{}", held.text(RUN));
        }
    }
}
