//! Makes answers of what the tree found.

use super::RootServer;
use crate::gateway::Gateway;
use invivo_analysis::groups::Members;
use invivo_analysis::hang::{Surroundings, explain};
use invivo_proto::control::link::Answer;
use invivo_proto::control::results::Coverage;
use invivo_proto::control::tree::Partial;

/// The answer that a result of the whole job is, with what is known around it.
pub fn present(partial: Partial, coverage: Coverage, around: &Surroundings<'_>) -> Answer {
    match partial {
        Partial::Functions(table) => Answer::Functions(table, coverage),
        Partial::Matrix(matrix) => Answer::Matrix(matrix, coverage),
        Partial::Messages(messages) => Answer::Messages(*messages, coverage),
        Partial::Buffers(buffers) => Answer::Buffers(buffers, coverage),
        Partial::Records(records) => Answer::Records(records, coverage),
        Partial::Timeline(last) => Answer::Timeline(last, coverage),
        Partial::Hang(waits) => Answer::Hang(Box::new((explain(&waits, around), *waits)), coverage),
        Partial::Stacks(stacks) => Answer::Stacks(stacks, coverage),
        Partial::Profile(profile) => Answer::Profile(profile, coverage),
        Partial::Analyses(analyses) => Answer::Analyses(analyses, coverage),
        Partial::Grid(grid) => Answer::Grid(grid, coverage),
        Partial::Sites(table) => Answer::Sites(table, coverage),
        Partial::Regions(table) => Answer::Regions(table, coverage),
        Partial::Selection(status) => Answer::Selection(status, coverage),
        Partial::Metrics(status) => Answer::Metrics(status, coverage),
        Partial::Saved(saved) => Answer::Saved(saved, coverage),
        Partial::WaitStates(waits) => Answer::WaitStates(waits, coverage),
        Partial::Status(mut status) => {
            status.cut_notes();
            Answer::Status(status, coverage)
        }
    }
}

impl RootServer {
    /// Makes an answer of what the tree found.
    pub(super) fn present(&self, mut partial: Partial, mut coverage: Coverage) -> Answer {
        self.stats.add_to(&mut coverage);
        if let Partial::Status(status) = &mut partial {
            // The first, so that it is not cut.
            status.notes.splice(0..0, self.governor.note());
            status.notes.extend(self.own_notes());
            *status.governance = self.governor.status();
            status.measuring = (!status.recording.shut_down).then(|| self.governor.measuring());
        }
        let around = Surroundings {
            ranks: self.job.ranks,
            members: &|comm| self.root.group(comm).map(Members::of),
        };
        present(partial, coverage, &around)
    }

    /// What went wrong at the root itself.
    fn own_notes(&self) -> impl Iterator<Item = String> {
        let refusals = self.gateway.as_ref().and_then(Gateway::refusals);
        let closed = refusals.map(|(count, why)| {
            format!("{count} connections of a gateway were closed, the first because {why}")
        });
        closed.into_iter().chain(self.stats.notes(self.me))
    }
}
