//! Rates between snapshots, as many of them as a wide terminal can show.

use invivo_grpc::v1::Snapshot;
use invivo_report::functions::{observed_mpi_ns, open_ns};
use invivo_report::recording::span_ns;
use std::collections::VecDeque;

/// Rates kept: more columns than terminals have.
pub const SAMPLES_MAX: usize = 512;
/// Of these the overhead is a mean.
const OVERHEAD_SAMPLES: usize = 6;

/// What happened between two snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Calls entered per second; nothing where it cannot be told (the gateway was restarted).
    pub calls_per_s: Option<f64>,
    /// Share of the ranks' time that they spent in MPI calls that ended, 0 to 1; nothing where it
    /// cannot be told (a reset lies between).
    pub mpi_share: Option<f64>,
    /// Time of the ranks in the measurement, and the processors that it takes from them, as a share
    /// of the ranks' time. Not since the start: starting costs more than the first seconds have.
    pub overhead: Option<f64>,
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
        let sample = match is_off(after) {
            // Nothing is known of calls of this time: their last rates stay.
            true => Sample {
                overhead: sample(before, after).overhead,
                ..self.last()
            },
            false => sample(before, after),
        };
        self.samples.push_back(sample);
    }

    /// The newest `count` rates, oldest first.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = &Sample> {
        self.samples
            .iter()
            .skip(self.samples.len().saturating_sub(count))
    }

    /// The overhead in the last seconds, in which tools tell what they took more than once.
    pub fn overhead(&self) -> Option<f64> {
        let known = || self.newest(OVERHEAD_SAMPLES).filter_map(|one| one.overhead);
        let count = known().count();
        (count > 0).then(|| known().sum::<f64>() / count as f64)
    }

    /// The newest.
    pub fn last(&self) -> Sample {
        self.samples.back().copied().unwrap_or_default()
    }
}

/// Whether no call is recorded now.
fn is_off(snapshot: &Snapshot) -> bool {
    let recording = snapshot.status.as_ref().and_then(|status| status.recording);
    recording.is_some_and(|recording| recording.on == 0 && recording.off > 0)
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
    let ended = difference(&|snapshot| Some(observed_mpi_ns(&snapshot.functions)));
    let open = |snapshot: &Snapshot| snapshot.status.as_ref().map_or(0.0, |s| open_ns(s) as f64);
    // What was open before is among the calls that ended, or goes on.
    let in_mpi = ended.map(|ended| (ended as f64 + open(after) - open(before)).max(0.0));
    let ranks = after
        .coverage
        .as_ref()
        .map_or(0, |coverage| coverage.ranks_reporting);
    let rank_ns = difference(&span)
        .map(|ns| ns as f64 * f64::from(ranks))
        .filter(|ns| *ns > 0.0);
    let ours = |snapshot: &Snapshot| {
        let coverage = snapshot.coverage.as_ref()?;
        Some(coverage.overhead_ns.saturating_add(coverage.displaced_ns))
    };
    let all_ns = ns.map(|ns| ns as f64 * f64::from(ranks));
    let overhead = difference(&ours).zip(all_ns.filter(|all_ns| *all_ns > 0.0));
    Sample {
        overhead: overhead.map(|(ours, all_ns)| ours as f64 / all_ns),
        calls_per_s,
        // A call of a rank that is not named counts as a whole when it ends, so the share may
        // exceed the interval.
        mpi_share: in_mpi
            .zip(rank_ns)
            .map(|(in_mpi, rank_ns)| (in_mpi / rank_ns).min(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_grpc::v1::{
        Coverage, FunctionRow, JobStatus, Ledger, RankState, RankStatus, RecordingStatus,
    };

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

    /// Starting costs more CPU time than the first seconds have.
    #[test]
    fn overhead_counts_what_ranks_lacked_from_now_on() {
        let with = |mut snapshot: Snapshot, overhead_ns, displaced_ns| {
            if let Some(coverage) = &mut snapshot.coverage {
                (coverage.overhead_ns, coverage.displaced_ns) = (overhead_ns, displaced_ns);
            }
            snapshot
        };
        let sample = sample(
            &with(snapshot(1, 0, 0), 0, 9_000_000_000),
            &with(snapshot(3, 0, 0), 40_000_000, 9_400_000_000),
        );
        assert_eq!(sample.overhead, Some(0.055));
    }

    #[test]
    fn what_went_back_has_no_rate() {
        let reset = sample(&snapshot(1, 100, 9), &snapshot(2, 200, 3));
        assert_eq!((reset.calls_per_s, reset.mpi_share), (Some(100.0), None));
        let restarted = sample(&snapshot(5, 100, 1), &snapshot(5, 100, 1));
        assert_eq!(restarted, Sample::default());
    }

    #[test]
    fn rates_stay_while_recording_is_off() {
        let mut off = snapshot(5, 900, 5_000_000_000);
        if let Some(status) = &mut off.status {
            status.recording = Some(RecordingStatus {
                off: 4,
                ..RecordingStatus::default()
            });
        }
        let mut history = History::default();
        let (first, second) = (snapshot(1, 100, 0), snapshot(2, 900, 2_000_000_000));
        history.note(&first, &second);
        history.note(&second, &off);
        assert_eq!(history.last().mpi_share, Some(0.5));
        assert_eq!(history.last().calls_per_s, Some(800.0));
        assert_eq!(history.overhead(), Some(0.0), "that is known all the same");
    }

    #[test]
    fn a_job_that_stands_still_in_mpi_is_in_mpi() {
        let standing = |seconds| {
            let mut standing = snapshot(seconds, 100, 0);
            let rank = RankStatus {
                function: "MPI_Recv".into(),
                state: RankState::InMpi.into(),
                since_ns: seconds * 1_000_000_000,
                ..RankStatus::default()
            };
            let status = standing.status.as_mut().expect("set above");
            status.named = vec![rank; 4];
            standing
        };
        assert_eq!(sample(&standing(2), &standing(3)).mpi_share, Some(1.0));
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
