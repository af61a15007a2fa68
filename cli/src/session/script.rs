//! The steps of a session, and their plan as text and as JSON.

use super::comparison::Comparison;
use super::field::Kind;
use crate::steer;
use invivo_grpc::v1::{RankCounts, RankState};
use invivo_proto::control::order::Order;
use invivo_report::units::counted;
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::time::Duration;

/// How long a step may take unless another time is asked for, beside the time that it has to take.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);
/// Steps that a session may carry out, rounds of loops counted: their results are kept until its
/// end.
pub const STEPS_MAX: u64 = 1_000;

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// What it is called; the file's name otherwise.
    pub name: Option<String>,
    /// In this order.
    pub steps: Vec<Step>,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it is called, if it has a name.
    pub name: Option<String>,
    /// Its line in the file, counted from 1.
    pub line: usize,
    /// The longest that it may take. A loop without has only its steps'.
    pub timeout: Option<Duration>,
    /// What is done.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Lets time pass or something happen.
    Wait(Wait),
    /// Steers.
    Order(Order),
    /// Asks, and keeps the answer.
    Query(Kind),
    /// Holds the last answer against what is expected.
    Assert(Comparison),
    /// Saves what the buffers hold to a new directory.
    Save(PathBuf),
    /// Does steps several times.
    Loop {
        /// How often.
        times: u32,
        /// What.
        steps: Vec<Step>,
    },
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq)]
pub enum Wait {
    /// So long.
    Time(Duration),
    /// Ranks in a state.
    State {
        /// Which.
        state: State,
        /// How many at least; nothing is all.
        ranks: Option<u32>,
    },
    /// A comparison holds.
    Until(Kind, Comparison),
    /// The job is over, or its measurement.
    JobEnd,
}

/// A state of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(pub RankState);

/// States by the names that a file has for them.
pub const STATES: [(&str, RankState); 6] = [
    ("starting", RankState::Starting),
    ("computing", RankState::Computing),
    ("in-mpi", RankState::InMpi),
    ("paused", RankState::Paused),
    ("held", RankState::Held),
    ("finished", RankState::Finished),
];

impl State {
    /// How many ranks are in it.
    pub fn of(self, counts: &RankCounts) -> u32 {
        match self.0 {
            RankState::Starting => counts.starting,
            RankState::Computing => counts.computing,
            RankState::InMpi => counts.in_mpi,
            RankState::Paused => counts.paused,
            RankState::Held => counts.held,
            RankState::Finished => counts.finished,
            RankState::Unspecified => 0,
        }
    }
}

impl Display for State {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let name = STATES.iter().find(|(_, state)| *state == self.0);
        f.write_str(name.map_or("unknown", |(name, _)| name))
    }
}

