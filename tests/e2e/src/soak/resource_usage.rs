//! Memory and file descriptors of each process over time, and whether they grow without end.
//!
//! What counts is what a process still comes down to (its *floor*): an answer of thousands of calls
//! is a megabyte or two, and the allocator keeps the memory of some of them for minutes, but what
//! is leaked never comes back. The life of a process is divided into quarters. The first is for
//! warming up: buffers fill, every kind of question is asked. A process leaks when its floor rises
//! both in the third quarter and in the last, faster than that of the same program without Invivo,
//! which runs beside it. Rises are slopes with bounds ([`super::trend`]): a pool that a busy moment
//! fills to its limit, or a page that is touched late, is a step. A process that lived too short is
//! not judged: the test must let one of its kind live.

use super::trend::{Trend, trend};
use crate::processes::{Process, open_files, resident_bytes};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Slices of a quarter, of each of which the lowest usage counts.
const SLICES: usize = 8;
/// A slope below this is not told from pages that a process touches for the first time late: in a
/// job of a week it is 168 MiB.
const BYTES_PER_HOUR_MIN: f64 = 1_048_576.0;
/// Processes that lived for this part of the run are judged.
const LONG: f64 = 0.25;
const SECONDS_PER_HOUR: f64 = 3600.0;

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

    /// The lower of both, memory and descriptors apart.
    fn min(self, other: Usage) -> Usage {
        Usage {
            bytes: self.bytes.min(other.bytes),
            files: self.files.min(other.files),
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

/// What the floor of a process grows by in an hour, in the third quarter as in the last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Growth {
    bytes: Trend,
    files: Trend,
}

impl UsageLog {
    pub fn add(&mut self, who: Who, at: Duration, usage: Usage) {
        self.samples.entry(who).or_default().push((at, usage));
    }

    /// The role of each process that lived long enough to be judged.
    pub fn judged(&self, run: Duration) -> impl Iterator<Item = &str> {
        self.long(run).map(|((role, _), _)| role.as_str())
    }

    /// A line for each process that is judged, with its floor at the begin of each quarter and at
    /// the end, and with what it grows by; and one for the others of each role.
    pub fn text(&self, run: Duration) -> String {
        let mut text = String::new();
        for ((role, pid), samples) in self.long(run) {
            let floors = floors(samples);
            let at = |quarter: usize| floors[(quarter * floors.len() / 4).min(floors.len() - 1)].1;
            let floors = [0, 1, 2, 3, 4].map(|quarter| (at(quarter).bytes >> 10).to_string());
            let _ = writeln!(
                text,
                "{role}: process {pid}, {:.0} s: {} KiB, {} files; {}",
                life(samples).as_secs_f64(),
                floors.join(", "),
                at(4).files,
                growth(samples).text()
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

    /// The processes that leak, with what they grow by; `control` has the processes of the same
    /// program without Invivo.
    pub fn growing(&self, run: Duration, control: &UsageLog) -> Vec<String> {
        let bare = control.steepest(run);
        let grows = |((role, pid), samples): (&Who, &Vec<(Duration, Usage)>)| {
            let growth = growth(samples);
            let more = growth.bytes.least > bare.bytes.most + BYTES_PER_HOUR_MIN
                || growth.files.least > bare.files.most;
            more.then(|| format!("{role}, process {pid}: {growth:?}, bare {bare:?}"))
        };
        self.long(run).filter_map(grows).collect()
    }

    /// The steepest growth of its memory, in an hour, in words.
    pub fn steepest_text(&self, run: Duration) -> String {
        self.steepest(run).text()
    }

    fn steepest(&self, run: Duration) -> Growth {
        let steeper = |one: Trend, other: Trend| match other.most > one.most {
            true => other,
            false => one,
        };
        let of_all = self.long(run).map(|(_, samples)| growth(samples));
        of_all.fold(Growth::default(), |steepest, growth| Growth {
            bytes: steeper(steepest.bytes, growth.bytes),
            files: steeper(steepest.files, growth.files),
        })
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

/// What a process still comes down to from each slice of its life on.
fn floors(samples: &[(Duration, Usage)]) -> Vec<(Duration, Usage)> {
    let born = samples.first().map_or(Duration::ZERO, |(born, _)| *born);
    let slice = life(samples) / (4 * SLICES) as u32;
    let number = |at: Duration| {
        let number = at.saturating_sub(born).as_nanos() / slice.as_nanos().max(1);
        // The last sample lies exactly at the end.
        number.min(4 * SLICES as u128 - 1)
    };

    let mut floors: Vec<(Duration, Usage)> = samples
        .chunk_by(|(one, _), (next, _)| number(*one) == number(*next))
        .filter_map(|slice| {
            let usages = slice.iter().map(|(_, usage)| *usage);
            Some((slice.first()?.0, usages.reduce(Usage::min)?))
        })
        .collect();
    // From the end: what comes later is what it comes down to.
    for index in (1..floors.len()).rev() {
        floors[index - 1].1 = floors[index - 1].1.min(floors[index].1);
    }
    floors
}

/// What the floor grows by in both of the last quarters: of each bound the lower one.
fn growth(samples: &[(Duration, Usage)]) -> Growth {
    let floors = floors(samples);
    let slope = |quarter: usize, of: fn(Usage) -> u64| {
        let quarter = &floors[quarter * floors.len() / 4..(quarter + 1) * floors.len() / 4];
        let point = |(at, usage): &(Duration, Usage)| {
            (at.as_secs_f64() / SECONDS_PER_HOUR, of(*usage) as f64)
        };
        trend(&quarter.iter().map(point).collect::<Vec<_>>())
    };
    let both = |of: fn(Usage) -> u64| slope(2, of).min(slope(3, of));
    Growth {
        bytes: both(|usage| usage.bytes),
        files: both(|usage| usage.files),
    }
}

impl Growth {
    /// The slope of the memory with its bounds.
    fn text(self) -> String {
        let bytes = self.bytes;
        let [least, middle, most] =
            [bytes.least, bytes.middle, bytes.most].map(|bytes| format!("{:.0}", bytes / 1024.0));
        format!("{middle} ({least} to {most}) KiB/h")
    }
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

    /// A bare run that holds the same all the time.
    fn flat() -> UsageLog {
        usages(0..180, |_| 20 * MIB)
    }

    #[test]
    fn a_leak_is_found_in_a_long_life() {
        // The second as a gateway lives that is killed.
        let leak = |life| usages(life, |second| 8 * MIB + second * (50 << 10));
        for life in [0..180, 60..120] {
            let leak = leak(life);
            assert_eq!(leak.growing(RUN, &flat()).len(), 1, "{}", leak.text(RUN));
        }
        let young = leak(60..77);
        assert_eq!(young.growing(RUN, &flat()), [] as [String; 0]);
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
        assert_eq!(leak.growing(RUN, &flat()).len(), 1, "{}", leak.text(RUN));
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
            assert_eq!(
                held.growing(RUN, &flat()),
                [] as [String; 0],
                "{}",
                held.text(RUN)
            );
        }
    }

    #[test]
    fn what_the_bare_run_grows_by_is_no_leak() {
        let grows = |kib: u64| usages(0..180, move |second| 20 * MIB + second * (kib << 10));
        assert_eq!(grows(50).growing(RUN, &grows(60)), [] as [String; 0]);
        assert_eq!(grows(50).growing(RUN, &grows(20)).len(), 1);
    }
}
