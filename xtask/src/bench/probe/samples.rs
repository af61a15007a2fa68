//! Benches what one sample costs the program that is sampled, and who samples it, by the depth of
//! calls; beside `perf record`.
//!
//! Rounds of one running program are compared: without samples, and with them right behind. Both
//! take the kernel's clock of a processor as their event.

use super::ask::{answer, number};
use super::perf::{self, Perf};
use super::ratio::of_rival;
use super::sampler::sampler;
use super::worker::{Worked, Worker};
use crate::bench::statistics::Median;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Calls between `main` and the work.
const DEPTHS: [u32; 3] = [4, 16, 64];
/// Samples a second.
const FREQUENCIES: [u32; 2] = [1_000, 10_000];
/// Batches of a round: some half a second.
const BATCHES: u32 = 32;
/// Of a round that batch counts which this part is shorter than: others disturbed the long ones,
/// and of the shortest one samples are missing.
const UNDISTURBED: f64 = 0.1;
/// Until the sampler has taken what the kernel has for it.
const SETTLED: Duration = Duration::from_millis(150);
/// The part by which samples may differ from what the clock makes expect.
const APART_MAX: f64 = 0.1;
/// The part of samples that must have all callers, and of those that may be lost.
const WHOLE_MIN: f64 = 0.9;
const LOST_MAX: f64 = 0.2;

/// Who samples.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Tool {
    Invivo,
    Frames,
    Stacks,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Invivo => "Invivo",
            Tool::Frames => "perf record -g",
            Tool::Stacks => "perf record --call-graph dwarf",
        }
    }
}

/// ns of a batch without samples and with them.
type Pair = (f64, f64);

/// One round with samples beside the one before it.
struct Round {
    /// A batch without samples, and with them.
    undisturbed: Pair,
    median: Pair,
    of_thread: Pair,
    /// Samples of a batch.
    samples: f64,
    /// The part of them that was lost.
    lost: f64,
    /// What a sample takes of a processor beside the program, in ns.
    beside_ns: f64,
}

impl Round {
    /// What a sample takes the program, in ns.
    fn sample_ns(&self) -> f64 {
        self.of_sample(self.undisturbed)
    }

    fn of_sample(&self, (without, with): Pair) -> f64 {
        (with - without) / self.samples
    }
}

type Rounds = BTreeMap<(u32, u32, Tool), Vec<Round>>;

/// What a sample costs, by depth, frequency and tool; the programs are bare and observed.
pub fn rows(turns: usize, bare: &mut Worker, observed: &mut Worker) -> Result<Vec<Value>> {
    let can_be = answer(&["sampling", "1000"]).and_then(|_| answer(&["sampling", "off"]));
    if let Err(error) = can_be {
        println!("samples cannot be taken here, and are not measured: {error:#}");
        return Ok(Vec::new());
    }
    let mut tools = vec![Tool::Invivo];
    match perf::is_there() {
        true => tools.extend([Tool::Frames, Tool::Stacks]),
        false => println!("perf is not there, or may not sample (Debian: linux-perf)"),
    }
    let mut all = Rounds::new();
    let mut idle = Vec::new();
    for turn in 0..turns {
        for depth in DEPTHS {
            let alone = bare.work(depth, BATCHES)?.wall_ns(UNDISTURBED)?;
            let off = observed.work(depth, BATCHES)?.wall_ns(UNDISTURBED)?;
            idle.push((off / alone - 1.0) * 100.0);
            for frequency in FREQUENCIES {
                for at in 0..tools.len() {
                    let tool = tools[(at + turn) % tools.len()];
                    let round = match tool {
                        Tool::Invivo => ours(observed, depth, frequency)?,
                        tool => theirs(bare, depth, frequency, tool)?,
                    };
                    all.entry((depth, frequency, tool)).or_default().push(round);
                }
            }
        }
    }
    let mut rows = Vec::new();
    println!(
        "{:<7}{:<7}{:<32}{:>10}{:>10}{:>12}",
        "calls", "Hz", "tool", "ns", "of thread", "beside ns"
    );
    for depth in DEPTHS {
        for frequency in FREQUENCIES {
            for tool in &tools {
                rows.push(row(&all, depth, frequency, *tool)?);
            }
        }
    }
    rows.push(json!({
        "part": "samples", "tool": "off", "slower_percent": Median::of(&idle)?.json(),
    }));
    Ok(rows)
}