impl Action {
    /// The word for it in files and results.
    pub fn word(&self) -> &'static str {
        match self {
            Action::Wait(_) => "wait",
            Action::Order(Order::Record { .. } | Order::Window { .. }) => "record",
            Action::Order(order) => order.name(),
            Action::Query(_) => "query",
            Action::Assert(_) => "assert",
            Action::Save(_) => "save",
            Action::Loop { .. } => "loop",
        }
    }

    /// The time that it takes at least.
    pub fn length(&self) -> Duration {
        match self {
            Action::Wait(Wait::Time(time)) => *time,
            Action::Order(Order::Window { length_ns }) => Duration::from_nanos(*length_ns),
            _ => Duration::ZERO,
        }
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Action::Wait(Wait::Time(time)) => write!(f, "wait {}", plain(*time)),
            Action::Wait(Wait::State { state, ranks: None }) => {
                write!(f, "wait until all ranks are {state}")
            }
            Action::Wait(Wait::State {
                state,
                ranks: Some(ranks),
            }) => write!(
                f,
                "wait until {} are {state}",
                counted((*ranks).into(), "rank")
            ),
            Action::Wait(Wait::Until(_, comparison)) => write!(f, "wait until {comparison}"),
            Action::Wait(Wait::JobEnd) => f.write_str("wait for the end of the job"),
            Action::Order(Order::Pause { lease_ns }) => {
                write!(
                    f,
                    "pause for {} at most",
                    plain(Duration::from_nanos(*lease_ns))
                )
            }
            Action::Order(Order::Hold { lease_ns }) => {
                write!(
                    f,
                    "hold for {} at most",
                    plain(Duration::from_nanos(*lease_ns))
                )
            }
            Action::Order(Order::Record { on }) => {
                write!(f, "record {}", if *on { "on" } else { "off" })
            }
            Action::Order(Order::Window { length_ns }) => {
                write!(f, "record for {}", plain(Duration::from_nanos(*length_ns)))
            }
            Action::Order(Order::Sampling(sampling)) if !sampling.is_on() => {
                write!(f, "end sampling")
            }
            Action::Order(order @ Order::Sampling(_)) => write!(f, "sample at {order}"),
            Action::Order(Order::Strategy { strategy }) => write!(f, "keep by {strategy}"),
            Action::Order(Order::Analyses { these, on }) => {
                write!(f, "switch {these} {}", if *on { "on" } else { "off" })
            }
            Action::Order(Order::Select(selection)) if steer::is_all(selection) => {
                f.write_str("record all regions and functions")
            }
            Action::Order(Order::Select(selection)) => {
                write!(f, "select by {}", steer::rules(selection))
            }
            Action::Order(Order::Metrics(measured)) if measured.set.is_empty() => {
                f.write_str("measure no metrics")
            }
            Action::Order(Order::Metrics(measured)) => write!(f, "measure {measured}"),
            Action::Order(Order::Overhead { cap: Some(cap) }) => {
                write!(f, "keep the overhead below {cap}")
            }
            Action::Order(Order::Overhead { cap: None }) => f.write_str("cap no overhead"),
            Action::Order(order) => f.write_str(order.name()),
            Action::Query(kind) => write!(f, "query {}", kind.name()),
            Action::Assert(comparison) => write!(f, "assert {comparison}"),
            Action::Save(dir) => write!(f, "save to {}", dir.display()),
            Action::Loop { times, .. } => write!(f, "loop {}", counted((*times).into(), "time")),
        }
    }
}

/// A time as a file would say it.
pub fn plain(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

impl Step {
    /// Its name, or what it does.
    pub fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.action.to_string())
    }
}

/// A step as a dry run shows it to programs.
#[derive(Serialize)]
struct Planned<'a> {
    step: String,
    line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    action: &'static str,
    does: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ns: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Planned<'a>>,
}

fn planned<'a>(steps: &'a [Step], above: &str) -> Vec<Planned<'a>> {
    let one = |(at, step): (usize, &'a Step)| {
        let number = number(above, at);
        Planned {
            line: step.line,
            name: step.name.as_deref(),
            action: step.action.word(),
            does: step.action.to_string(),
            timeout_ns: step
                .timeout
                // u64 nanoseconds are 584 years: longer times need no exact number.
                .map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
            steps: match &step.action {
                Action::Loop { steps, .. } => planned(steps, &number),
                _ => Vec::new(),
            },
            step: number,
        }
    };
    steps.iter().enumerate().map(one).collect()
}

/// The number of a step below another: `2.1` is the first below the second.
pub fn number(above: &str, at: usize) -> String {
    if above.is_empty() {
        (at + 1).to_string()
    } else {
        format!("{above}.{}", at + 1)
    }
}

impl Script {
    /// What would be done, a line per step.
    pub fn plan_text(&self) -> String {
        fn lines(steps: &[Planned<'_>], depth: usize, text: &mut String) {
            for step in steps {
                let timeout = step.timeout_ns.map_or_else(String::new, |ns| {
                    format!("  (within {})", plain(Duration::from_nanos(ns)))
                });
                let name = step
                    .name
                    .map_or_else(String::new, |name| format!("{name}: "));
                let indent = "  ".repeat(depth);
                text.push_str(&format!(
                    "{indent}{}  {name}{}{timeout}\n",
                    step.step, step.does
                ));
                lines(&step.steps, depth + 1, text);
            }
        }
        let mut text = String::new();
        lines(&planned(&self.steps, ""), 0, &mut text);
        text
    }

    /// What would be done, for programs.
    pub fn plan_json(&self) -> serde_json::Value {
        serde_json::json!({ "session": self.name, "steps": planned(&self.steps, "") })
    }
}
