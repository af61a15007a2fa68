//! Which part of the run a question is about: options that commands share.

use invivo_config::{Time, Value};
use invivo_grpc::v1::{
    CallSitesRequest, FunctionsRequest, GridRequest, IterationsRequest, MatrixRequest,
    MessagesRequest, ProfileRequest, RegionsRequest, TableInterval, WaitStatesRequest,
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

    /// As requests say it.
    pub fn asked(&self) -> Interval {
        let interval = self.interval.clone().unwrap_or(0..0);
        let asked = Interval {
            from_ns: interval.start,
            to_ns: interval.end,
            last_ns: self.since.map_or(0, Time::ns),
        };
        match asked == Interval::default() && self.is_given() {
            // From the begin to now: three zeros would be no interval.
            true => Interval {
                from_ns: 1,
                ..asked
            },
            false => asked,
        }
    }

    /// A table with the time that it is of, where a part of the run was named. `nothing` is said of
    /// a table that `is_empty`.
    pub fn told(
        &self,
        of: Option<&TableInterval>,
        (is_empty, nothing): (bool, &str),
        table: impl FnOnce() -> String,
    ) -> String {
        match (self.is_given(), of) {
            (false, _) => table(),
            (true, None) => "nothing of this time is kept\n".into(),
            (true, Some(of)) => {
                let [from, to] = [of.from_ns, of.to_ns].map(duration);
                let table = match is_empty {
                    true => format!("{nothing} in this time\n"),
                    false => table(),
                };
                format!("from {from} to {to}\n\n{table}")
            }
        }
    }
}

/// A part of the run as requests say it, in ns: begin and end, where an end of 0 is now, or the
/// length of the time up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    pub from_ns: u64,
    pub to_ns: u64,
    pub last_ns: u64,
}

/// Questions about a part of the run, and nothing else yet.
macro_rules! questions {
    ($($question:ident: $request:ident),*) => {
        impl Interval {
            $(
                #[doc = concat!("A [`", stringify!($request), "`] about this part of the run.")]
                #[allow(clippy::needless_update, reason = "some questions have nothing else")]
                pub fn $question(self) -> $request {
                    let Interval { from_ns, to_ns, last_ns } = self;
                    $request { from_ns, to_ns, last_ns, ..$request::default() }
                }
            )*
        }
    };
}

questions! {
    functions: FunctionsRequest,
    grid: GridRequest,
    iterations: IterationsRequest,
    matrix: MatrixRequest,
    messages: MessagesRequest,
    profile: ProfileRequest,
    regions: RegionsRequest,
    sites: CallSitesRequest,
    wait_states: WaitStatesRequest
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
    // An end that is left out is now.
    let is_empty = !to.is_empty() && interval.is_empty();
    if is_empty || (from, to) == ("", "") {
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
        for text in [
            "", "..", "30s", "40s..30s", "a..b", "30s..30s", "..0s", "0..0",
        ] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
