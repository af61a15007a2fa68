//! Waves: a question goes down, partial results climb and are merged into one answer.

use crate::gather::{Answers, Gathers};
use crate::members::Member;
use crate::merge::{self, Merge, Mismatch};
use crate::{coverage, limits, missing};
use alloc::string::String;
use alloc::vec::Vec;
use invivo_proto::control::results::Coverage;
use invivo_proto::control::tree::{Partial, Query, Up};
use invivo_proto::ids::{WaveId, WorldRank};

/// The waves under way at a node.
pub(crate) type Waves = Gathers<WaveId, Wave>;

pub(crate) fn none() -> Waves {
    Waves::new(limits::WAVES_MAX)
}

/// What the answers to one question add up to.
#[derive(Clone, Debug)]
pub(crate) struct Wave {
    partial: Partial,
    /// Nothing has been merged yet.
    empty: bool,
    coverage: Coverage,
    missing: Vec<WorldRank>,
}

impl Wave {
    pub fn new(query: Query) -> Wave {
        Wave {
            partial: merge::nothing(query),
            empty: true,
            coverage: Coverage::default(),
            missing: Vec::new(),
        }
    }

    /// Adds a member's answer.
    pub fn add(
        &mut self,
        merge: &impl Merge,
        partial: Partial,
        coverage: &Coverage,
        missing: Vec<WorldRank>,
    ) -> Result<(), Mismatch> {
        if self.empty && core::mem::discriminant(&self.partial) == core::mem::discriminant(&partial)
        {
            // The first answer is the sum so far: a place or a node with one child copies nothing.
            self.partial = partial;
        } else {
            merge.merge(&mut self.partial, partial)?;
        }

        self.empty = false;
        coverage::merge(&mut self.coverage, coverage);
        missing::note(&mut self.missing, missing);
        Ok(())
    }

    /// The answer. A status says what is wrong with the members, too.
    pub fn into_answer(mut self, wave: WaveId, notes: impl Iterator<Item = String>) -> Up {
        // Every node adds its own notes, so each trouble is reported by the one that saw it.
        if let Partial::Status(status) = &mut self.partial {
            status.notes.extend(notes);
            status.notes.sort_unstable();
            status.notes.dedup();
            status.cut_notes();
        }
        Up::Partial {
            wave,
            partial: self.partial,
            coverage: self.coverage,
            missing: self.missing,
        }
    }
}

impl Answers for Wave {
    fn absent(&mut self, member: &Member) {
        coverage::merge(&mut self.coverage, &member.absence());
        missing::note(&mut self.missing, [member.world]);
    }
}
