//! Checks a function table that was cut out of a job against the program's own log of its calls.
//!
//! The table must have exactly those calls of the log that lie in the interval, and the parts
//! inside of those that straddle its edges.
//!
//! A call of the log encloses the call that an observer sees: the program's clock is read before
//! and after. So a call whose log lies inside is inside, and one whose log lies outside is outside.
//! Where exactly an edge lay on a rank is known as well as the clocks agree; but it is one moment,
//! so the calls of a rank (it has one thread) that were recorded are one piece of its log, which
//! begins and ends at an edge.

use crate::clients::number;
use crate::logs::call_log::{Call, CallLog};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Between the program's reading of its clock and the observer's, on a busy machine, beyond the
/// error of the clocks.
const READINGS_APART_NS: u64 = 200_000;
/// The largest clock error that a place may state. On a quiet machine it is some microseconds; a
/// place that is not scheduled when its question is answered takes the wait for a part of the way,
/// and time slices of a machine with several times as many processes as cores are some
/// milliseconds. With more than this a comparison would prove little.
const ERROR_NS_MAX: u64 = 20_000_000;
/// The farthest that an edge may lie apart on two places: 0 where all places knew of it in time. A
/// place that was not scheduled for so long cuts when it hears of the edge.
const APART_NS_MAX: u64 = 400_000_000;

/// How a call that straddles an edge counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Straddling {
    /// The part inside counts, and is marked.
    Clipped,
    /// The whole call counts.
    Whole,
}

/// An edge of an interval: on every rank it lies between these two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub earliest_ns: u64,
    pub latest_ns: u64,
    pub straddling: Straddling,
}

impl Edge {
    /// Reads an edge from a command's answer at `pointer` (`/from` or `/to`), and widens it by the
    /// stated clock error on both sides.
    pub fn of(reply: &Value, pointer: &str, straddling: Straddling) -> Edge {
        let part = |name: &str| number(reply, &format!("{pointer}/{name}"));
        let (earliest_ns, latest_ns) = (part("earliest_ns"), part("latest_ns"));

        let error_ns = part("error_ns");
        assert!(
            error_ns < ERROR_NS_MAX && latest_ns - earliest_ns < APART_NS_MAX,
            "an edge that is not known well enough to compare anything: {reply}"
        );
        Edge {
            earliest_ns: earliest_ns.saturating_sub(error_ns),
            latest_ns: latest_ns + error_ns,
            straddling,
        }
    }

    /// Whether a call began before the edge and ended after it, whatever the clocks' error.
    fn surely_straddled(&self, call: &Call) -> bool {
        call.begin_ns + READINGS_APART_NS < self.earliest_ns
            && call.end_ns > self.latest_ns + READINGS_APART_NS
    }

    /// The first and the last index at which the edge may cut a log.
    fn cuts(&self, calls: &[Call]) -> (usize, usize) {
        // Both bounds include calls that touch the edge: whether they are inside is for
        // `has_exactly` to find out.
        let before = calls.partition_point(|call| call.end_ns < self.earliest_ns);
        let not_after = calls.partition_point(|call| call.begin_ns <= self.latest_ns);
        (before, not_after)
    }
}

/// An interval in which calls were recorded; without `to` it lasts to the end of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub from: Edge,
    pub to: Option<Edge>,
}

/// The calls of one function on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableRow {
    pub calls: u64,
    pub time_ns: u64,
    /// Bytes that the calls sent.
    pub bytes: u64,
    /// Of the calls, those of which only a part counts.
    pub clipped: u64,
}

/// Rows by rank and function.
pub type Table = BTreeMap<(u32, String), TableRow>;

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
        let value = TableRow {
            calls: number(row, "/calls"),
            time_ns: number(row, "/time_ns"),
            bytes: number(row, "/bytes_out"),
            clipped: number(row, "/clipped"),
        };
        (key, value)
    };
    rows.iter().map(row).collect()
}

