//! Measures what one wave costs, and several.

use invivo_proto::control::results::Coverage;
use invivo_proto::control::tree::Partial;
use invivo_proto::ids::WorldRank;
use std::time::Duration;

/// A question and its answer.
#[derive(Clone, Debug)]
pub struct Wave {
    pub partial: Partial,
    /// How much of the truth it is.
    pub coverage: Coverage,
    /// Who did not answer.
    pub missing: Vec<WorldRank>,
    /// Bytes of the messages that brought the parts of it to the root, and of the answer.
    pub root_bytes: u64,
    /// Rows, cells and ranks named in the messages that brought the parts of it to the root.
    pub root_entries: u64,
    /// The most messages that any process received for it.
    pub messages_max: u32,
    /// How long it takes at most, but for the ways of messages: layer by layer, what the process
    /// of that layer took that took longest.
    pub took: Duration,
}

/// Several waves.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// The root's bytes of each.
    pub bytes: Vec<u64>,
    /// The root's rows, cells and named ranks of each.
    pub entries: Vec<u64>,
    /// The most messages that any process received for one of them.
    pub messages_max: u32,
    /// How long those of each question took.
    pub took: Vec<Vec<Duration>>,
}

impl Round {
    /// Takes note of one, and of how long this and other waves of the same question took.
    pub fn note(&mut self, wave: Wave, took: Vec<Duration>) {
        self.took.push(took);
        self.bytes.push(wave.root_bytes);
        self.entries.push(wave.root_entries);
        self.messages_max = self.messages_max.max(wave.messages_max);
    }

    /// The slowest answer of each question, in ms.
    pub fn slowest(&self) -> String {
        let ms = |took: &Vec<Duration>| took.iter().max().map_or(0.0, |of| of.as_secs_f64() * 1e3);
        let each: Vec<String> = self
            .took
            .iter()
            .map(|took| format!("{:.1}", ms(took)))
            .collect();
        each.join(" ") + " ms"
    }

    /// The root's bytes of all.
    pub fn root_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

/// Rows, cells and ranks that a part of an answer names.
pub fn entries(partial: &Partial) -> u64 {
    let entries = match partial {
        Partial::Functions(table) => table.rows.len() + table.rank_rows.len(),
        Partial::Matrix(matrix) => matrix.sent.len() + matrix.received.len(),
        Partial::Status(status) => status.named.len() + status.notes.len(),
        Partial::Messages(_) => 1,
        Partial::Buffers(buffers) => {
            buffers.levels.len() + buffers.losses.len() + buffers.named.len()
        }
        Partial::Records(records) => records.rows.len(),
        Partial::Timeline(last) => last.pieces.iter().map(|piece| piece.rows.len()).sum(),
        Partial::Hang(waits) => waits.classes.len() + waits.pending.len(),
        Partial::Stacks(stacks) => stacks.nodes.len() + stacks.ways.len(),
        Partial::Profile(profile) => profile.nodes.len(),
        Partial::Analyses(analyses) => analyses.of.len(),
        Partial::Grid(grid) => grid.rows.values().map(|row| row.cells.len()).sum(),
        Partial::Sites(table) => table.rows.len(),
        Partial::Regions(table) => table.rows.len(),
        Partial::Selection(status) => status.rules.len(),
        Partial::Metrics(status) => status.metrics.len(),
        Partial::Saved(saved) => saved.page.iter().map(|page| page.pieces.len()).sum(),
        Partial::WaitStates(waits) => waits.kinds.len() + waits.ranks.len(),
    };
    entries as u64
}