fn row(all: &Rounds, depth: u32, frequency: u32, tool: Tool) -> Result<Value> {
    let rounds = &all[&(depth, frequency, tool)];
    let of = |of: fn(&Round) -> f64| -> Vec<f64> { rounds.iter().map(of).collect() };
    let median = |side: fn(&Round) -> f64| Median::of(&of(side));
    let (sample, beside) = (median(Round::sample_ns)?, median(|round| round.beside_ns)?);
    // The same where others take processors, as far as this clock has interrupts.
    let of_thread = median(|round| round.of_sample(round.of_thread))?;
    println!(
        "{depth:<7}{frequency:<7}{:<32}{:>10.0}{:>10.0}{:>12.0}",
        tool.name(),
        sample.value,
        of_thread.value,
        beside.value
    );
    let mut row = json!({
        "part": "samples", "calls": depth, "frequency": frequency, "tool": tool.name(),
        "sample_ns": sample.json(), "beside_ns": beside.json(),
        "sample_median_ns": median(|round| round.of_sample(round.median))?.json(),
        "sample_thread_ns": of_thread.json(),
        "slower_percent":
            median(|round| (round.undisturbed.1 / round.undisturbed.0 - 1.0) * 100.0)?.json(),
        "lost_percent": median(|round| round.lost * 100.0)?.json(),
    });
    let rivals = [(Tool::Frames, "of_frames"), (Tool::Stacks, "of_stacks")];
    for (rival, name) in rivals.into_iter().filter(|_| tool == Tool::Invivo) {
        if let Some(rounds) = all.get(&(depth, frequency, rival)) {
            let rival: Vec<f64> = rounds.iter().map(Round::sample_ns).collect();
            row[name] = of_rival(&of(Round::sample_ns), &rival);
        }
    }
    Ok(row)
}

/// A round under our sampler, in the job that is asked for what it has seen.
fn ours(worker: &mut Worker, depth: u32, frequency: u32) -> Result<Round> {
    let without = worker.work(depth, BATCHES)?;
    answer(&["sampling", &frequency.to_string()])?;
    // It reads the files of the program first, which no sample shall pay.
    worker.work(depth, 3)?;
    let before = Answer::of_job()?;
    let sampler = sampler(worker.pid)?;
    let begun = sampler.cpu_ns();
    let with = worker.work(depth, BATCHES)?;
    std::thread::sleep(SETTLED);
    let beside_ns = (sampler.cpu_ns() - begun) as f64;
    let after = Answer::of_job()?;
    answer(&["sampling", "off"])?;

    let samples = after.samples - before.samples;
    let lost = after.lost - before.lost;
    let whole = (after.main_ns - before.main_ns) / (after.worked_ns - before.worked_ns);
    ensure!(whole >= WHOLE_MIN, "{whole:.2} of the samples reach main");
    ensure!(
        lost <= LOST_MAX * (samples + lost),
        "{lost} samples were lost beside {samples}: too busy a machine to measure on"
    );
    round(&without, &with, frequency, (samples, lost), beside_ns)
}

/// A round under `perf record`, whose file is read.
fn theirs(worker: &mut Worker, depth: u32, frequency: u32, tool: Tool) -> Result<Round> {
    let without = worker.work(depth, BATCHES)?;
    // The same event and, of stacks, as many bytes; and no work at the end.
    let graph = match tool {
        Tool::Stacks => "dwarf,8192",
        _ => "fp",
    };
    let words = format!("record -q -B -N -e cpu-clock -F {frequency} --call-graph {graph}");
    let words: Vec<&str> = words.split(' ').collect();
    let data = perf::data();
    let perf = Perf::attach(&words, &data, worker.pid)?;
    let begun = perf.cpu_ns();
    let with = worker.work(depth, BATCHES)?;
    let beside_ns = (perf.end()? - begun) as f64;
    let seen = perf::seen(&data)?;
    ensure!(
        seen.whole as f64 >= WHOLE_MIN * seen.samples as f64
            && seen.between >= u64::from(depth - 1) * seen.samples * 9 / 10,
        "perf has not seen the callers: {seen:?} at {depth} calls"
    );
    round(
        &without,
        &with,
        frequency,
        (seen.samples as f64, 0.0),
        beside_ns,
    )
}

/// Fails where other samples were taken than the program's time makes expect.
fn round(
    without: &Worked,
    with: &Worked,
    frequency: u32,
    (samples, lost): (f64, f64),
    beside_ns: f64,
) -> Result<Round> {
    let (all, expected) = (samples + lost, with.cpu_ns() * f64::from(frequency) / 1e9);
    ensure!(
        (all - expected).abs() <= APART_MAX * expected,
        "{all} samples were taken, and {expected:.0} at {frequency} a second are expected"
    );
    Ok(Round {
        undisturbed: (without.wall_ns(UNDISTURBED)?, with.wall_ns(UNDISTURBED)?),
        median: (without.wall_ns(0.5)?, with.wall_ns(0.5)?),
        of_thread: (without.thread_ns(0.5)?, with.thread_ns(0.5)?),
        samples: all / with.batches(),
        lost: lost / all,
        beside_ns: beside_ns / samples,
    })
}

/// What the job has seen so far.
struct Answer {
    samples: f64,
    lost: f64,
    worked_ns: f64,
    main_ns: f64,
}

impl Answer {
    fn of_job() -> Result<Answer> {
        let profile = answer(&["profile"])?;
        let rows = || profile["functions"].as_array().into_iter().flatten();
        let of = |name: &str| -> f64 {
            let named = rows().filter(|row| row["function"] == name);
            named.filter_map(|row| row["ns"].as_f64()).sum()
        };
        Ok(Answer {
            samples: number(&profile, "samples")? as f64,
            lost: number(&profile, "samples_lost")? as f64,
            worked_ns: of("worked"),
            main_ns: of("main"),
        })
    }
}
