//! What each process of a job holds over time, and whether it holds ever more. Judging is pure.
//!
//! Every process is judged by its own life, cut into quarters. The first is for warming up: buffers
//! fill, every kind of question is asked. Whoever does not come down in the third quarter to what
//! it came down to in the second, nor in the last to that of the third, by more than the slack,
//! leaks: what is lost stays, and a leak goes on. An answer of thousands of calls is a megabyte or
//! two, and the allocator keeps the room of some of them for minutes; so neither what was held at
//! most nor what was held usually says anything. A pool that a busy moment fills to its limit does
//! so once. One that died young was not there for long enough to be judged: somebody has to let one
//! of its kind live.

use crate::processes::{Process, open_files, resident_bytes};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// What is no leak, from one quarter to the next: allocators and MPIs keep what an unlucky moment
/// has asked for.
const SLACK_BYTES: u64 = 512 << 10;
/// The same as a part of what is held.
const SLACK_PART: f64 = 0.01;
/// Descriptors of the clients of the moment.
const SLACK_FILES: u64 = 4;
/// Who lived for this part of the run is judged.
const LONG: f64 = 0.25;

/// Bytes and descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Resident memory, what is shared included.
    pub bytes: u64,
    /// Open descriptors.
    pub files: u64,
}

impl Holding {
    /// What a process holds now; nothing of one that has ended.
    pub fn of(process: &Process) -> Option<Holding> {
        let bytes = resident_bytes(process);
        let files = open_files(process) as u64;
        (bytes > 0).then_some(Holding { bytes, files })
    }

    /// Such numbers of some holdings, each for itself.
    fn each(holdings: &[Holding], number: impl Fn(Vec<u64>) -> u64) -> Holding {
        Holding {
            bytes: number(holdings.iter().map(|holding| holding.bytes).collect()),
            files: number(holdings.iter().map(|holding| holding.files).collect()),
        }
    }
}

/// A process: what it does in its job, and its number.
pub type Who = (String, i32);

/// Samples by process.
#[derive(Clone, Debug, Default)]
pub struct Holdings {
    samples: BTreeMap<Who, Vec<(Duration, Holding)>>,
}

/// A quarter of a life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Quarter {
    least: Holding,
    most: Holding,
}

impl Holdings {
    /// Takes a sample.
    pub fn take(&mut self, who: Who, at: Duration, holding: Holding) {
        self.samples.entry(who).or_default().push((at, holding));
    }

    /// What the processes do that lived for long, one of the same for each of them.
    pub fn judged(&self, run: Duration) -> impl Iterator<Item = &str> {
        self.long(run).map(|((role, _), _)| role.as_str())
    }

    /// A line for each process that lived for long, with what it held at least and at most in each
    /// quarter of its life; and one for the others of each kind.
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
                    .map(|(_, holding)| holding.bytes)
                    .fold(*most, u64::max);
            }
        }
        for (role, (processes, most)) in short {
            let _ = writeln!(
                text,
                "{role}: {processes} that died young, {} KiB at most",
                most >> 10
            );
        }
        text
    }

    /// Who holds ever more.
    pub fn growing(&self, run: Duration) -> Vec<String> {
        let grows = |((role, pid), samples): (&Who, &Vec<(Duration, Holding)>)| {
            let [_, second, third, last] = quarters(samples).map(|quarter| quarter.least);
            let slack = SLACK_BYTES + (second.bytes as f64 * SLACK_PART) as u64;
            let goes_on = |number: fn(Holding) -> u64, slack: u64| {
                number(third) > number(second) + slack && number(last) > number(third) + slack
            };
            let more = goes_on(|held| held.bytes, slack) || goes_on(|held| held.files, SLACK_FILES);
            more.then(|| format!("{role}, process {pid}: {second:?}, {third:?}, {last:?}"))
        };
        self.long(run).filter_map(grows).collect()
    }

    fn long(&self, run: Duration) -> impl Iterator<Item = (&Who, &Vec<(Duration, Holding)>)> {
        self.samples
            .iter()
            .filter(move |(_, samples)| is_long(samples, run))
    }
}

fn is_long(samples: &[(Duration, Holding)], run: Duration) -> bool {
    life(samples) >= run.mul_f64(LONG)
}

fn life(samples: &[(Duration, Holding)]) -> Duration {
    let ends = samples.first().zip(samples.last());
    ends.map_or(Duration::ZERO, |((born, _), (died, _))| {
        died.saturating_sub(*born)
    })
}

fn quarters(samples: &[(Duration, Holding)]) -> [Quarter; 4] {
    let life = life(samples).as_secs_f64();
    let mut held: [Vec<Holding>; 4] = Default::default();
    let born = samples.first().map_or(Duration::ZERO, |(born, _)| *born);
    for (at, holding) in samples {
        let quarter = (4.0 * at.saturating_sub(born).as_secs_f64() / life) as usize;
        held[quarter.min(3)].push(*holding);
    }
    held.map(|held| Quarter {
        least: Holding::each(&held, |numbers| {
            numbers.into_iter().min().unwrap_or_default()
        }),
        most: Holding::each(&held, |numbers| {
            numbers.into_iter().max().unwrap_or_default()
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Duration = Duration::from_secs(180);
    const MIB: u64 = 1 << 20;

    /// Somebody who lives through these seconds and holds this at each of them.
    fn holdings(life: std::ops::Range<u64>, bytes: impl Fn(u64) -> u64) -> Holdings {
        let mut holdings = Holdings::default();
        for second in life {
            let holding = Holding {
                bytes: bytes(second),
                files: 10 + second % 3,
            };
            holdings.take(("root".into(), 7), Duration::from_secs(second), holding);
        }
        holdings
    }

    #[test]
    fn a_leak_is_found_in_whoever_lives_for_long() {
        // As a gateway does.
        let leak = |life| holdings(life, |second| 8 * MIB + second * (50 << 10));
        for life in [0..180, 60..120] {
            let leak = leak(life);
            assert_eq!(leak.growing(RUN).len(), 1, "{}", leak.text(RUN));
        }
        let young = leak(60..77);
        assert_eq!(young.growing(RUN), [] as [String; 0]);
        assert_eq!(
            young.judged(RUN).count(),
            0,
            "nobody may take it for judged"
        );
        assert_eq!(
            young.text(RUN),
            "root: 1 that died young, 11992 KiB at most\n"
        );
    }

    #[test]
    fn descriptors_are_found_as_well() {
        let mut leak = Holdings::default();
        for second in 0..180 {
            let holding = Holding {
                bytes: MIB,
                files: 10 + second / 9,
            };
            leak.take(("root".into(), 7), Duration::from_secs(second), holding);
        }
        assert_eq!(leak.growing(RUN).len(), 1, "{}", leak.text(RUN));
    }

    #[test]
    fn warming_up_and_coming_and_going_are_none() {
        for held in [
            |second: u64| second.min(40) * MIB,
            |second: u64| (second % 10) * MIB,
            // A pool that a busy moment fills, and what an allocator keeps for a minute, ever more
            // of it.
            |second: u64| u64::from(second > 100) * 18 * MIB,
            |second: u64| u64::from(second > 170) * 2 * MIB,
            |second: u64| u64::from(second % 45 > 3) * second / 20 * MIB,
        ] {
            let held = holdings(0..180, |second| 20 * MIB + held(second));
            assert_eq!(held.growing(RUN), [] as [String; 0], "{}", held.text(RUN));
        }
    }
}
