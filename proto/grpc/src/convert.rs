//! Converts answers of the tree to messages for clients: numbers of functions become names, tables
//! are sorted, and a matrix that is too large for the client is folded.

pub mod analyses;
pub mod buffers;
mod contexts;
pub mod distribution;
pub mod grid;
pub mod hang;
pub mod iterations;
pub mod metrics;
pub mod profile;
pub mod regions;
pub mod saved;
pub mod selection;
pub mod sites;
pub mod stacks;
pub mod timeline;
pub mod wait_states;

use crate::v1;
use distribution::Bins;
use invivo_proto::control::link;
use invivo_proto::control::metrics::Measured;
use invivo_proto::control::overhead::{Governance, OverheadCap};
use invivo_proto::control::results::{
    Coverage, FunctionStats, FunctionTable, JobStatus, Ledger, Matrix, Measuring, Messages,
    Moments, RankState, RankStatus, RecordingStatus, Traffic,
};
use invivo_proto::control::sampling::SampledBy;
use invivo_proto::control::tree::{Acks, Cut};
use invivo_proto::ids::{Rank, RegionId, WorldRank};
use invivo_proto::mpi;
use std::collections::BTreeMap;

/// A function's name; empty for the number that stands for none.
pub fn function_name(region: RegionId) -> String {
    if region == RegionId::default() {
        String::new()
    } else {
        mpi::name(region).to_owned()
    }
}

impl From<&link::JobDescription> for v1::Job {
    fn from(job: &link::JobDescription) -> v1::Job {
        v1::Job {
            id: job.id.clone(),
            ranks: job.ranks,
            places: job.places,
            nodes: job.nodes,
            family: job.family.clone(),
            library: job.library.clone(),
            observation: job.observation.as_ref().map(v1::Observation::from),
        }
    }
}

impl From<&link::ObservationDescription> for v1::Observation {
    fn from(of: &link::ObservationDescription) -> v1::Observation {
        v1::Observation {
            from_ns: of.from_ns,
            to_ns: of.to_ns,
            saved_unix_ns: of.saved_unix_ns,
            calls: of.calls,
            reduced: of.reduced,
        }
    }
}

impl From<&Ledger> for v1::Ledger {
    fn from(ledger: &Ledger) -> v1::Ledger {
        // In the order of `DropReason`.
        let [no_packet, no_location, not_selected] = ledger.dropped;
        v1::Ledger {
            entered: ledger.entered,
            open: ledger.open,
            in_flight: ledger.in_flight,
            kept: ledger.kept,
            reduced: ledger.reduced,
            dropped: Some(v1::DroppedByShim {
                no_packet,
                no_location,
            }),
            dropped_by_place: ledger.dropped_by_place,
            reset: ledger.reset,
            not_selected,
        }
    }
}

impl From<&Coverage> for v1::Coverage {
    fn from(coverage: &Coverage) -> v1::Coverage {
        v1::Coverage {
            ranks: coverage.ranks,
            ranks_reporting: coverage.ranks_reporting,
            members_missing: coverage.members_missing,
            lag_ns: coverage.lag_ns,
            ledger: Some((&coverage.ledger).into()),
            overhead_ns: coverage.overhead_ns,
            overhead_regions_ns: coverage.overhead_regions_ns,
            overhead_samples_ns: coverage.overhead_samples_ns,
            tool_cpu_ns: coverage.tool_cpu_ns,
            observer_cpu_ns: coverage.observer_cpu_ns,
            displaced_ns: coverage.displaced_ns,
            packets_mpi: coverage.packets_mpi,
            packets_shm: coverage.packets_shm,
            payload_bytes: coverage.payload_bytes,
            packets_refused: coverage.packets_refused,
            buffer_bytes: coverage.buffer_bytes,
            // Names travel beside the coverage, which has a fixed size.
            missing: Vec::new(),
        }
    }
}

/// The coverage, with the tool processes that did not answer.
pub fn coverage(coverage: &Coverage, missing: &[WorldRank]) -> v1::Coverage {
    v1::Coverage {
        missing: missing.iter().map(|world| world.0).collect(),
        ..coverage.into()
    }
}

impl From<RankState> for v1::RankState {
    fn from(state: RankState) -> v1::RankState {
        match state {
            RankState::Starting => v1::RankState::Starting,
            RankState::Computing => v1::RankState::Computing,
            RankState::InMpi => v1::RankState::InMpi,
            RankState::Paused => v1::RankState::Paused,
            RankState::Finished => v1::RankState::Finished,
            RankState::Held => v1::RankState::Held,
        }
    }
}

/// Serializes a rank's state as a word.
pub fn state_by_name<S: serde::Serializer>(state: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state_name(*state))
}

/// A rank's state as a word.
pub fn state_name(state: i32) -> &'static str {
    match v1::RankState::try_from(state) {
        Ok(v1::RankState::Starting) => "starting",
        Ok(v1::RankState::Computing) => "computing",
        Ok(v1::RankState::InMpi) => "in MPI",
        Ok(v1::RankState::Paused) => "paused",
        Ok(v1::RankState::Finished) => "finished",
        Ok(v1::RankState::Held) => "held",
        Ok(v1::RankState::Unspecified) | Err(_) => "unknown",
    }
}

