//! What a function table that was cut out of a job must hold: exactly those calls of the program's own log that lie in
//! the interval, and the parts of those that straddle its edges.
//!
//! A call of the log encloses the call that an observer sees: the program's clock is read before and after. So a
//! call whose log lies inside is inside, and one whose log lies outside is outside. Only calls whose log touches an
//! edge, or comes nearer to it than the clocks can tell, may go either way; a thread has one or two of these.

use crate::call_log::{Call, CallLog};
use crate::client::number;
use serde_json::Value;
use std::collections::BTreeMap;

/// Beyond the clocks' error: between the program's look at the clock and the observer's, on a busy machine.
const LOOKS_APART_NS: u64 = 200_000;

/// What becomes of a call that straddles an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Straddling {
    /// The part inside counts, and is marked.
    Clipped,
    /// It counts as a whole.
    Whole,
}

/// An edge, as a command was answered: somewhere in here on every rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Not before, in ns.
    pub earliest_ns: u64,
    /// Not after, in ns.
    pub latest_ns: u64,
    /// What becomes of calls that straddle it.
    pub straddling: Straddling,
}

impl Edge {
    /// Of a command's answer, under `pointer` (`/from` or `/to`), with the stated clock error on both sides.
    pub fn of(reply: &Value, pointer: &str, straddling: Straddling) -> Edge {
        let part = |name: &str| number(reply, &format!("{pointer}/{name}"));
        let error_ns = part("error_ns");
        Edge {
            earliest_ns: part("earliest_ns").saturating_sub(error_ns),
            latest_ns: part("latest_ns") + error_ns,
            straddling,
        }
    }

    /// A call's log touches it, or comes so near that nobody can tell.
    fn touches(&self, call: &Call) -> bool {
        call.begin_ns <= self.latest_ns && call.end_ns >= self.earliest_ns
    }

    /// A call surely began before it and ended after it.
    fn surely_straddled(&self, call: &Call) -> bool {
        call.begin_ns + LOOKS_APART_NS < self.earliest_ns && call.end_ns > self.latest_ns + LOOKS_APART_NS
    }
}

/// An interval that calls were recorded in; without an end it lasts to the end of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Where it begins.
    pub from: Edge,
    /// Where it ends.
    pub to: Option<Edge>,
}

/// A row of a function table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Calls.
    pub calls: u64,
    /// Time in them, in ns.
    pub time_ns: u64,
    /// Bytes that they sent.
    pub bytes: u64,
    /// Of the calls, those of which only a part counts.
    pub clipped: u64,
}

/// Rows by rank and function.
pub type Table = BTreeMap<(u32, String), Row>;

/// The rows by rank of an answer of `invivo functions --per-rank --json`.
pub fn table(answer: &Value) -> Table {
    let rows = answer["rank_rows"]
        .as_array()
        .unwrap_or_else(|| panic!("no rows by rank in {answer}"));
    assert_eq!(
        number(answer, "/rank_rows_total"),
        rows.len() as u64,
        "every row is there"
    );
    let row = |row: &Value| {
        let key = (
            number(row, "/rank") as u32,
            row["function"].as_str().expect("a name").to_owned(),
        );
        let value = Row {
            calls: number(row, "/calls"),
            time_ns: number(row, "/time_ns"),
            bytes: number(row, "/bytes_out"),
            clipped: number(row, "/clipped"),
        };
        (key, value)
    };
    rows.iter().map(row).collect()
}

/// What the log says of one function.
#[derive(Default)]
struct Expected<'a> {
    /// Whatever lies inside, and what surely straddles an edge.
    sure: Row,
    /// Calls that may go either way.
    unsure: Vec<&'a Call>,
    /// The longest that the time can be: the logs' own times enclose the calls.
    time_ns_max: u64,
}

impl Interval {
    /// How long a call's log is inside, at most.
    fn inside_ns(&self, call: &Call) -> u64 {
        let begin = match self.from.straddling {
            Straddling::Clipped => call.begin_ns.max(self.from.earliest_ns),
            Straddling::Whole => call.begin_ns,
        };
        let end = match self.to {
            Some(to) if to.straddling == Straddling::Clipped => call.end_ns.min(to.latest_ns),
            _ => call.end_ns,
        };
        end.saturating_sub(begin)
    }

    fn outside(&self, call: &Call) -> bool {
        call.end_ns < self.from.earliest_ns || self.to.is_some_and(|to| call.begin_ns > to.latest_ns)
    }

