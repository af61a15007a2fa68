//! What can be given up to stay below the cap: its kinds, and sentences about each.

use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::metrics::Measured;
use invivo_proto::control::whole_time::WholeTime;
use std::fmt;

/// A kind of detail that can be given up, in the order in which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Regions of the program, the shortest first.
    Regions,
    /// The frequency of samples.
    Sampling,
    /// How often metrics are read.
    Metrics,
    /// Analyses that cost something for each call.
    Analyses,
    /// Calls of MPI that carry no messages.
    Functions,
    /// All recording.
    Recording,
}

impl Detail {
    /// All of them, in the order in which they are given up.
    pub const ALL: [Detail; 6] = [
        Detail::Regions,
        Detail::Sampling,
        Detail::Metrics,
        Detail::Analyses,
        Detail::Functions,
        Detail::Recording,
    ];

    /// The command by which users decide about it.
    pub fn command(self) -> &'static str {
        match self {
            Detail::Regions | Detail::Functions => "invivo selection",
            Detail::Sampling => "invivo sampling",
            Detail::Metrics => "invivo metrics",
            Detail::Analyses => "invivo analyses",
            Detail::Recording => "invivo record",
        }
    }

    /// That it is as the user wants it again: a sentence without its end.
    pub fn back(self) -> &'static str {
        match self {
            Detail::Regions => "regions are recorded again",
            Detail::Sampling => "samples are taken as before",
            Detail::Metrics => "metrics are read as before",
            Detail::Analyses => "analyses are on again",
            Detail::Functions => "all MPI functions are recorded again",
            Detail::Recording => "recording is on again",
        }
    }
}

/// What is given up now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Regions that are shorter than this on average, in ns.
    ShortRegions { ns: u64 },
    /// All regions that no rule includes.
    Regions,
    /// Samples are taken so often a second instead of `before`; 0 is not at all.
    Sampling { frequency: u32, before: u32 },
    /// Metrics are read so instead of as before.
    Metrics { now: Measured, before: Measured },
    /// These analyses.
    Analyses { these: AnalysisSet },
    /// MPI functions that carry no messages.
    Functions,
    /// All recording.
    Recording,
}

/// A sentence without its end.
impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reduction::ShortRegions { ns } => {
                write!(
                    f,
                    "regions shorter than {} are not recorded",
                    WholeTime(*ns)
                )
            }
            Reduction::Regions => f.write_str("regions are not recorded"),
            Reduction::Sampling {
                frequency: 0,
                before,
            } => write!(f, "no samples are taken (before: {before} a second)"),
            Reduction::Sampling { frequency, before } => {
                write!(
                    f,
                    "{frequency} samples a second are taken instead of {before}"
                )
            }
            Reduction::Metrics { now, .. } if now.set.is_empty() => {
                f.write_str("metrics are not measured")
            }
            Reduction::Metrics { now, before } => {
                let [now, before] = [now, before].map(|one| WholeTime(one.interval_ns));
                write!(f, "metrics are read every {now} instead of every {before}")
            }
            Reduction::Analyses { these } => write!(f, "analyses are off: {these}"),
            Reduction::Functions => {
                f.write_str("MPI functions that carry no messages are not recorded")
            }
            Reduction::Recording => f.write_str("nothing is recorded"),
        }
    }
}
