//! Which part of the run a question is about: options that commands share.

use invivo_config::{Time, Value};
use invivo_grpc::v1::{
    CallSitesRequest, FunctionsRequest, GridRequest, TableInterval, WaitStatesRequest,
};
use invivo_report::units::duration;
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

    /// As requests say it: begin, end, and the length of the time up to now, in ns.
    fn part(&self) -> (u64, u64, u64) {
        let interval = self.interval.clone().unwrap_or(0..0);
        match (interval.start, interval.end, self.since.map_or(0, Time::ns)) {
            // From the begin to now: three zeros would be no interval.
            (0, 0, 0) if self.is_given() => (1, 0, 0),
            part => part,
        }
    }

    /// A question about this part of the run, and nothing else yet.
    pub fn request(&self) -> GridRequest {
        let (from_ns, to_ns, last_ns) = self.part();
        GridRequest {
            from_ns,
            to_ns,
            last_ns,
            ..GridRequest::default()
        }
    }

    /// The same about the function table.
    pub fn functions(&self) -> FunctionsRequest {
        let (from_ns, to_ns, last_ns) = self.part();
        FunctionsRequest {
            from_ns,
            to_ns,
            last_ns,
            ..FunctionsRequest::default()
        }
    }

    /// The same about call sites.
    pub fn sites(&self) -> CallSitesRequest {
        let (from_ns, to_ns, last_ns) = self.part();
        CallSitesRequest {
            from_ns,
            to_ns,
            last_ns,
            ..CallSitesRequest::default()
        }
    }

    /// The same about wait states.
    pub fn wait_states(&self) -> WaitStatesRequest {
        let (from_ns, to_ns, last_ns) = self.part();
        WaitStatesRequest {
            from_ns,
            to_ns,
            last_ns,
            ..WaitStatesRequest::default()
        }
    }

    /// Of which time a table is, where a part of the run was named.
    pub fn heading(&self, of: Option<&TableInterval>) -> String {
        match (self.is_given(), of) {
            (false, _) => String::new(),
            (true, None) => "nothing of this time is kept\n\n".into(),
            (true, Some(of)) => {
                let [from, to] = [of.from_ns, of.to_ns].map(duration);
                format!("calls that ended from {from} to {to}\n\n")
            }
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
