//! Rates between snapshots, as many of them as a wide terminal can show.

use invivo_grpc::v1::Snapshot;
use invivo_report::functions::observed_mpi_ns;
use invivo_report::recording::span_ns;
use std::collections::VecDeque;

/// Rates kept: more columns than terminals have.
pub const SAMPLES_MAX: usize = 512;

/// What happened between two snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Calls entered per second; nothing where it cannot be told (the gateway was restarted).
    pub calls_per_s: Option<f64>,
    /// Share of the ranks' time that they spent in MPI calls that ended, 0 to 1; nothing where it
    /// cannot be told (a reset lies between).
    pub mpi_share: Option<f64>,
}

/// The newest rates, oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    samples: VecDeque<Sample>,
}

impl History {
    /// Takes note of a snapshot and the one before.
    pub fn note(&mut self, before: &Snapshot, after: &Snapshot) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back(sample(before, after));
    }

    /// The newest `count` rates, oldest first.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = &Sample> {
        self.samples
            .iter()
            .skip(self.samples.len().saturating_sub(count))
    }

    /// The newest.
    pub fn last(&self) -> Sample {
        self.samples.back().copied().unwrap_or_default()
    }
}

fn sample(before: &Snapshot, after: &Snapshot) -> Sample {
    let entered = |snapshot: &Snapshot| {
        snapshot
            .coverage
            .as_ref()?
            .ledger
            .map(|ledger| ledger.entered)
    };
    let span = |snapshot: &Snapshot| snapshot.status.as_ref().map(span_ns);
    // Counters only fall where a reset or another gateway lies between: then there is no rate.
    let difference = |of: &dyn Fn(&Snapshot) -> Option<u64>| of(after)?.checked_sub(of(before)?);
    let ns = difference(&|snapshot| Some(snapshot.unix_ns)).filter(|ns| *ns > 0);
    let calls_per_s = difference(&entered)
        .zip(ns)
        .map(|(calls, ns)| calls as f64 * 1e9 / ns as f64);
    let in_mpi = difference(&|snapshot| Some(observed_mpi_ns(&snapshot.functions)));
    let ranks = after
        .coverage
        .as_ref()
        .map_or(0, |coverage| coverage.ranks_reporting);
    let rank_ns = difference(&span)
        .map(|ns| ns as f64 * f64::from(ranks))
        .filter(|ns| *ns > 0.0);
    Sample {
        calls_per_s,
        // A long call counts as a whole when it ends, so the share may exceed the interval.
        mpi_share: in_mpi
            .zip(rank_ns)
            .map(|(in_mpi, rank_ns)| (in_mpi as f64 / rank_ns).min(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{Coverage, FunctionRow, JobStatus, Ledger};

    fn snapshot(seconds: u64, entered: u64, mpi_ns: u64) -> Snapshot {
        let row = FunctionRow {
            function: "MPI_Recv".into(),
            time_ns: mpi_ns,
            ..FunctionRow::default()
        };
        Snapshot {
            unix_ns: 7_000_000_000 + seconds * 1_000_000_000,
            coverage: Some(Coverage {
                ranks: 4,
                ranks_reporting: 4,
                ledger: Some(Ledger {
                    entered,
                    ..Ledger::default()
                }),
                ..Coverage::default()
            }),
            status: Some(JobStatus {
                observed_ns: seconds * 1_000_000_000,
                ..JobStatus::default()
            }),
            functions: vec![row],
            ..Snapshot::default()
        }
    }

    #[test]
    fn rates_are_differences_over_time() {
        let sample = sample(
            &snapshot(1, 100, 1_000_000_000),
            &snapshot(3, 1100, 5_000_000_000),
        );
        assert_eq!(
            (sample.calls_per_s, sample.mpi_share),
            (Some(500.0), Some(0.5))
        );
    }

    #[test]
    fn what_went_back_has_no_rate() {
        let reset = sample(&snapshot(1, 100, 9), &snapshot(2, 200, 3));
        assert_eq!((reset.calls_per_s, reset.mpi_share), (Some(100.0), None));
        let restarted = sample(&snapshot(5, 100, 1), &snapshot(5, 100, 1));
        assert_eq!(restarted, Sample::default());
    }

    #[test]
    fn only_the_newest_are_kept() {
        let mut history = History::default();
        for second in 0..2 * SAMPLES_MAX as u64 {
            history.note(
                &snapshot(second, 0, 0),
                &snapshot(second + 1, 10 * (second + 1), 0),
            );
        }
        assert_eq!(history.newest(usize::MAX).count(), SAMPLES_MAX);
        assert_eq!(
            history.last().calls_per_s,
            Some(10.0 * 2.0 * SAMPLES_MAX as f64)
        );
        assert_eq!(history.newest(3).count(), 3);
    }
}