impl Interval {
    /// The longest time that a logged call may lie inside, in ns.
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

    /// The time that a logged call lies inside for certain, in ns.
    fn surely_inside_ns(&self, call: &Call) -> u64 {
        // The narrowest interval that the edges allow.
        let end = self
            .to
            .map_or(call.end_ns, |to| call.end_ns.min(to.earliest_ns));
        end.saturating_sub(call.begin_ns.max(self.from.latest_ns))
    }

    /// Checks that the table has exactly what the logs have in this interval, of every rank.
    pub fn assert_matches(&self, table: &Table, logs: &[CallLog]) {
        for (rank, log) in logs.iter().enumerate() {
            let of_rank = table.iter().filter(|((of, _), _)| *of == rank as u32);
            let rows: BTreeMap<&str, TableRow> = of_rank
                .map(|((_, function), row)| (function.as_str(), *row))
                .collect();

            let calls = rows.values().map(|row| row.calls).sum::<u64>() as usize;
            assert!(calls > 0, "nothing was recorded of rank {rank} in {self:?}");

            // The table does not say where its calls lie in the log: every piece of their number
            // that begins where the edge may lie is tried.
            let (first, last) = self.from.cuts(&log.calls);
            let mut why = Vec::new();
            let held = (first..=last).any(|begin| {
                let tried = self
                    .piece(&log.calls, begin, calls)
                    .and_then(|piece| piece.has_exactly(&rows));
                tried.map_err(|error| why.push(error)).is_ok()
            });

            assert!(
                held,
                "rank {rank}: no piece of its log is what the table has in {self:?}; \
                 from the first to the last that might be: {why:#?}"
            );
        }
    }

    /// The piece of `length` calls from `begin` on.
    fn piece<'a>(
        &'a self,
        calls: &'a [Call],
        begin: usize,
        length: usize,
    ) -> Result<Piece<'a>, String> {
        let end = begin + length;
        let (first_end, last_end) = self
            .to
            .map_or((calls.len(), calls.len()), |to| to.cuts(calls));

        if end < first_end || end > last_end {
            return Err(format!(
                "the table has {length} calls, the log {} to {}",
                first_end - begin.min(first_end),
                last_end - begin.min(last_end)
            ));
        }
        Ok(Piece {
            interval: self,
            before: calls[..begin].last(),
            calls: &calls[begin..end],
            after: calls.get(end),
        })
    }
}

/// A piece of a rank's log.
struct Piece<'a> {
    interval: &'a Interval,
    before: Option<&'a Call>,
    calls: &'a [Call],
    after: Option<&'a Call>,
}

