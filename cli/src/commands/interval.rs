//! Which part of the run a question is about: options that commands share.

use invivo_config::{Time, Value};
use invivo_grpc::v1::GridRequest;
use std::ops::Range;

/// A part of the run; all of it without one. Times count from the beginning of the observed time.
#[derive(Clone, Debug, clap::Args)]
pub struct When {
    /// Begin so long ago
    #[arg(long, value_name = "TIME", value_parser = Time::parse, conflicts_with = "interval")]
    since: Option<Time>,
    /// Only this part of the run
    #[arg(long, value_name = "TIME..TIME", value_parser = interval)]
    interval: Option<Range<u64>>,
}

impl When {
    /// Whether a part was named.
    pub fn is_given(&self) -> bool {
        self.since.is_some() || self.interval.is_some()
    }

    /// A question about this part of the run, and nothing else yet.
    pub fn request(&self) -> GridRequest {
        let interval = self.interval.clone().unwrap_or(0..0);
        GridRequest {
            from_ns: interval.start,
            to_ns: interval.end,
            last_ns: self.since.map_or(0, Time::ns),
            ..GridRequest::default()
        }
    }
}

/// `30s..40s`; the begin may be left out, and the end.
fn interval(text: &str) -> Result<Range<u64>, String> {
    let wrong = || format!("{text:?} is no interval; give one as 30s..40s, ..40s or 30s..");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let at = |text: &str| match text {
        "" | "0" | "0s" => Ok(0),
        text => Time::parse(text).map(Time::ns),
    };
    let interval = at(from)?..at(to)?;
    // An end of 0 is now.
    if interval.end != 0 && interval.is_empty() || (from, to) == ("", "") {
        return Err(wrong());
    }
    Ok(interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_two_times_of_which_one_may_be_missing() {
        const S: u64 = 1_000_000_000;
        assert_eq!(interval("30s..40s"), Ok(30 * S..40 * S));
        assert_eq!(interval("0.5..2m"), Ok(S / 2..120 * S));
        assert_eq!(interval("..40s"), Ok(0..40 * S));
        let (start, end) = (30 * S, 0);
        assert_eq!(interval("30s.."), Ok(Range { start, end }));
        for text in ["", "..", "30s", "40s..30s", "a..b", "30s..30s"] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
