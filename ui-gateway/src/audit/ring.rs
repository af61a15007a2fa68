//! The newest entries of the audit log in memory. Nothing waits for a slow reader: it finds a gap
//! in the sequence numbers instead.

use crate::limits;
use invivo_grpc::v1::AuditEntry;
use std::collections::VecDeque;

/// The entries, the oldest first.
#[derive(Debug, Default)]
pub struct Ring {
    entries: VecDeque<Kept>,
    last_sequence: u64,
    last_revision: u64,
}

#[derive(Debug)]
struct Kept {
    /// Number of the ring's change in which this entry was made or last changed.
    revision: u64,
    kind: Kind,
    entry: AuditEntry,
}

/// What makes room only for its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Command,
    Denial,
    Refusal,
}

impl Ring {
    /// Adds the entry of a command and gives it its sequence number.
    pub fn begin(&mut self, entry: AuditEntry) -> u64 {
        self.add(entry, Kind::Command, limits::AUDIT_ENTRIES_MAX)
    }

    /// Adds the entry of a denied command, for which only another one of these makes room.
    pub fn denied(&mut self, entry: AuditEntry) -> u64 {
        self.add(entry, Kind::Denial, limits::DENIALS_KEPT_MAX)
    }

    /// Adds the entry of somebody without a token, for which only another one of these makes room.
    pub fn refused(&mut self, entry: AuditEntry) -> u64 {
        self.add(entry, Kind::Refusal, limits::DENIALS_KEPT_MAX)
    }

    fn add(&mut self, entry: AuditEntry, kind: Kind, most: usize) -> u64 {
        self.last_sequence += 1;
        self.last_revision += 1;
        // The oldest entry makes room, even one whose command is still in progress: `end` finds
        // nothing then.
        let mut alike = self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, kept)| kept.kind == kind);
        let oldest = alike.next().map(|(at, _)| at);
        if let Some(oldest) = oldest.filter(|_| alike.count() + 1 >= most) {
            self.entries.remove(oldest);
        }

        self.entries.push_back(Kept {
            revision: self.last_revision,
            kind,
            entry: AuditEntry {
                sequence: self.last_sequence,
                ..entry
            },
        });
        self.last_sequence
    }

    /// Sets the outcome of an entry, if it is still kept.
    pub fn end(&mut self, sequence: u64, outcome: String) {
        // Counted also where the entry is gone, which costs nothing: readers compare only revisions
        // of entries that are kept.
        self.last_revision += 1;
        let revision = self.last_revision;
        if let Some(kept) = self
            .entries
            .iter_mut()
            .find(|kept| kept.entry.sequence == sequence)
        {
            kept.revision = revision;
            kept.entry.outcome = outcome;
        }
    }
}

/// The position of a reader.
#[derive(Clone, Copy, Debug)]
pub enum Reader {
    /// Reading the entries that existed at the begin, up to this sequence number so far.
    Behind {
        sequence: u64,
        /// The ring's revision at the begin: later changes come when these entries are read.
        revision: u64,
    },
    /// Reading each change after this one.
    Following { revision: u64 },
}

impl Reader {
    /// A reader that begins with the oldest entry.
    pub fn begin(ring: &Ring) -> Reader {
        Reader::Behind {
            sequence: 0,
            revision: ring.last_revision,
        }
    }

    /// The next entry; `None` if there is none now.
    pub fn next(&mut self, ring: &Ring) -> Option<AuditEntry> {
        if let Reader::Behind { sequence, revision } = *self {
            // Entries made or changed since the begin come later, as changes.
            let old = |kept: &&Kept| kept.entry.sequence > sequence && kept.revision <= revision;
            if let Some(kept) = ring.entries.iter().find(old) {
                *self = Reader::Behind {
                    sequence: kept.entry.sequence,
                    revision,
                };
                return Some(kept.entry.clone());
            }
            *self = Reader::Following { revision };
        }

        let Reader::Following { revision } = self else {
            return None;
        };
        // By revision, not by position: an old entry whose outcome has just come is the newest
        // change.
        let newer = ring.entries.iter().filter(|kept| kept.revision > *revision);
        let kept = newer.min_by_key(|kept| kept.revision)?;
        *revision = kept.revision;
        Some(kept.entry.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: &mut Reader, ring: &Ring) -> Vec<(u64, String)> {
        std::iter::from_fn(|| reader.next(ring))
            .map(|entry| (entry.sequence, entry.outcome))
            .collect()
    }

    fn begin(ring: &mut Ring) -> u64 {
        ring.begin(AuditEntry::default())
    }

    fn expected(entries: &[(u64, &str)]) -> Vec<(u64, String)> {
        entries
            .iter()
            .map(|(sequence, outcome)| (*sequence, (*outcome).to_owned()))
            .collect()
    }

    #[test]
    fn existing_entries_come_in_order_then_each_change() {
        let mut ring = Ring::default();
        let (first, second) = (begin(&mut ring), begin(&mut ring));
        ring.end(second, "b".into());
        ring.end(first, "a".into());
        let mut reader = Reader::begin(&ring);
        assert_eq!(read(&mut reader, &ring), expected(&[(1, "a"), (2, "b")]));
        let third = begin(&mut ring);
        assert_eq!(read(&mut reader, &ring), expected(&[(3, "")]));
        let fourth = begin(&mut ring);
        ring.end(third, "c".into());
        assert_eq!(read(&mut reader, &ring), expected(&[(4, ""), (3, "c")]));
        ring.end(fourth, "d".into());
        assert_eq!(read(&mut reader, &ring), expected(&[(4, "d")]));
        assert_eq!(read(&mut reader, &ring), []);
    }

    #[test]
    fn an_entry_that_changes_during_the_reading_comes_once() {
        let mut ring = Ring::default();
        let (first, _) = (begin(&mut ring), begin(&mut ring));
        let mut reader = Reader::begin(&ring);
        ring.end(first, "a".into());
        assert_eq!(read(&mut reader, &ring), expected(&[(2, ""), (1, "a")]));
    }

    #[test]
    fn denials_make_room_for_denials_only() {
        let mut ring = Ring::default();
        let command = begin(&mut ring);
        for _ in 0..2 * limits::AUDIT_ENTRIES_MAX {
            ring.denied(AuditEntry::default());
        }
        for _ in 0..limits::AUDIT_ENTRIES_MAX {
            ring.refused(AuditEntry::default());
        }
        ring.end(command, "done".into());
        let entries = read(&mut Reader::begin(&ring), &ring);
        assert_eq!(entries.len(), 1 + 2 * limits::DENIALS_KEPT_MAX);
        assert_eq!(entries[0], (command, "done".to_owned()));
        assert_eq!(
            entries[1].0 - command,
            1 + 2 * limits::AUDIT_ENTRIES_MAX as u64 - limits::DENIALS_KEPT_MAX as u64
        );
    }

    #[test]
    fn a_slow_reader_finds_a_gap() {
        let mut ring = Ring::default();
        begin(&mut ring);
        let mut reader = Reader::begin(&ring);
        assert_eq!(read(&mut reader, &ring).len(), 1);
        for _ in 0..3 * limits::AUDIT_ENTRIES_MAX {
            begin(&mut ring);
        }
        ring.end(1, "long forgotten".into());
        let entries = read(&mut reader, &ring);
        assert_eq!(entries.len(), limits::AUDIT_ENTRIES_MAX);
        assert_eq!(entries[0].0, 2 + 2 * limits::AUDIT_ENTRIES_MAX as u64);
        assert!(entries.is_sorted_by(|a, b| a.0 + 1 == b.0));
    }
}
