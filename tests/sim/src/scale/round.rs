//! What one wave cost, and several.

use invivo_proto::control::results::Coverage;
use invivo_proto::control::tree::Partial;
use invivo_proto::ids::WorldRank;

/// A question and its answer.
#[derive(Clone, Debug)]
pub struct Wave {
    /// The answer.
    pub partial: Partial,
    /// How much of the truth it is.
    pub coverage: Coverage,
    /// Who did not answer.
    pub missing: Vec<WorldRank>,
    /// Bytes of the messages that brought the parts of it to the root, and of the answer.
    pub root_bytes: u64,
    /// The most messages that any process received for it.
    pub messages_max: u32,
}

/// Several waves.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// The root's bytes of each.
    pub bytes: Vec<u64>,
    /// The most messages that any process received for one of them.
    pub messages_max: u32,
}

impl Round {
    /// Takes note of one.
    pub fn note(&mut self, wave: Wave) {
        self.bytes.push(wave.root_bytes);
        self.messages_max = self.messages_max.max(wave.messages_max);
    }

    /// The root's bytes of all.
    pub fn root_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }
}
