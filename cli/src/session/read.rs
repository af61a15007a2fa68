//! Reads a session from the text of its file.

mod comparison;
mod reader;
mod selection;

use super::check::check;
use super::field::{Field, Kind};
use super::script::{Action, STATES, Script, State, Step, TIMEOUT_DEFAULT, Wait};
use comparison::COMPARISON_KEYS;
use invivo_config::toml_file::{FileError, Source, get};
use invivo_config::{Overhead, Sampling, Time, Value};
use invivo_proto::control::analyses::AnalysisSet;
use invivo_proto::control::order::{LEASE_DEFAULT_NS, Order};
use reader::{Read, Reader, Spot};
use std::time::Duration;
use toml::de::{DeTable, DeValue};

/// What a step can do, each a key of it.
pub(super) const ACTIONS: [&str; 17] = [
    "wait",
    "pause",
    "resume",
    "hold",
    "reset",
    "record",
    "strategy",
    "analyses",
    "sampling",
    "selection",
    "metrics",
    "overhead",
    "query",
    "assert",
    "save",
    "loop",
    "shutdown",
];

/// Reads a session and checks that it makes sense.
///
/// # Errors
/// What is wrong first, with its line.
pub fn read(source: &Source<'_>) -> Read<Script> {
    let table = source.table()?;
    let reader = Reader { source };
    reader.known(&table, "key", &["name", "timeout", "step"])?;
    let timeout = match get(&table, "timeout") {
        Some(value) => reader.parsed(value, "timeout", Time::parse)?.0,
        None => TIMEOUT_DEFAULT,
    };
    let Some(steps) = get(&table, "step") else {
        return Err(source.error(0, "there is no step; begin each with a line [[step]]"));
    };
    let script = Script {
        name: get(&table, "name")
            .map(|value| reader.text(value, "name"))
            .transpose()?,
        steps: reader.steps(steps, timeout)?,
    };
    check(&script.steps).map_err(|(line, what)| FileError {
        path: source.path.to_owned(),
        line,
        what,
    })?;
    Ok(script)
}