    fn expected<'a>(&self, log: &'a CallLog) -> BTreeMap<&'a str, Expected<'a>> {
        let mut functions: BTreeMap<&str, Expected<'a>> = BTreeMap::new();
        for call in log.calls.iter().filter(|call| !self.outside(call)) {
            let expected = functions.entry(call.function.as_str()).or_default();
            expected.time_ns_max += self.inside_ns(call);
            let edges = || [Some(self.from), self.to].into_iter().flatten();
            let touched: Vec<Edge> = edges().filter(|edge| edge.touches(call)).collect();
            if touched.iter().all(|edge| edge.surely_straddled(call)) {
                expected.sure.calls += 1;
                expected.sure.bytes += call.bytes;
                let clipped = touched.iter().any(|edge| edge.straddling == Straddling::Clipped);
                expected.sure.clipped += u64::from(clipped);
            } else {
                expected.unsure.push(call);
            }
        }
        functions
    }

    /// The table holds exactly what the logs have in this interval, of every rank.
    pub fn assert_held(&self, table: &Table, logs: &[CallLog]) {
        let mut compared = 0;
        for (rank, log) in logs.iter().enumerate() {
            let expected = self.expected(log);
            for ((_, function), _) in table.iter().filter(|((of, _), _)| *of == rank as u32) {
                assert!(
                    expected.contains_key(function.as_str()),
                    "rank {rank} has no call of {function} in {self:?}, the table has one"
                );
            }
            for (function, expected) in expected {
                let row = table
                    .get(&(rank as u32, function.to_owned()))
                    .copied()
                    .unwrap_or_default();
                expected
                    .assert_row(&row)
                    .unwrap_or_else(|why| panic!("rank {rank}, {function}: {why}; {row:?} in {self:?}"));
                compared += row.calls;
            }
        }
        assert!(compared > 0, "nothing was recorded in {self:?}");
    }
}

impl Expected<'_> {
    fn assert_row(&self, row: &Row) -> Result<(), String> {
        let sure = &self.sure;
        assert!(
            self.unsure.len() <= 8,
            "too many calls may go either way for a comparison: {}",
            self.unsure.len()
        );
        // Some choice of the unsure calls must explain the row: the right number, and the right sum of bytes.
        let explained = (0_u32..1 << self.unsure.len()).any(|choice| {
            let chosen = self
                .unsure
                .iter()
                .enumerate()
                .filter(|(bit, _)| choice >> bit & 1 == 1)
                .map(|(_, call)| call);
            let bytes: u64 = chosen.map(|call| call.bytes).sum();
            let calls = u64::from(choice.count_ones());
            row.calls == sure.calls + calls && row.bytes == sure.bytes + bytes
        });
        if !explained {
            return Err(format!(
                "the log has {} calls with {} bytes, and {:?}, which may go either way",
                sure.calls, sure.bytes, self.unsure
            ));
        }
        let clipped_max = sure.clipped + row.calls - sure.calls;
        if row.clipped < sure.clipped || row.clipped > clipped_max {
            return Err(format!("{} to {clipped_max} calls were clipped", sure.clipped));
        }
        if row.time_ns > self.time_ns_max {
            return Err(format!("the log has {} ns at most", self.time_ns_max));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(begin_ns: u64, end_ns: u64, bytes: u64) -> Call {
        Call {
            function: "MPI_Send".into(),
            begin_ns,
            end_ns,
            bytes,
        }
    }

    const MS: u64 = 1_000_000;

    /// 10 ms to 20 ms, each known to 10 us, and a log of calls with 1, 2, 4, ... bytes: one outside, one that straddles
    /// the beginning, two inside, one that straddles the end, one outside.
    fn example() -> (Interval, Vec<CallLog>) {
        let edge = |at_ns: u64| Edge {
            earliest_ns: at_ns - 10_000,
            latest_ns: at_ns + 10_000,
            straddling: Straddling::Clipped,
        };
        let interval = Interval {
            from: edge(10 * MS),
            to: Some(edge(20 * MS)),
        };
        let calls = vec![
            call(MS, 2 * MS, 1),
            call(9 * MS, 11 * MS, 2),
            call(12 * MS, 13 * MS, 4),
            call(14 * MS, 15 * MS, 8),
            call(19 * MS, 21 * MS, 16),
            call(22 * MS, 23 * MS, 32),
        ];
        (interval, vec![CallLog { calls }])
    }

    fn row(calls: u64, bytes: u64, clipped: u64, time_ns: u64) -> Table {
        let row = Row {
            calls,
            time_ns,
            bytes,
            clipped,
        };
        Table::from([((0, "MPI_Send".to_owned()), row)])
    }

    #[test]
    fn exactly_what_lies_inside_is_accepted() {
        let (interval, logs) = example();
        interval.assert_held(&row(4, 30, 2, 4 * MS), &logs);
    }

    #[test]
    #[should_panic(expected = "may go either way")]
    fn a_call_from_before_is_refused() {
        let (interval, logs) = example();
        interval.assert_held(&row(5, 31, 2, 4 * MS), &logs);
    }

    #[test]
    #[should_panic(expected = "may go either way")]
    fn a_call_in_the_place_of_another_is_refused() {
        let (interval, logs) = example();
        interval.assert_held(&row(4, 2 + 4 + 16 + 32, 2, 4 * MS), &logs);
    }

    #[test]
    #[should_panic(expected = "were clipped")]
    fn a_call_that_is_not_marked_is_refused() {
        let (interval, logs) = example();
        interval.assert_held(&row(4, 30, 1, 4 * MS), &logs);
    }

    #[test]
    #[should_panic(expected = "ns at most")]
    fn time_from_outside_is_refused() {
        let (interval, logs) = example();
        interval.assert_held(&row(4, 30, 2, 5 * MS), &logs);
    }

    #[test]
    fn a_call_at_the_edge_may_go_either_way() {
        let (interval, mut logs) = example();
        logs[0].calls[1] = call(9 * MS, 10 * MS, 2);
        interval.assert_held(&row(4, 30, 2, 3 * MS), &logs);
        interval.assert_held(&row(3, 28, 1, 3 * MS), &logs);
    }
}