impl Piece<'_> {
    /// Checks that the rows are this piece: the same calls of every function, with the same bytes,
    /// no more time than the log has, and marked where they are clipped. In all no less than half
    /// of the log's time: what the program logs beyond its calls is a part of a microsecond each,
    /// and many of its calls wait for others.
    fn has_exactly(&self, rows: &BTreeMap<&str, TableRow>) -> Result<(), String> {
        let from = self.interval.from;
        // A call across an edge must be in the piece whatever the edge's exact place.
        if self.before.is_some_and(|call| from.surely_straddled(call)) {
            return Err("a call that straddles the beginning is missing".to_owned());
        }
        if self
            .interval
            .to
            .zip(self.after)
            .is_some_and(|(to, call)| to.surely_straddled(call))
        {
            return Err("a call that straddles the end is missing".to_owned());
        }

        let mut own: BTreeMap<&str, (TableRow, u64)> = BTreeMap::new();
        for call in self.calls {
            let (row, clipped_max) = own.entry(call.function.as_str()).or_default();
            row.calls += 1;
            row.bytes += call.bytes;
            row.time_ns += self.interval.inside_ns(call);

            let edges = [Some(from), self.interval.to];
            let clips = |edge: &Edge| edge.straddling == Straddling::Clipped;
            let clipping = || edges.into_iter().flatten().filter(clips);

            let touches =
                |edge: Edge| call.begin_ns <= edge.latest_ns && call.end_ns >= edge.earliest_ns;
            row.clipped += u64::from(clipping().any(|edge| edge.surely_straddled(call)));
            *clipped_max += u64::from(clipping().any(touches));
        }

        let functions: BTreeSet<&str> = own.keys().chain(rows.keys()).copied().collect();
        for function in functions {
            let (log, clipped_max) = own.get(function).copied().unwrap_or_default();
            let row = rows.get(function).copied().unwrap_or_default();
            if (row.calls, row.bytes) != (log.calls, log.bytes) {
                return Err(format!(
                    "{function}: the log has {log:?}, the table {row:?}"
                ));
            }
            // Whether an edge cuts a call near it is not known: clipped calls have only bounds.
            if row.clipped < log.clipped || row.clipped > clipped_max {
                return Err(format!(
                    "{function}: {} to {clipped_max} calls are clipped, the table has {}",
                    log.clipped, row.clipped
                ));
            }
            if row.time_ns > log.time_ns {
                return Err(format!(
                    "{function}: the log has {} ns, the table {}",
                    log.time_ns, row.time_ns
                ));
            }
        }

        let inside_ns: u64 = self
            .calls
            .iter()
            .map(|call| self.interval.surely_inside_ns(call))
            .sum();

        let time_ns: u64 = rows.values().map(|row| row.time_ns).sum();
        if 2 * time_ns < inside_ns {
            return Err(format!(
                "the log has at least {inside_ns} ns, the table {time_ns}"
            ));
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

    /// 10 ms to 20 ms, each known to 10 us, and a log of calls with 1, 2, 4, ... bytes: one
    /// outside, one that straddles the beginning, two inside, one that straddles the end, one
    /// outside.
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
        let row = TableRow {
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
        interval.assert_matches(&row(4, 30, 2, 4 * MS), &logs);
    }

    #[test]
    #[should_panic(expected = "no piece of its log")]
    fn a_call_from_before_is_refused() {
        let (interval, logs) = example();
        interval.assert_matches(&row(5, 31, 2, 4 * MS), &logs);
    }

    #[test]
    #[should_panic(expected = "no piece of its log")]
    fn a_call_in_the_place_of_another_is_refused() {
        let (interval, logs) = example();
        interval.assert_matches(&row(4, 2 + 4 + 16 + 32, 2, 4 * MS), &logs);
    }

    #[test]
    #[should_panic(expected = "2 to 2 calls are clipped")]
    fn a_call_that_is_not_marked_is_refused() {
        let (interval, logs) = example();
        interval.assert_matches(&row(4, 30, 1, 4 * MS), &logs);
    }

    #[test]
    #[should_panic(expected = "the log has 4020000 ns")]
    fn time_from_outside_is_refused() {
        let (interval, logs) = example();
        interval.assert_matches(&row(4, 30, 2, 5 * MS), &logs);
    }

    #[test]
    #[should_panic(expected = "the log has at least 3980000 ns, the table 1000000")]
    fn time_that_is_missing_is_refused() {
        let (interval, logs) = example();
        interval.assert_matches(&row(4, 30, 2, MS), &logs);
    }

    #[test]
    #[should_panic(expected = "not known well enough")]
    fn an_edge_that_may_lie_anywhere_is_refused() {
        let from = serde_json::json!({
            "earliest_ns": "50", "latest_ns": "50", "error_ns": "1000000000"
        });
        let reply = serde_json::json!({ "from": from });
        Edge::of(&reply, "/from", Straddling::Clipped);
    }

    #[test]
    fn a_call_at_the_edge_may_go_either_way() {
        let (interval, mut logs) = example();
        logs[0].calls[1] = call(9 * MS, 10 * MS, 2);
        interval.assert_matches(&row(4, 30, 2, 3 * MS), &logs);
        interval.assert_matches(&row(3, 28, 1, 3 * MS), &logs);
    }
}