impl Reader<'_> {
    fn steps(&self, value: Spot<'_, '_>, timeout: Duration) -> Read<Vec<Step>> {
        let wanted = "steps, each beginning with a line [[step]]";
        let steps = value
            .get_ref()
            .as_array()
            .ok_or_else(|| self.wrong(value, "step", wanted))?;
        if steps.is_empty() {
            return Err(self.error(&value.span(), "there is no step"));
        }
        steps.iter().map(|step| self.step(step, timeout)).collect()
    }

    fn step(&self, step: Spot<'_, '_>, timeout_default: Duration) -> Read<Step> {
        let table = self.table(step, "step", "a table")?;
        let mut known = ACTIONS.to_vec();
        known.extend(["name", "timeout", "step"]);
        self.known(table, "action or key", &known)?;
        let mut actions = table
            .iter()
            .filter(|(key, _)| ACTIONS.contains(&key.get_ref().as_ref()));
        let Some((key, value)) = actions.next() else {
            let what = format!(
                "this step does nothing; give it one of: {}",
                ACTIONS.join(", ")
            );
            return Err(self.error(&step.span(), what));
        };
        // TOML tables have no order, so two actions in one step could run either way.
        if let Some((other, _)) = actions.next() {
            let what = format!(
                "a step does one thing: make `{}` a step of its own",
                other.get_ref()
            );
            return Err(self.error(&other.span(), what));
        }
        if let Some(inner) = get(table, "step").filter(|_| key.get_ref() != "loop") {
            return Err(self.error(&inner.span(), "only a loop has steps of its own"));
        }
        let action = self.action(key.get_ref(), value, table, timeout_default)?;
        let given = match get(table, "timeout") {
            Some(value) => Some((value, self.parsed(value, "timeout", Time::parse)?.0)),
            None => None,
        };
        let length = action.length();
        let timeout = match given {
            Some((value, time)) if time < length => {
                return Err(self.error(
                    &value.span(),
                    "the step takes longer than that; it could never pass",
                ));
            }
            Some((_, time)) => Some(time),
            // A loop takes as long as its steps.
            None if matches!(action, Action::Loop { .. }) => None,
            // A wait of an hour is no step that hangs: the time that it must take comes on top.
            None => Some(timeout_default.saturating_add(length)),
        };
        Ok(Step {
            name: get(table, "name")
                .map(|value| self.text(value, "name"))
                .transpose()?,
            line: self.source.line(key.span().start),
            timeout,
            action,
        })
    }

    fn action(
        &self,
        key: &str,
        value: Spot<'_, '_>,
        step: &DeTable<'_>,
        timeout: Duration,
    ) -> Read<Action> {
        Ok(match key {
            "wait" => Action::Wait(self.wait(value)?),
            "pause" => Action::Order(Order::Pause {
                lease_ns: self.lease_ns(value, key)?,
            }),
            "hold" => Action::Order(Order::Hold {
                lease_ns: self.lease_ns(value, key)?,
            }),
            "record" => Action::Order(self.record(value)?),
            "sampling" => {
                Action::Order(Order::Sampling(self.parsed(value, key, Sampling::parse)?))
            }
            "strategy" => Action::Order(Order::Strategy {
                strategy: self.parsed(value, key, Value::parse)?,
            }),
            "analyses" => Action::Order(self.analyses(value)?),
            "selection" => Action::Order(self.selection(value)?),
            "metrics" => Action::Order(Order::Metrics(self.parsed(value, key, Value::parse)?)),
            "overhead" => {
                let Overhead(cap) = self.parsed(value, key, Value::parse)?;
                Action::Order(Order::Overhead { cap })
            }
            "query" => Action::Query(self.choice(
                value,
                "query",
                &Kind::ALL.map(|kind| (kind.name(), kind)),
            )?),
            "assert" => {
                let table = self.table(
                    value,
                    key,
                    "a table as { field = \"calls\", op = \">\", value = 100 }",
                )?;
                self.known(table, "key of an assertion", &COMPARISON_KEYS)?;
                Action::Assert(self.comparison(value, table)?)
            }
            "save" => Action::Save(self.text(value, key)?.into()),
            "loop" => self.rounds(value, step, timeout)?,
            // The other actions have no argument: `true` is all that can stand there.
            _ if value.get_ref().as_bool() != Some(true) => {
                return Err(self.error(
                    &value.span(),
                    format!("write {key} = true, or leave the step away"),
                ));
            }
            "resume" => Action::Order(Order::Resume),
            "reset" => Action::Order(Order::Reset),
            _ => Action::Order(Order::Shutdown),
        })
    }

    fn rounds(&self, value: Spot<'_, '_>, step: &DeTable<'_>, timeout: Duration) -> Read<Action> {
        let times = self.number(value, "loop")?;
        if times == 0 {
            return Err(self.error(&value.span(), "a loop of no rounds; give 1 or more"));
        }
        let Some(steps) = get(step, "step") else {
            return Err(self.error(
                &value.span(),
                "this loop has no steps; begin each with a line [[step.step]]",
            ));
        };
        let steps = self.steps(steps, timeout)?;
        Ok(Action::Loop { times, steps })
    }

    /// `true` or a time.
    fn lease_ns(&self, value: Spot<'_, '_>, key: &str) -> Read<u64> {
        match value.get_ref() {
            DeValue::Boolean(true) => Ok(LEASE_DEFAULT_NS),
            DeValue::Boolean(false) => Err(self.error(
                &value.span(),
                format!("write {key} = true or a time, or leave the step away"),
            )),
            _ => Ok(self.parsed(value, key, Time::parse)?.ns()),
        }
    }

    fn record(&self, value: Spot<'_, '_>) -> Read<Order> {
        if value.get_ref().is_str() {
            let on = self.choice(value, "record", &[("on", true), ("off", false)])?;
            return Ok(Order::Record { on });
        }
        let table = self.table(value, "record", "\"on\", \"off\" or { for = \"2s\" }")?;
        self.known(table, "key of record", &["for"])?;
        match get(table, "for") {
            Some(length) => Ok(Order::Window {
                length_ns: self.parsed(length, "for", Time::parse)?.ns(),
            }),
            None => Err(self.error(
                &value.span(),
                "for how long? write record = { for = \"2s\" }",
            )),
        }
    }

    fn analyses(&self, value: Spot<'_, '_>) -> Read<Order> {
        let wanted = "{ on = \"messages\" } or { off = \"matrix\" }";
        let table = self.table(value, "analyses", wanted)?;
        self.known(table, "key of analyses", &["on", "off"])?;
        let (names, on) = match (get(table, "on"), get(table, "off")) {
            (Some(names), None) => (names, true),
            (None, Some(names)) => (names, false),
            _ => return Err(self.wrong(value, "analyses", wanted)),
        };
        let key = if on { "on" } else { "off" };
        let these: AnalysisSet = self.parsed(names, key, Value::parse)?;
        let checked = Order::Analyses { these, on }.checked();
        checked.map_err(|refused| self.error(&names.span(), refused.to_string()))
    }

    fn wait(&self, value: Spot<'_, '_>) -> Read<Wait> {
        if value.get_ref().as_str() == Some("job-end") {
            return Ok(Wait::JobEnd);
        }
        if value.get_ref().is_str() || value.get_ref().is_integer() || value.get_ref().is_float() {
            let time = self.parsed(value, "wait", Time::parse);
            return time.map(|time| Wait::Time(time.0)).map_err(|mut error| {
                error.what.push_str(", or \"job-end\"");
                error
            });
        }
        let wanted = "a time as \"2s\", \"job-end\", { state = \"computing\" } or \
            { field = \"calls\", op = \">\", value = 1000 }";
        let table = self.table(value, "wait", wanted)?;
        if let Some(state) = get(table, "state") {
            self.known(table, "key of waiting for a state", &["state", "ranks"])?;
            let state = State(self.choice(state, "state", &STATES)?);
            let ranks = get(table, "ranks")
                .map(|ranks| self.number(ranks, "ranks"))
                .transpose()?;
            return Ok(Wait::State { state, ranks });
        }
        let mut keys = COMPARISON_KEYS.to_vec();
        keys.push("state");
        self.known(table, "key of waiting", &keys)?;
        let comparison = self.comparison(value, table)?;
        // A wait has no query before it, so the field itself says which answer to watch.
        let kind = Field::kind(&comparison.field, &comparison.part).ok_or_else(|| {
            let what = format!(
                "`{}` is of the whole job: it has no part as this asks for",
                comparison.field
            );
            self.error(&value.span(), what)
        })?;
        Ok(Wait::Until(kind, comparison))
    }
}
