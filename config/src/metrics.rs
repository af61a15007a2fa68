//! What is measured of each rank, as an option: names joined by commas and, behind an `@`, the time
//! from one reading to the next: `page-faults,cpu-time@50ms`.

use super::value::{Time, Value};
use invivo_proto::control::metrics::{INTERVAL_NS_DEFAULT, Measured, MetricSet, UnknownInSet};
use invivo_proto::control::order::Order;
use serde_json::json;
use std::time::Duration;

impl Value for Measured {
    fn parse(text: &str) -> Result<Measured, String> {
        if ["off", "false", "no", ""].contains(&text) {
            return Ok(Measured::default());
        }
        let (names, every) = match text.split_once('@') {
            Some((names, every)) => (names, Some(every)),
            None => (text, None),
        };
        let set: MetricSet = names
            .parse()
            .map_err(|error: UnknownInSet| error.to_string())?;
        let every_ns = |text| Time::parse(text).map(Time::ns);
        let measured = Measured {
            set,
            interval_ns: every.map_or(Ok(INTERVAL_NS_DEFAULT), every_ns)?,
        };
        // The limits are those of the command.
        match Order::Metrics(measured).checked() {
            Ok(_) if set.is_empty() => Ok(Measured::default()),
            Ok(_) => Ok(measured),
            Err(error) => Err(error.to_string()),
        }
    }

    fn text(&self) -> String {
        match self.set.is_empty() {
            true => "off".to_owned(),
            false => format!("{}@{}", self.set, every(self).text()),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "names": self.set.names().collect::<Vec<_>>(),
            "interval_ns": self.interval_ns,
        })
    }
}

fn every(measured: &Measured) -> Time {
    Time(Duration::from_nanos(measured.interval_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_with_the_time_between_readings() {
        let read = |text| <Measured as Value>::parse(text).map(|measured| measured.text());
        let told = |text: &str| Ok(text.to_owned());
        assert_eq!(
            read("page-faults, cpu-time@0.05"),
            told("cpu-time,page-faults@50ms")
        );
        assert_eq!(read("program@1m"), told("program@1m"));
        assert_eq!(read("cycles@1.5s"), told("cycles@1s500ms"));
        assert_eq!(read("cycles@1s500ms"), told("cycles@1s500ms"));
        let usual = read("usual").expect("a set");
        assert!(usual.ends_with(",program@100ms"), "{usual}");
        assert_eq!(read(&usual), Ok(usual.clone()));
        for off in ["off", "", "none", "none@1s"] {
            assert_eq!(read(off), told("off"), "{off}");
            assert_eq!(
                <Measured as Value>::parse(off),
                Ok(Measured::default()),
                "{off}"
            );
        }
    }

    #[test]
    fn what_cannot_be_measured_so_is_refused() {
        for (text, why) in [
            ("page-fault", "\"page-fault\" is no metric"),
            ("mpi", "\"mpi\" is no metric that can be measured"),
            ("cycles@", "\"\" is no time"),
            ("cycles@often", "\"often\" is no time"),
            ("cycles@1ms", "every 10 ms at most"),
            ("cycles@2m", "every 60 s at least"),
        ] {
            let refused = <Measured as Value>::parse(text).expect_err(text);
            assert!(refused.contains(why), "{refused}");
        }
    }
}
