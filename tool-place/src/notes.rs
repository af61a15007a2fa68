//! Sentences about what went wrong, for the status: each kind of trouble once, however often it
//! comes.

use invivo_proto::control::results::NOTES_MAX;
use std::collections::BTreeMap;

/// Kinds of trouble, one sentence each.
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
    /// Somebody was turned away from the socket.
    Stranger,
    /// A supervisor went away.
    Supervisor,
    /// A rank's memory could not be used.
    Memory,
    /// No buffer for a location.
    Budget,
    /// Buffers are too small for the strategy.
    Strategy,
    /// Everything is written to files.
    Tap,
    /// Samples are made up.
    Samples,
    /// A control message could not be read or sent.
    Control,
    /// The preloaded library of a rank gave up.
    Silent,
    /// The place failed in itself.
    Panic,
}

/// The first sentence of each kind, and how often the kind came.
#[derive(Debug, Default)]
pub struct Notes(BTreeMap<Trouble, (String, u64)>);

const _: () = assert!(
    (Trouble::Panic as usize) < NOTES_MAX,
    "all kinds fit into a status"
);

impl Notes {
    /// Notes something; the sentence is made only for the first of its kind.
    pub fn add(&mut self, trouble: Trouble, sentence: impl FnOnce() -> String) {
        self.0.entry(trouble).or_insert_with(|| (sentence(), 0)).1 += 1;
    }

    /// The sentences.
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