impl From<&RankStatus> for v1::RankStatus {
    fn from(status: &RankStatus) -> v1::RankStatus {
        v1::RankStatus {
            rank: status.rank.0,
            state: v1::RankState::from(status.state).into(),
            function: function_name(status.region),
            since_ns: status.since_ns,
            entered: status.entered,
            mpi_ns: status.mpi_ns,
        }
    }
}

impl From<&JobStatus> for v1::JobStatus {
    fn from(status: &JobStatus) -> v1::JobStatus {
        // In the order of `RankState`.
        let [starting, computing, in_mpi, paused, finished, held] = status.states;
        v1::JobStatus {
            ranks: Some(v1::RankCounts {
                starting,
                computing,
                in_mpi,
                paused,
                finished,
                held,
            }),
            named: status.named.iter().map(Into::into).collect(),
            pause: status.pause.map(|pause| v1::PauseStatus {
                command_id: pause.command.0,
                lease_left_ns: pause.lease_left_ns,
            }),
            observed_ns: status.observed_ns,
            notes: status.notes.clone(),
            recording: Some((&status.recording).into()),
            analyses: Vec::new(),
            governance: governance(&status.governance),
            measuring: status.measuring.as_ref().map(measuring),
        }
    }
}

fn measuring(measuring: &Measuring) -> v1::Measuring {
    let Measured { set, interval_ns } = measuring.metrics;
    v1::Measuring {
        sampling_frequency: measuring.sampling.frequency,
        metrics: set.names().collect(),
        metrics_interval_ns: if set.is_empty() { 0 } else { interval_ns },
        selection_rules: measuring.rules,
        sampling_by_timer: measuring.sampling.is_on() && measuring.sampling.by == SampledBy::Timer,
    }
}

/// Nothing where the overhead never had a cap.
fn governance(governance: &Governance) -> Option<v1::Governance> {
    if *governance == Governance::default() {
        return None;
    }
    let events = governance.events.iter();
    Some(v1::Governance {
        cap: governance.cap.map(OverheadCap::share),
        share: governance.share,
        given_up: governance.given_up.clone(),
        decided: governance.decided.clone(),
        is_exhausted: governance.is_exhausted,
        events: events
            .map(|(at_ns, sentence)| v1::GovernanceEvent {
                at_ns: *at_ns,
                sentence: sentence.clone(),
            })
            .collect(),
    })
}

impl From<&RecordingStatus> for v1::RecordingStatus {
    fn from(recording: &RecordingStatus) -> v1::RecordingStatus {
        v1::RecordingStatus {
            on: recording.on,
            off: recording.off,
            since_ns: recording.since_ns,
            now_ns: recording.now_ns,
            clock_error_ns: recording.clock_error_ns,
            window: recording.window.map(|window| v1::WindowStatus {
                command_id: window.command.0,
                from_ns: window.from_ns,
                to_ns: window.to_ns,
                complete: window.complete,
            }),
            shut_down: recording.shut_down,
        }
    }
}

impl From<Cut> for v1::Cut {
    fn from(cut: Cut) -> v1::Cut {
        v1::Cut {
            earliest_ns: cut.earliest_ns,
            latest_ns: cut.latest_ns,
            error_ns: cut.error_ns,
        }
    }
}

fn function_row(rank: Option<Rank>, region: RegionId, stats: &FunctionStats) -> v1::FunctionRow {
    let time = &stats.time;
    v1::FunctionRow {
        function: function_name(region),
        rank: rank.map(|rank| rank.0),
        calls: time.count,
        time_ns: time.sum_ns,
        mean_ns: time.mean_ns,
        stddev_ns: stddev_ns(time),
        // Of no calls the minimum is the greatest number: 0 for clients.
        min_ns: if time.count == 0 { 0 } else { time.min_ns },
        max_ns: time.max_ns,
        max_rank: time.max_rank.0,
        bytes_out: stats.bytes_out,
        bytes_in: stats.bytes_in,
        clipped: stats.clipped,
        durations: None,
        sizes: None,
    }
}

/// The merged rows, with their distributions, and the rows by rank, each with the most time
/// first. Equal times are ordered by name and rank, so that the output is the same every time.
pub fn function_rows(
    table: &FunctionTable,
    bins: Bins,
) -> (Vec<v1::FunctionRow>, Vec<v1::FunctionRow>) {
    let mut merged: Vec<_> = table
        .rows
        .iter()
        .map(|(&region, stats)| {
            let mut row = function_row(None, region, stats);
            if let Some(of) = table.distributions.get(&region) {
                distribution::fill(&mut row, of, bins);
            }
            row
        })
        .collect();
    let mut by_rank: Vec<_> = table
        .rank_rows
        .iter()
        .map(|(&(rank, region), stats)| function_row(Some(rank), region, stats))
        .collect();
    for rows in [&mut merged, &mut by_rank] {
        // Most time first; names and ranks only make the order the same in every answer.
        rows.sort_by(|a, b| {
            (b.time_ns, &a.function, a.rank).cmp(&(a.time_ns, &b.function, b.rank))
        });
    }
    (merged, by_rank)
}

