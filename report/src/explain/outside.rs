//! What ranks did outside MPI when they did not compute: the rank that computes longest, or all in
//! the mean, of metrics that are measured of them from outside, where they are.
//!
//! Metrics do not tell time in MPI from time outside of it. So the part of the time outside MPI
//! without a processor is the least that it can be: whatever can have been in MPI is taken for
//! that.

use super::measured::{COMPUTE, Known, Measured, Whose};
use super::seen::Limit;
use crate::units::{bytes, count, share};
use invivo_grpc::v1::GridReply;
use serde::{Deserialize, Serialize};

/// Metrics that tell something of it.
pub const METRICS: [&str; 7] = [
    "run-delay",
    "cpu-time",
    ACTIVE,
    PROCESSORS,
    "read-bytes",
    "written-bytes",
    "major-faults",
];
const ACTIVE: &str = "active-threads";
const PROCESSORS: &str = "processors";
/// From this part on of the time in which threads could run it is worth saying that they had no
/// processor.
const DELAYED: f64 = 0.1;
/// Threads could run for this part of the time at least, added up, or it is not said of them.
const COULD_RUN: f64 = 0.5;
/// From this part on, that no processor was used.
const OFF: f64 = 0.4;
/// From this part on, that of several threads.
const IDLE: f64 = 0.3;
/// From so many on, in the mean, they are several.
const SEVERAL: f64 = 1.5;
/// A rank with this part of the active threads of the others, or less, has few.
const FEW: f64 = 0.6;
/// From so many bytes a second on they may be what a rank waited for.
const BYTES: f64 = 1e6;
/// From so many faults a second on that read from a disk, a rank is paging.
const FAULTS: f64 = 100.0;

/// What a rank did outside MPI but computing, or a rank in the mean of all; of each only what is
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct OutsideMpi {
    /// The part of the time in which its threads could run for which they had no processor: in MPI
    /// as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_delay_share: Option<f64>,
    /// The part of its time outside MPI for which it was on no processor and no thread waited for
    /// one, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_processor_share: Option<f64>,
    /// Its threads that ran, as many as in a tenth of the columns at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_threads: Option<f64>,
    /// Those of the other ranks, in the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_threads_of_others: Option<f64>,
    /// Of the time outside MPI of as many of them as may run at once, the part in which they were
    /// on no processor and did not wait for one, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_threads_share: Option<f64>,
    /// Processors that its active threads may run on, in the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<f64>,
    /// What was fetched from storage for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_s: Option<f64>,
    /// What it caused to be sent to storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes_per_s: Option<f64>,
    /// Page faults for which something was read from a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults_per_s: Option<f64>,
}

/// Of grids over the same time: of computing, and of metrics. Nothing where none is known. Grids
/// over another time than that of computing do not count.
pub(super) fn outside_mpi(grids: &[GridReply], whose: Whose) -> Option<OutsideMpi> {
    let measured = Measured::new(grids, whose)?;
    let of = |metric: &str| measured.of(metric);
    let compute = of(COMPUTE).filter(|of| of.value > 0.0);
    let run = of("cpu-time").zip(of("run-delay"));
    let could_run = run.filter(|(on, delay)| on.value + delay.value >= COULD_RUN * on.span_ns);
    // Of the time outside MPI of so many threads.
    let off = |threads: f64| {
        let ((compute, (on, delay)), threads) = (compute.zip(run)?, threads.max(1.0));
        // All that they ran may have been outside MPI, and so may what was not measured.
        let missing = delay.missing_ns.max(on.missing_ns) + compute.missing_ns;
        let off = threads * (compute.value - missing) - on.value - delay.value;
        Some(off.max(0.0) / (threads * compute.value))
    };
    let rate = |metric| of(metric).map(Known::per_second);
    let is_rank = matches!(whose, Whose::Rank(_));
    // Where too little of it is known, the most of it is not.
    let active = of(ACTIVE).and_then(|_| measured.most(ACTIVE));
    let others = active.filter(|_| is_rank);
    let processors = of(PROCESSORS).and_then(|_| measured.most(PROCESSORS));
    let outside = OutsideMpi {
        run_delay_share: could_run.map(|(on, delay)| delay.value / (on.value + delay.value)),
        off_processor_share: off(1.0),
        active_threads: active,
        active_threads_of_others: others.and_then(|_| measured.most_of_others(ACTIVE)),
        idle_threads_share: active
            .map(|threads| at_once(threads, processors))
            .and_then(off),
        processors,
        read_bytes_per_s: rate("read-bytes"),
        written_bytes_per_s: rate("written-bytes"),
        major_faults_per_s: rate("major-faults"),
    };
    (outside != OutsideMpi::default()).then_some(outside)
}

/// In words: `for 48.1 % of the time in which its threads could run they had no processor`. Nothing
/// where there is nothing to say.
pub(super) fn told(of: &OutsideMpi) -> Option<String> {
    let told = [told_delay(of, "its"), told_few(of), told_off(of)];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(", and "))
}

