//! Warnings for the status answer: one sentence and a count for each kind of trouble.

use invivo_proto::control::results::NOTES_MAX;
use std::collections::BTreeMap;

/// Kinds of trouble; a status has one sentence for each at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// A packet over MPI was refused whole.
    Packet,
    /// A record could not be read.
    Record,
    /// A packet never came.
    LostPacket,
    /// A definition could not be read.
    Definition,
    /// A connection to the supervisors' socket was refused.
    Stranger,
    /// A supervisor closed its connection without reporting its rank's end.
    Supervisor,
    /// A rank's memory could not be used.
    Memory,
    /// No buffer for a location.
    Budget,
    /// Buffers are too small for the strategy.
    Strategy,
    /// The tap (a test hook) writes all records to files.
    Tap,
    /// A control message could not be read or sent.
    Control,
    /// The preloaded library of a rank gave up.
    Silent,
    /// A program has switched recording off for its rank.
    OffByProgram,
    /// A rank is not sampled that should be.
    Sampling,
    /// Metrics of a rank are not measured that should be.
    Metrics,
    /// The place panicked, and lost what it held.
    Panic,
}

/// The first sentence of each kind, and how often the kind came.
#[derive(Debug, Default)]
pub struct Notes(BTreeMap<Trouble, (String, u64)>);

const _: () = assert!(
    (Trouble::Panic as usize) + 3 < NOTES_MAX,
    "all kinds fit into a status, two sentences of what ranks count, and one about falling behind"
);

impl Notes {
    /// Notes something; the sentence is made only for the first of its kind.
    pub fn add(&mut self, trouble: Trouble, sentence: impl FnOnce() -> String) {
        self.0.entry(trouble).or_insert_with(|| (sentence(), 0)).1 += 1;
    }

    /// The sentences in the order of [`Trouble`], with the count where a kind came more than once.
    pub fn sentences(&self) -> Vec<String> {
        let sentence = |(text, count): &(String, u64)| match count {
            1 => text.clone(),
            more => format!("{text} (the first of {more})"),
        };
        self.0.values().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_once_with_its_count() {
        let mut notes = Notes::default();
        for number in 0..3 {
            notes.add(Trouble::Packet, || format!("packet {number} refused"));
        }
        notes.add(Trouble::Budget, || "no memory".into());
        assert_eq!(
            notes.sentences(),
            ["packet 0 refused (the first of 3)", "no memory"]
        );
    }
}