impl From<Traffic> for v1::Traffic {
    fn from(traffic: Traffic) -> v1::Traffic {
        v1::Traffic {
            messages: traffic.messages,
            bytes: traffic.bytes,
        }
    }
}

/// The matrix with at most `side_max` rows and columns (at least one). Neighbouring blocks of a
/// larger one are merged; sums stay exact.
pub fn matrix_reply(
    matrix: &Matrix,
    coverage: &Coverage,
    ranks: u32,
    side_max: u32,
) -> v1::MatrixReply {
    // The matrix of nobody has blocks of nothing.
    let given_ranks = matrix.block_ranks.max(1);
    // Blocks are merged in whole numbers, so that each cell is still a square of ranks.
    let folded = ranks.div_ceil(given_ranks).div_ceil(side_max.max(1)).max(1);

    let mut cells = BTreeMap::<(u32, u32), (Traffic, Traffic)>::new();
    let mut add = |ends: &(u32, u32), traffic: &Traffic, received: bool| {
        let cell = cells.entry((ends.0 / folded, ends.1 / folded)).or_default();
        let sum = if received { &mut cell.1 } else { &mut cell.0 };
        // They may be of a report that anybody wrote.
        sum.messages = sum.messages.saturating_add(traffic.messages);
        sum.bytes = sum.bytes.saturating_add(traffic.bytes);
    };

    matrix
        .sent
        .iter()
        .for_each(|(ends, traffic)| add(ends, traffic, false));
    matrix
        .received
        .iter()
        .for_each(|(ends, traffic)| add(ends, traffic, true));

    let cell =
        |((source, destination), (sent, received)): (_, (Traffic, Traffic))| v1::MatrixCell {
            source,
            destination,
            sent: Some(sent.into()),
            received: Some(received.into()),
        };

    v1::MatrixReply {
        analysis: None,
        interval: None,
        coverage: Some(coverage.into()),
        ranks,
        block_ranks: given_ranks.saturating_mul(folded),
        cells: cells.into_iter().map(cell).collect(),
        unresolved: Some(matrix.unresolved.into()),
        outside: Some(matrix.outside.into()),
    }
}

fn stddev_ns(of: &Moments) -> f64 {
    // Divided by the count, not by one less: these are all the calls there were, not a sample.
    let variance = if of.count == 0 {
        0.0
    } else {
        of.m2 / of.count as f64
    };
    // Rounding may make a sum of squares negative.
    variance.max(0.0).sqrt()
}

impl From<&Moments> for v1::Durations {
    fn from(of: &Moments) -> v1::Durations {
        v1::Durations {
            count: of.count,
            sum_ns: of.sum_ns,
            mean_ns: of.mean_ns,
            stddev_ns: stddev_ns(of),
            min_ns: if of.count == 0 { 0 } else { of.min_ns },
            max_ns: of.max_ns,
            max_rank: of.max_rank.0,
        }
    }
}

pub fn messages_reply(messages: &Messages, coverage: v1::Coverage) -> v1::MessagesReply {
    v1::MessagesReply {
        coverage: Some(coverage),
        sent: Some(messages.sent.into()),
        received: Some(messages.received.into()),
        matched: Some(messages.matched.into()),
        unmatched: Some(v1::Unmatched {
            unresolved: messages.unmatched.unresolved,
            limit: messages.unmatched.limit,
            cut: messages.unmatched.cut,
            missing: messages.unmatched.missing,
            outside: messages.unmatched.outside,
        }),
        transfer: Some((&messages.transfer).into()),
        late_sender: Some((&messages.late_sender).into()),
        untimed: messages.untimed,
        clock_error_ns: messages.clock_error_ns,
        analysis: None,
        interval: None,
    }
}

/// The reply to a command, without the fields that only the gateway knows (`took_ns`, `lease_ns`).
pub fn command_reply(command_id: u64, acks: &Acks) -> v1::CommandReply {
    v1::CommandReply {
        command_id,
        targets: acks.targets,
        done: acks.done,
        held_in_mpi: acks.held_in_mpi,
        partly: acks.partly,
        slowest: acks.slowest.map(|(rank, time_ns)| v1::SlowestRank {
            rank: rank.0,
            time_ns,
        }),
        failures: acks
            .failures
            .iter()
            .map(|(rank, why)| v1::CommandFailure {
                rank: rank.0,
                why: why.clone(),
            })
            .collect(),
        missing: acks.missing.iter().map(|world| world.0).collect(),
        // Only the gateway knows when the command came and which lease it asked for: it fills in
        // both.
        took_ns: 0,
        lease_ns: 0,
        from: acks.from.map(Into::into),
        to: acks.to.map(Into::into),
        complete_ns: acks.complete_ns,
        clipped: acks.clipped,
        open: acks.open,
    }
}

#[cfg(test)]
mod tests;
