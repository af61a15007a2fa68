//! The types of options. Each reads the same text from a flag, a variable or a file.

use super::size;
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::order::LEASE_DEFAULT_NS;
use invivo_proto::control::sampling::{SampledBy, Sampling};
use invivo_proto::control::selection::{InvalidText, Selection};
use invivo_proto::control::strategy::{NoStrategy, Strategy};
use invivo_tbon::layout::FanIn;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// A type of value.
pub trait Value: Clone + PartialEq + Send + Sync + 'static {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong and what would be right, without the key's name.
    fn parse(text: &str) -> Result<Self, String>;
    /// As text that [`Value::parse`] reads to the same; empty where nothing is set.
    fn text(&self) -> String;
    /// For programs: durations in ns, sizes in bytes.
    fn json(&self) -> serde_json::Value;
    /// Whether TOML writes it without quotes.
    fn is_bare(&self) -> bool {
        false
    }
}

impl Value for bool {
    fn parse(text: &str) -> Result<bool, String> {
        match text {
            "true" | "1" | "yes" | "on" => Ok(true),
            // Empty: `INVIVO_QUIET= invivo ...`.
            "false" | "0" | "no" | "off" | "" => Ok(false),
            _ => Err(format!("{text:?} is neither true nor false")),
        }
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn json(&self) -> serde_json::Value {
        json!(self)
    }

    fn is_bare(&self) -> bool {
        true
    }
}

impl Value for FanIn {
    fn parse(text: &str) -> Result<FanIn, String> {
        text.parse()
            .map_err(|error| format!("{text:?} is no fan-in: {error}"))
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn json(&self) -> serde_json::Value {
        let part = |part: &str| match part.parse::<u32>() {
            Ok(number) => json!(number),
            Err(_) => json!(part),
        };
        self.to_string().split(',').map(part).collect()
    }
}

impl Value for Strategy {
    fn parse(text: &str) -> Result<Strategy, String> {
        text.parse().map_err(|error: NoStrategy| error.to_string())
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn json(&self) -> serde_json::Value {
        json!(self.to_string())
    }
}

impl Value for AnalysisSet {
    fn parse(text: &str) -> Result<AnalysisSet, String> {
        text.parse()
            .map_err(|error: <AnalysisSet as std::str::FromStr>::Err| error.to_string())
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn json(&self) -> serde_json::Value {
        self.iter().map(|analysis| json!(analysis.name())).collect()
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl Value for Bytes {
    fn parse(text: &str) -> Result<Bytes, String> {
        size::bytes(text).map(Bytes)
    }

    fn text(&self) -> String {
        size::text(self.0)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// A plain number: seconds.
fn seconds(text: &str) -> Option<Duration> {
    // Rust also reads signs, exponents, `inf` and `nan`.
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds: f64 = text.parse().ok().filter(|_| is_plain)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// A number with a fraction and one unit, as `0.5s`.
fn fraction(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok().filter(|_| number.contains('.'))?;
    let one = humantime::parse_duration(&format!("1{}", unit.trim())).ok()?;
    Duration::try_from_secs_f64(number * one.as_secs_f64()).ok()
}

/// A length of time that is not nothing: seconds, or with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Duration);

impl Time {
    /// In ns.
    pub fn ns(self) -> u64 {
        self.0.as_nanos().try_into().unwrap_or(u64::MAX)
    }
}

impl Value for Time {
    fn parse(text: &str) -> Result<Time, String> {
        let time = seconds(text)
            .or_else(|| fraction(text))
            .or_else(|| humantime::parse_duration(text).ok())
            .ok_or_else(|| format!("{text:?} is no time; give one as 500ms, 30s, 10m or 2h"))?;
        // Zero would mean "never", "at once" or "without end", depending on the option.
        if time.is_zero() {
            return Err(format!(
                "{text:?} is no time at all; give one as 500ms, 30s, 10m or 2h"
            ));
        }
        Ok(Time(time))
    }

    fn text(&self) -> String {
        humantime::format_duration(self.0)
            .to_string()
            .replace(' ', "")
    }

    fn json(&self) -> serde_json::Value {
        json!(self.ns())
    }
}

/// Whether the ranks are held right behind `MPI_Init`, and for how long at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold(pub Option<Duration>);

impl Value for Hold {
    fn parse(text: &str) -> Result<Hold, String> {
        // As a truth value first: `1` is `true` and not a second.
        match bool::parse(text) {
            Ok(true) => Ok(Hold(Some(Duration::from_nanos(LEASE_DEFAULT_NS)))),
            Ok(false) => Ok(Hold(None)),
            Err(_) => Time::parse(text).map(|time| Hold(Some(time.0))),
        }
    }

    fn text(&self) -> String {
        self.0
            .map_or_else(|| "false".to_owned(), |lease| Time(lease).text())
    }

    fn json(&self) -> serde_json::Value {
        self.0.map_or(json!(false), |lease| Time(lease).json())
    }

    fn is_bare(&self) -> bool {
        self.0.is_none()
    }
}

/// Rules as text, or those in a file behind an `@`.
impl Value for Selection {
    fn parse(text: &str) -> Result<Selection, String> {
        let Some(path) = text.strip_prefix('@') else {
            return text.parse().map_err(|error: InvalidText| error.why);
        };
        let content = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read the rules in {path}: {error}"))?;
        content
            .parse()
            .map_err(|error: InvalidText| format!("{path}, {error}"))
    }

    fn text(&self) -> String {
        Selection::text(self)
    }

    fn json(&self) -> serde_json::Value {
        let rules = self.rules.iter().map(ToString::to_string);
        json!(rules.collect::<Vec<_>>())
    }

    fn is_bare(&self) -> bool {
        false
    }
}

impl Value for Sampling {
    fn parse(text: &str) -> Result<Sampling, String> {
        text.parse()
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn json(&self) -> serde_json::Value {
        match self.by {
            SampledBy::Perf => json!(self.frequency),
            SampledBy::Timer => json!(self.to_string()),
        }
    }
}

/// An address to listen on, as `HOST:PORT`: port 0 takes a free one. The gateway looks closer at
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(pub String);

impl Value for Address {
    fn parse(text: &str) -> Result<Address, String> {
        // From the right: an IPv6 address holds colons itself.
        let parts = text.rsplit_once(':');
        let good =
            parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
        if good && !text.contains(char::is_whitespace) {
            return Ok(Address(text.to_owned()));
        }
        Err(format!(
            "{text:?} is no address; give one of this host's with a port, 0 for a free one, as \
             10.0.0.7:0 or login1:0"
        ))
    }

    fn text(&self) -> String {
        self.0.clone()
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

impl Value for PathBuf {
    fn parse(text: &str) -> Result<PathBuf, String> {
        Ok(text.into())
    }

    fn text(&self) -> String {
        self.to_string_lossy().into_owned()
    }

    fn json(&self) -> serde_json::Value {
        json!(self.text())
    }
}

/// What need not be set; the empty text unsets it.
impl<T: Value> Value for Option<T> {
    fn parse(text: &str) -> Result<Option<T>, String> {
        // The way to unset by a variable what a file sets.
        if text.is_empty() {
            return Ok(None);
        }
        T::parse(text).map(Some)
    }

    fn text(&self) -> String {
        self.as_ref().map(T::text).unwrap_or_default()
    }

    fn json(&self) -> serde_json::Value {
        self.as_ref().map_or(serde_json::Value::Null, T::json)
    }

    fn is_bare(&self) -> bool {
        self.as_ref().is_some_and(T::is_bare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round<T: Value + std::fmt::Debug>(text: &str) -> String {
        let value = T::parse(text).expect("a value");
        assert_eq!(T::parse(&value.text()).expect("read again"), value);
        value.text()
    }

    #[test]
    fn every_text_is_read_again() {
        assert_eq!(round::<bool>("yes"), "true");
        assert_eq!(round::<FanIn>("12"), "12,16");
        assert_eq!(round::<FanIn>("4, 2,3"), "4,2,3");
        assert_eq!(round::<Bytes>("16384k"), "16MiB");
        assert_eq!(round::<Bytes>("1000"), "1000");
        assert_eq!(
            round::<Strategy>("iterations:4@MPI_Barrier, duration:1000ns"),
            "iterations:4@MPI_Barrier,duration:1us"
        );
        assert_eq!(
            round::<AnalysisSet>("default, messages"),
            "functions,matrix,messages,heatmap,sites,waitstates,regions"
        );
        assert_eq!(round::<AnalysisSet>("none"), "none");
        assert_eq!(round::<Time>("90s"), "1m30s");
        assert_eq!(round::<Hold>("true"), "10m");
        assert_eq!(round::<Hold>("off"), "false");
        assert_eq!(round::<Sampling>("1kHz"), "1000Hz");
        assert_eq!(round::<Sampling>("on"), "251Hz");
        assert_eq!(round::<Sampling>("0"), "off");
        assert_eq!(round::<Option<PathBuf>>("a b.json"), "a b.json");
        assert_eq!(round::<Option<PathBuf>>(""), "");
        assert_eq!(round::<Address>("[::1]:80"), "[::1]:80");
    }

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        let ns = |text| Time::parse(text).map(Time::ns);
        for (text, expected) in [
            ("5", 5_000_000_000),
            ("0.5", 500_000_000),
            ("0.25s", 250_000_000),
            ("1.5m", 90_000_000_000),
            ("500ms", 500_000_000),
            ("1m 30s", 90_000_000_000),
        ] {
            assert_eq!(ns(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        let errors = [
            FanIn::parse("0").expect_err("none"),
            FanIn::parse("4,1").expect_err("a node with one child"),
            Time::parse("1e3").expect_err("no plain number"),
            Time::parse("-1").expect_err("the past"),
            Time::parse(".s").expect_err("no number"),
            Time::parse("0s").expect_err("nothing"),
            Bytes::parse("1.5G").expect_err("no size"),
            AnalysisSet::parse("functons").expect_err("no analysis"),
            Hold::parse("maybe").expect_err("neither"),
            Sampling::parse("10001").expect_err("too often"),
            Sampling::parse("often").expect_err("no number"),
            Sampling::parse("0.5").expect_err("no whole number"),
        ];
        for error in errors {
            assert!(
                ["give", "write", "at least"]
                    .iter()
                    .any(|hint| error.contains(hint)),
                "{error}"
            );
        }
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for good in ["login1:0", "10.0.0.7:4711", "[fe80::1]:99", "a.b-c.org:1"] {
            assert!(Address::parse(good).is_ok(), "{good}");
        }
        for bad in ["", ":80", "login1", "a:99999", "a:b", "a b:0"] {
            assert!(Address::parse(bad).is_err(), "{bad:?}");
        }
    }
}