/// The same of a rank in the mean of all, and what kind of limit it is.
pub(super) fn told_of_all(of: &OutsideMpi) -> Option<(Limit, String)> {
    let (delay, idle) = (told_delay(of, "their"), told_idle(of));
    let (of_idle, share) = match several(of) {
        Some(_) => (Limit::IdleThreads, of.idle_threads_share),
        None => (Limit::OffProcessor, of.off_processor_share),
    };
    // The greater part of the threads' time names it; that of the delay is of the rest.
    let share = share.unwrap_or(0.0);
    let is_more = share < of.run_delay_share.unwrap_or(0.0) * (1.0 - share);
    let limit = match (&delay, &idle) {
        (None, None) => return None,
        (Some(_), Some(_)) if is_more => Limit::NoProcessor,
        (Some(_), None) => Limit::NoProcessor,
        (_, Some(_)) => of_idle,
    };
    let told: Vec<String> = idle.into_iter().chain(delay).collect();
    Some((limit, told.join(", and ")))
}

/// That threads of all ranks were idle, behind "the ranks compute for ... of the time, but".
fn told_idle(of: &OutsideMpi) -> Option<String> {
    let moved = moved(of, "each");
    Some(match several(of) {
        Some(threads) => {
            let idle = part(of.idle_threads_share, IDLE)?;
            let threads = number(threads);
            format!(
                "their threads, {threads} of each, were idle for at least {idle} of that time, \
                 added up{moved}"
            )
        }
        None => {
            let off = part(of.off_processor_share, OFF)?;
            format!("were on no processor for at least {off} of that{moved}")
        }
    })
}

/// That threads had no processor; of all ranks as well while they communicate.
pub(super) fn told_delay(of: &OutsideMpi, whose: &str) -> Option<String> {
    let delayed = part(of.run_delay_share, DELAYED)?;
    // The cause, where it lies in what they may run on.
    let few = of.active_threads.zip(of.processors);
    let few = few.filter(|(threads, processors)| *threads >= processors + 0.5);
    let few = few.map_or_else(String::new, |(threads, processors)| {
        let (threads, processors) = (counted(threads, "thread"), counted(processors, "processor"));
        match whose {
            "its" => format!(" (it has {threads} on {processors})"),
            _ => format!(" (a rank has {threads} on {processors}, in the mean)"),
        }
    });
    Some(format!(
        "for {delayed} of the time in which {whose} threads could run they had no processor{few}"
    ))
}

/// That a rank has fewer threads that run than the others.
fn told_few(of: &OutsideMpi) -> Option<String> {
    let (own, others) = of.active_threads.zip(of.active_threads_of_others)?;
    let is_few = own > 0.0 && others >= SEVERAL && own <= FEW * others;
    is_few.then(|| {
        format!(
            "it has {}, and the others {}",
            counted(own, "active thread"),
            number(others)
        )
    })
}

/// That a rank, or several threads of it, were idle.
fn told_off(of: &OutsideMpi) -> Option<String> {
    if let Some(threads) = several(of) {
        let idle = part(of.idle_threads_share, IDLE)?;
        return Some(format!(
            "its {} threads were idle for at least {idle} of its time outside MPI, added up{}",
            number(threads),
            moved(of, "it")
        ));
    }
    let off = part(of.off_processor_share, OFF)?;
    Some(format!(
        "for at least {off} of its time outside MPI it was on no processor{}",
        moved(of, "it")
    ))
}

/// How many threads could be active at once, where that is more than one.
fn several(of: &OutsideMpi) -> Option<f64> {
    let threads = of
        .active_threads
        .map(|threads| at_once(threads, of.processors));
    threads.filter(|threads| *threads >= SEVERAL)
}

/// Of so many threads, those that their processors let run at a time.
fn at_once(threads: f64, processors: Option<f64>) -> f64 {
    processors.map_or(threads, |processors| threads.min(processors.max(1.0)))
}

fn part(part: Option<f64>, least: f64) -> Option<String> {
    let part = part.filter(|part| *part >= least)?;
    Some(share(part, 1.0))
}

/// "4", or "3.5" where it is a mean.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// "1 thread", "3.5 threads".
fn counted(value: f64, what: &str) -> String {
    let number = number(value);
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// What was moved that may have been waited for: " (it wrote 7.40 MiB/s)".
fn moved(of: &OutsideMpi, who: &str) -> String {
    let told = |verb: &str, rate: Option<f64>| {
        let rate = rate.filter(|rate| *rate >= BYTES)?;
        Some(format!("{verb} {}/s", bytes(rate as u64)))
    };
    let paging = of.major_faults_per_s.filter(|rate| *rate >= FAULTS);
    let paging = paging.map(|rate| {
        let times = count(rate as u64);
        format!("waited for pages of its memory from a disk {times} times a second")
    });
    let moved = [
        told("wrote", of.written_bytes_per_s),
        told("read", of.read_bytes_per_s),
        paging,
    ];
    let moved: Vec<String> = moved.into_iter().flatten().collect();
    match moved.is_empty() {
        true => String::new(),
        false => format!(" ({who} {})", moved.join(" and ")),
    }
}

#[cfg(test)]
mod tests;
