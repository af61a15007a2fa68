//! Checks what must hold of a simulated job, whatever went wrong in it.

mod answers;
mod commands;
mod life;

use crate::agenda::{MS, Time};
use crate::case::Case;
use crate::history::History;
use crate::script::LEASE_NS_MAX;
use crate::simulation::{self, TICK_NS_LATE_MAX};
use invivo_proto::control::tree::MISSING_MAX;
use invivo_proto::ids::WorldRank;
use invivo_tbon::job_time::ASK_NS;
use invivo_tbon::layout::Layout;
use invivo_tbon::limits::COMMAND_NS_PER_LAYER;

/// Everything that does not hold, a sentence each.
pub fn violations(case: &Case, layout: &Layout, history: &History) -> Vec<String> {
    let mut checker = Checker {
        case,
        layout,
        history,
        found: Vec::new(),
    };

    checker.asks();
    checker.everything_is_there_at_the_end();
    checker.commands_done_once();
    checker.places_agree();
    checker.cuts();
    checker.gates();
    checker.root_lost();
    checker.end();
    checker.found
}

/// Runs a case and holds it to all of this.
///
/// # Errors
/// What does not hold of the smallest case found that fails, and the command that reruns it.
pub fn hold(case: &Case) -> Result<(Layout, History), String> {
    let ran = |case: &Case| {
        let (layout, history) = simulation::run(case, false).ok()?;
        let violations = violations(case, &layout, &history);
        Some((layout, history, violations))
    };

    match ran(case) {
        None => Err(format!("no tree: {case}")),
        Some((layout, history, violations)) if violations.is_empty() => Ok((layout, history)),
        Some(_) => {
            let fails =
                |case: &Case| ran(case).is_some_and(|(.., violations)| !violations.is_empty());
            // A smaller case may fail for another reason, which is as good a finding.
            let smallest = case.shrunk(fails);
            let why = ran(&smallest)
                .map(|(.., violations)| violations)
                .unwrap_or_default();
            Err(format!(
                "\n  {}\nrerun with\n  {smallest}\nwhich was shrunk from\n  {case}\n",
                why.join("\n  ")
            ))
        }
    }
}

/// A job and what happened in it.
pub(crate) struct Checker<'a> {
    case: &'a Case,
    layout: &'a Layout,
    history: &'a History,
    found: Vec<String>,
}

impl Checker<'_> {
    fn require(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.found.push(otherwise());
        }
    }

    fn height(&self) -> u64 {
        u64::from(self.layout.height(self.layout.root()).unwrap_or(0))
    }

    /// How long it may take until a process that has come back is no longer missed: a command that
    /// reached it late may be waited for to the end of its time, and whoever missed one is silent
    /// until it is heard, which its questions for the time see to.
    fn settle_ns(&self) -> Time {
        // A hold may take as long as its lease on top of the usual time.
        let command = self.height() * COMMAND_NS_PER_LAYER + LEASE_NS_MAX;
        let heard = ASK_NS + 2 * Time::from(self.case.delay_us) * 1000 + 2 * TICK_NS_LATE_MAX + MS;
        command + heard
    }

    /// How far clocks of hosts may run apart in the time of an ask, and be rounded.
    fn slack_ns(&self) -> Time {
        5 * MS
    }

    /// Who is named as missing is at fault, and nobody is held back with whom nothing was wrong.
    fn missing(&mut self, index: usize, from: Time, to: Time, missing: &[WorldRank]) {
        let sorted = missing.is_sorted_by(|a, b| a < b);
        self.require(sorted && missing.len() < MISSING_MAX, || {
            format!("ask {index}: missing {missing:?}")
        });
        let settle = self.settle_ns();
        for &who in missing {
            let troubled = self.history.troubled(who, from, to, settle);
            self.require(troubled, || {
                format!("ask {index}: {who} is named as missing and nothing was wrong with it")
            });
        }
    }

    /// The places whose answers count: none of the processes between them and the root is missing.
    fn counted(&self, missing: &[WorldRank]) -> Vec<WorldRank> {
        let places = (0..self.layout.places()).map(|index| self.layout.place(index));
        places
            .filter(|&place| !self.up_from(place).any(|world| missing.contains(&world)))
            .collect()
    }

    /// A process and all above it.
    fn up_from(&self, world: WorldRank) -> impl Iterator<Item = WorldRank> {
        std::iter::successors(Some(world), |&world| self.layout.parent(world))
    }

    /// When a process was cut off from the root: the first death above it.
    fn cut_off(&self, world: WorldRank) -> Option<Time> {
        self.up_from(world)
            // Its own death is no cut from the root.
            .skip(1)
            .filter_map(|above| self.history.died(above))
            .min()
    }
}
