//! The cap on the measurement's overhead, and what is given up to stay below it.

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
