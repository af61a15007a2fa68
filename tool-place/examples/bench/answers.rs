//! What a place must know in the end, counted from the recorded calls themselves: they were written
//! by another library than Invivo's, and nothing of Invivo's counts here.

use crate::streams::{Recorded, has_peer};
use anyhow::{Context, Result, ensure};
use invivo_proto::control::results::{
    FunctionStats, FunctionTable, Ledger, Matrix, Messages, Traffic,
};
use invivo_proto::ids::RegionId;
use invivo_proto::record::{Facts, RecordKind};
use std::collections::BTreeMap;

/// Of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    calls: u64,
    ticks: u64,
    bytes_out: u64,
    bytes_in: u64,
}

/// Messages and bytes by (source, destination).
type Cells = BTreeMap<(u32, u32), Traffic>;

/// The answers that the place must give.
#[derive(Default)]
pub struct Expected {
    /// As many ranks.
    pub locations: u32,
    /// Of all locations.
    pub calls: u64,
    /// Whether every send has its receive among the locations.
    pairs: bool,
    functions: BTreeMap<RegionId, Row>,
    sent: Cells,
    received: Cells,
}

impl Expected {
    /// Of the recorded run on so many locations, so many times.
    pub fn of(recorded: &Recorded, locations: u32, turns: u64) -> Expected {
        let mut expected = Expected {
            locations,
            pairs: locations as usize >= crate::streams::RANKS,
            ..Expected::default()
        };
        for location in 0..locations {
            let (calls, peer) = recorded.source(location, locations);
            for (call, parts) in calls.iter() {
                expected.calls += turns;
                let row = expected.functions.entry(call.facts.region).or_default();
                row.calls += turns;
                row.ticks += turns * call.duration;
                expected.move_bytes(location, &call.facts, &peer, turns);
                for part in parts {
                    expected.move_bytes(location, &part.facts, &peer, turns);
                }
            }
        }
        expected
    }

    fn move_bytes(&mut self, location: u32, facts: &Facts, peer: impl Fn(i32) -> i32, turns: u64) {
        let (sends, receives) = match facts.kind {
            RecordKind::Send | RecordKind::PostSend => (true, false),
            RecordKind::Recv | RecordKind::CompletedRecv => (false, true),
            RecordKind::Collective => (true, true),
            _ => (false, false),
        };
        let row = self.functions.entry(facts.region).or_default();
        row.bytes_out += if sends { turns * facts.bytes_out } else { 0 };
        row.bytes_in += if receives { turns * facts.bytes_in } else { 0 };
        let Ok(peer) = u32::try_from(peer(facts.peer)) else {
            return;
        };
        if !has_peer(facts.kind) || !(sends || receives) {
            return;
        }
        let (cells, key, bytes) = if sends {
            (&mut self.sent, (location, peer), facts.bytes_out)
        } else {
            (&mut self.received, (peer, location), facts.bytes_in)
        };
        let cell = cells.entry(key).or_default();
        cell.messages += turns;
        cell.bytes += turns * bytes;
    }

    /// Calls, their times and their bytes are those of the recording.
    pub fn check_functions(&self, table: &FunctionTable) -> Result<()> {
        let row = |stats: &FunctionStats| Row {
            calls: stats.time.count,
            ticks: stats.time.sum_ns,
            bytes_out: stats.bytes_out,
            bytes_in: stats.bytes_in,
        };
        let told: BTreeMap<RegionId, Row> = table
            .rows
            .iter()
            .map(|(region, stats)| (*region, row(stats)))
            .collect();
        ensure!(
            told == self.functions,
            "{told:?} instead of {:?}",
            self.functions
        );
        Ok(())
    }

    /// Every cell is that of the recording.
    pub fn check_matrix(&self, matrix: &Matrix) -> Result<()> {
        ensure!(
            matrix.block_ranks == 1,
            "blocks of {} ranks",
            matrix.block_ranks
        );
        ensure!(
            matrix.sent == self.sent && matrix.received == self.received,
            "another matrix"
        );
        ensure!(matrix.unresolved == Traffic::default(), "unknown peers");
        Ok(())
    }

    /// Messages are those of the recording, and each is matched unless there was no room to wait;
    /// the share that was.
    pub fn check_messages(&self, messages: &Messages) -> Result<f64> {
        let all = |cells: &Cells| cells.values().map(|cell| cell.messages).sum::<u64>();
        let (sent, received) = (all(&self.sent), all(&self.received));
        ensure!(
            (messages.sent.messages, messages.received.messages) == (sent, received),
            "{messages:?} instead of {sent} sent and {received} received"
        );
        let unmatched = &messages.unmatched;
        let known = unmatched.limit == 0 && self.pairs;
        ensure!(
            !known || (messages.matched.messages == sent && unmatched.missing == 0),
            "{sent} sent, and only {messages:?}"
        );
        ensure!(messages.matched.messages != 0, "nothing is matched");
        Ok(messages.matched.messages as f64 / sent as f64)
    }

    /// Every call is in a buffer or was given up by one.
    pub fn check_ledger(&self, ledger: &Ledger) -> Result<()> {
        invivo_tbon::coverage::balance(ledger)
            .ok()
            .with_context(|| format!("{ledger:?} does not balance"))?;
        ensure!(
            ledger.entered == self.calls && ledger.kept + ledger.reduced == self.calls,
            "{ledger:?} of {} calls",
            self.calls
        );
        ensure!(
            ledger.kept != 0 && ledger.reduced != 0,
            "buffers were not full: {ledger:?}"
        );
        Ok(())
    }

    /// Calls of a part that only counts.
    pub fn check_calls(&self, calls: u64) -> Result<()> {
        ensure!(
            calls == self.calls,
            "{calls} calls instead of {}",
            self.calls
        );
        Ok(())
    }
}
