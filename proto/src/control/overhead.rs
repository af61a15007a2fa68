//! The cap on the measurement's overhead, and what is given up to stay below it.

use super::analyses::AnalysisSet;
use super::metrics::Measured;
use super::whole_time::WholeTime;
use alloc::string::String;
use alloc::vec::Vec;
use bincode::{Decode, Encode};
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// The lowest cap: what is below comes and goes with the machine.
const CAP_PPM_MIN: u32 = 1_000;
/// The highest, which is all of the ranks' time.
const CAP_PPM_MAX: u32 = 1_000_000;
/// Parts in a million of a hundredth.
const PERCENT_PPM: f64 = 10_000.0;
/// What was done lately that a status tells, at most.
pub const EVENTS_MAX: usize = 16;

/// How much of the ranks' time the measurement may take, in parts per million.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize,
)]
pub struct OverheadCap(u32);

impl OverheadCap {
    /// Of a share of the ranks' time, 1 being all of it; nothing where no such cap can be kept.
    pub fn of_share(share: f64) -> Option<OverheadCap> {
        let ppm = share * f64::from(CAP_PPM_MAX) + 0.5;
        let is_such = ppm >= f64::from(CAP_PPM_MIN) && ppm < f64::from(CAP_PPM_MAX) + 1.0;
        is_such.then_some(OverheadCap(ppm as u32))
    }

    /// The same as a share of the ranks' time.
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(CAP_PPM_MAX)
    }
}

/// Not a share of the ranks' time that can be kept to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCap(String);

impl core::error::Error for NoCap {}

impl fmt::Display for NoCap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoCap(text) = self;
        write!(
            f,
            "{text:?} is no cap on the overhead: give a share of the ranks' time, from 0.1% to \
             100%, such as 2%"
        )
    }
}

/// As `2%` or `0.5%`.
impl FromStr for OverheadCap {
    type Err = NoCap;

    fn from_str(text: &str) -> Result<OverheadCap, NoCap> {
        let number = text.trim().strip_suffix('%').map(str::trim_end);
        let share = number.and_then(|number| number.parse::<f64>().ok());
        let cap = share.and_then(|share| OverheadCap::of_share(share / 100.0));
        cap.ok_or_else(|| NoCap(text.into()))
    }
}

/// As [`OverheadCap::from_str`] reads it.
impl fmt::Display for OverheadCap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / PERCENT_PPM)
    }
}

/// A kind of detail that can be given up, in the order in which it is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize,
)]
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
}

/// What is given up now.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
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

impl Reduction {
    pub fn detail(&self) -> Detail {
        match self {
            Reduction::ShortRegions { .. } | Reduction::Regions => Detail::Regions,
            Reduction::Sampling { .. } => Detail::Sampling,
            Reduction::Metrics { .. } => Detail::Metrics,
            Reduction::Analyses { .. } => Detail::Analyses,
            Reduction::Functions => Detail::Functions,
            Reduction::Recording => Detail::Recording,
        }
    }
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

/// How the overhead is kept below its cap.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode, Serialize, Deserialize)]
pub struct Governance {
    /// The cap; nothing where there is none.
    pub cap: Option<OverheadCap>,
    /// The overhead when it was last looked at, as a share of the ranks' time.
    pub share: Option<f64>,
    /// What is given up now, in sentences, in the order in which it is given up.
    pub given_up: Vec<String>,
    /// What a user has decided since the cap was set, which is not touched, by its commands.
    pub decided: Vec<String>,
    /// The overhead is above the cap, and nothing that may be given up would save it.
    pub is_exhausted: bool,
    /// What was done lately, the oldest first: when, in job time in ns, and a sentence.
    pub events: Vec<(u64, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn caps_are_read_as_they_are_written() {
        for text in ["2%", "0.1%", "12.5%", "100%"] {
            let cap: OverheadCap = text.parse().expect(text);
            assert_eq!(cap.to_string(), text);
            assert_eq!(OverheadCap::of_share(cap.share()), Some(cap));
        }
        assert_eq!("2 %".parse(), Ok(OverheadCap(20_000)));
        for wrong in [
            "", "2", "0%", "0.09%", "100.1%", "-1%", "NaN%", "inf%", "two%",
        ] {
            let refused = wrong.parse::<OverheadCap>().expect_err(wrong);
            assert!(refused.to_string().ends_with("such as 2%"), "{refused}");
        }
    }
}
