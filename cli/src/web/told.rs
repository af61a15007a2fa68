//! What the terminal says of a snapshot, so that the page says the same. Pure.

use crate::view::overhead;
use invivo_grpc::v1::Snapshot;
use invivo_report::units::{counted, duration};
use invivo_report::{coverage, recording, status};
use serde::Serialize;

/// Sentences without an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// How long the job has been observed.
    observed: String,
    /// Ranks by state.
    states: String,
    /// How much longer the pause lasts at most, where there is one.
    pause: Option<String>,
    /// What is recorded.
    recording: String,
    /// Whether that is less than everything since the start.
    is_partly: bool,
    /// What is measured.
    measured: Option<String>,
    /// Time in MPI, of the ranks' time.
    in_mpi: Option<String>,
    /// Calls since the last reset.
    calls: String,
    /// Age of the oldest record that is not counted yet.
    lag: String,
    losses: String,
    own_cost: String,
    /// How the overhead is kept below its cap.
    governance: Vec<String>,
    coverage: String,
}

impl Told {
    /// Of this snapshot.
    pub fn of(snapshot: &Snapshot) -> Told {
        let status = snapshot.status.clone().unwrap_or_default();
        let coverage = snapshot.coverage.clone().unwrap_or_default();
        let ledger = coverage.ledger.unwrap_or_default();
        let recording = status.recording.unwrap_or_default();
        let calls = ledger.entered.saturating_sub(ledger.reset);
        let own_cost = coverage::own_cost(&coverage, status.observed_ns);
        Told {
            observed: duration(status.observed_ns),
            states: status::states(&status.ranks.unwrap_or_default()),
            pause: status.pause.map(|pause| duration(pause.lease_left_ns)),
            recording: recording::text(&recording),
            is_partly: recording::alert(&recording).is_some(),
            measured: status.measuring.as_ref().map(status::measuring),
            in_mpi: status::in_mpi(snapshot),
            calls: counted(calls, "call"),
            lag: duration(coverage.lag_ns),
            losses: coverage::losses(&coverage),
            own_cost: own_cost.trim_end().to_owned(),
            governance: overhead::governance(status.governance.as_ref(), recording.now_ns),
            coverage: coverage::text(&coverage),
        }
    }
}
