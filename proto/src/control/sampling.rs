//! How ranks are sampled: how often, and what interrupts a thread to look where it is.

use super::profile::{FREQUENCY_DEFAULT, FREQUENCY_MAX, FREQUENCY_TIMER};
use alloc::format;
use alloc::string::String;
use bincode::{Decode, Encode};
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// What interrupts a thread at even intervals of its time on a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub enum SampledBy {
    /// Perf events of the kernel, opened from outside: the program notices nothing.
    #[default]
    Perf,
    /// A timer of the kernel for each thread, whose signal is handled in the rank: where perf
    /// events are forbidden.
    Timer,
}

/// How ranks are sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Sampling {
    /// Samples a second of each thread's time on a processor; 0 for none.
    pub frequency: u32,
    /// By what.
    pub by: SampledBy,
}

impl Sampling {
    /// Not at all.
    pub const OFF: Sampling = Sampling::perf(0);
    /// As is usual.
    pub const ON: Sampling = Sampling::perf(FREQUENCY_DEFAULT);

    /// So often, by perf events.
    pub const fn perf(frequency: u32) -> Sampling {
        let by = SampledBy::Perf;
        Sampling { frequency, by }
    }

    /// So often, by a timer.
    pub const fn timer(frequency: u32) -> Sampling {
        let by = SampledBy::Timer;
        Sampling { frequency, by }
    }

    /// Whether samples are taken.
    pub const fn is_on(self) -> bool {
        self.frequency > 0
    }
}

/// As it is given on a command line: `off`, `251Hz`, `timer:99Hz`.
impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.frequency, self.by) {
            (0, _) => f.write_str("off"),
            (hertz, SampledBy::Perf) => write!(f, "{hertz}Hz"),
            (hertz, SampledBy::Timer) => write!(f, "timer:{hertz}Hz"),
        }
    }
}

impl FromStr for Sampling {
    type Err = String;

    fn from_str(text: &str) -> Result<Sampling, String> {
        let found = match text {
            "on" | "true" | "yes" => Some(Sampling::ON),
            "off" | "false" | "no" | "" => Some(Sampling::OFF),
            "timer" => Some(Sampling::timer(FREQUENCY_TIMER)),
            _ => match text.strip_prefix("timer:") {
                // The word alone would begin it.
                Some(hertz) => hertz_of(hertz)
                    .filter(|hertz| *hertz > 0)
                    .map(Sampling::timer),
                None => hertz_of(text).map(Sampling::perf),
            },
        };
        found.ok_or_else(|| {
            format!(
                "{text:?} is no frequency; give samples a second, {FREQUENCY_MAX} at most, as \
                 {FREQUENCY_DEFAULT} or 1kHz, or on or off; timer or timer:50Hz where perf events \
                 are forbidden"
            )
        })
    }
}

/// Samples a second, such as `251`, `251Hz` or `1kHz`.
fn hertz_of(text: &str) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    let (number, factor) = match lower.strip_suffix("khz").or(lower.strip_suffix('k')) {
        Some(number) => (number, 1000.0),
        None => (lower.strip_suffix("hz").unwrap_or(&lower), 1.0),
    };
    let number = number.trim();
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    if !number.bytes().all(is_digit) {
        return None;
    }
    let hertz = number.parse::<f64>().ok()? * factor;
    let is_whole = hertz % 1.0 == 0.0 && (0.0..=f64::from(FREQUENCY_MAX)).contains(&hertz);
    is_whole.then_some(hertz as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn what_is_written_is_read_again() {
        for sampling in [
            Sampling::OFF,
            Sampling::ON,
            Sampling::perf(10_000),
            Sampling::timer(1),
            Sampling::timer(FREQUENCY_TIMER),
        ] {
            assert_eq!(sampling.to_string().parse(), Ok(sampling));
        }
        assert_eq!("timer".parse(), Ok(Sampling::timer(99)));
        assert_eq!("timer:1kHz".parse(), Ok(Sampling::timer(1000)));
        assert_eq!("0".parse(), Ok(Sampling::OFF));
        assert_eq!("0.5kHz".parse(), Ok(Sampling::perf(500)));
    }

    #[test]
    fn what_is_no_frequency_is_refused() {
        for text in [
            "timer:",
            "timer:off",
            "timer:0",
            "timer:10001",
            "timers",
            "10001",
            "often",
            "0.5",
            "-1",
            "1e3",
            "inf",
        ] {
            let why = text.parse::<Sampling>().expect_err(text);
            assert!(why.contains("timer:50Hz"), "{why}");
        }
    }
}
