//! What the page does to the job: the words of an order, read as the command line reads them.

use crate::commands::overhead::said;
use invivo_config::{Overhead, Sampling, Time, Value};
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::metrics::Measured;
use invivo_proto::control::order::Order;
use invivo_proto::control::selection::{InvalidText, Selection};
use serde::Deserialize;

/// The words of the orders, for whoever gives another one.
pub const ORDERS: &str = "pause, resume, reset, record, window, analyses, selection, metrics, \
                          sampling, overhead or shutdown";

/// What may stand behind the question mark.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Words {
    /// The longest that the application stands, or how long is recorded, as `10m`.
    time: Option<String>,
    /// Which analyses or metrics, joined by commas.
    names: String,
    /// On or off.
    on: Option<bool>,
    /// Of samples, as `on`, `off`, `1kHz` or `timer:99Hz`.
    frequency: Option<String>,
    /// Between two readings of metrics, as `50ms`.
    every: Option<String>,
    /// What is recorded, as `exclude tiny_*`.
    rules: Option<String>,
    /// The most of the ranks' time that the measurement takes, as `2%`, or `off`.
    cap: Option<String>,
    /// These rules take the place of all others.
    replace: bool,
}

/// The order that these words mean.
///
/// # Errors
/// What is wrong with them.
pub fn order(verb: &str, words: &Words) -> Result<Order, String> {
    let on = || words.on.ok_or_else(|| "say on=true or on=false".to_owned());
    let ns = |default| {
        let text = words.time.as_deref().unwrap_or(default);
        Time::parse(text).map(Time::ns)
    };
    Ok(match verb {
        "pause" => {
            let lease_ns = ns("10m")?;
            Order::Pause { lease_ns }
        }
        "resume" => Order::Resume,
        "reset" => Order::Reset,
        "record" => Order::Record { on: on()? },
        "window" => {
            let length_ns = ns("2s")?;
            Order::Window { length_ns }
        }
        "analyses" => {
            let these = AnalysisSet::parse(&words.names)?;
            let on = on()?;
            Order::Analyses { these, on }
        }
        "sampling" => {
            let text = words.frequency.as_deref();
            let text = text.ok_or("say frequency=on, frequency=off or how many a second")?;
            Order::Sampling(Sampling::parse(text)?)
        }
        "selection" => {
            let text = words.rules.as_deref();
            let text = text.ok_or("say rules=exclude tiny_*, or others")?;
            // Not as options are read: a page names no files.
            let read = text.parse().map_err(|error: InvalidText| error.why);
            let mut selection: Selection = read?;
            selection.replaces = words.replace;
            Order::Select(selection)
        }
        "metrics" => Order::Metrics(measured(words)?),
        "overhead" => {
            let text = words.cap.as_deref().ok_or("say cap=2% or cap=off")?;
            let Overhead(cap) = said(text)?;
            Order::Overhead { cap }
        }
        "shutdown" => Order::Shutdown,
        other => return Err(format!("there is no order {other:?}; there is {ORDERS}")),
    })
}

/// As on the command line; no names measure nothing.
fn measured(words: &Words) -> Result<Measured, String> {
    let names = &words.names;
    let text = match words.every.as_deref() {
        Some(every) if !names.is_empty() => format!("{names}@{every}"),
        _ => names.clone(),
    };
    Measured::parse(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(time: &str, on: Option<bool>) -> Words {
        Words {
            time: (!time.is_empty()).then(|| time.to_owned()),
            names: "matrix".into(),
            on,
            frequency: Some("1kHz".into()),
            rules: Some("exclude a; include b".into()),
            ..Words::default()
        }
    }

    #[test]
    fn words_are_read_as_on_the_command_line() {
        let pause = order("pause", &words("30s", None));
        let lease_ns = 30_000_000_000;
        assert_eq!(pause, Ok(Order::Pause { lease_ns }));
        let off = order("record", &words("", Some(false)));
        assert_eq!(off, Ok(Order::Record { on: false }));
        let capped = |cap: &str| {
            let words = Words {
                cap: Some(cap.into()),
                ..Words::default()
            };
            order("overhead", &words)
        };
        let cap = "2%".parse().ok();
        assert_eq!(capped("2%"), Ok(Order::Overhead { cap }));
        assert_eq!(capped("off"), Ok(Order::Overhead { cap: None }));
        assert!(capped("").is_err() && order("overhead", &Words::default()).is_err());
        let sampling = order("sampling", &words("", None));
        assert_eq!(sampling, Ok(Order::Sampling(Sampling::perf(1000))));
        assert!(matches!(
            order("analyses", &words("", Some(true))),
            Ok(Order::Analyses { on: true, .. })
        ));
    }

    #[test]
    fn rules_come_behind_others_or_replace_them() {
        for replace in [false, true] {
            let words = Words {
                replace,
                ..words("", None)
            };
            let Ok(Order::Select(selection)) = order("selection", &words) else {
                panic!("no selection");
            };
            assert_eq!(selection.replaces, replace);
            assert_eq!(selection.text(), "exclude a; include b");
        }
        let file = Words {
            rules: Some("@/etc/passwd".into()),
            ..Words::default()
        };
        for words in [file, Words::default()] {
            assert!(order("selection", &words).is_err());
        }
    }

    #[test]
    fn metrics_are_given_with_the_time_between_readings() {
        let given = |names: &str, every: Option<&str>| {
            let words = Words {
                names: names.into(),
                every: every.map(str::to_owned),
                ..Words::default()
            };
            order("metrics", &words).map(|order| order.to_string())
        };
        let told = |text: &str| Ok(text.to_owned());
        assert_eq!(
            given("page-faults,cpu-time", Some("50ms")),
            told("cpu-time,page-faults every 50ms")
        );
        assert_eq!(given("cycles", None), told("cycles every 100ms"));
        assert_eq!(given("", Some("1s")), told("off"));
        for (names, every) in [("faults", None), ("cycles", Some("soon"))] {
            assert!(given(names, every).is_err(), "{names}");
        }
    }

    #[test]
    fn what_is_unclear_is_no_order() {
        assert!(order("record", &words("", None)).is_err());
        assert!(order("pause", &words("soon", None)).is_err());
        assert!(order("sampling", &Words::default()).is_err());
        let unknown = order("explode", &words("", None)).expect_err("no order");
        assert!(unknown.contains("pause, resume"), "{unknown}");
    }
}
