//! Answers queries of the root, at once or when what they wait for has come.

use super::answers;
use super::code_queries::{CodeQueries, Found};
use super::commands::Commands;
use super::grid;
use super::hang_queries::HangQueries;
use super::held_queries::HeldQueries;
use super::kept_profile::KeptProfiles;
use super::local_ranks::LocalRanks;
use super::metric_queries::MetricQueries;
use super::profile_queries::ProfileQueries;
use super::region_names::{self, Unnamed};
use super::saving::Saving;
use super::stack_queries::StackQueries;
use super::timeline;
use crate::time_point::Now;
use invivo_proto::control::tree::{Partial, Query, Up};
use invivo_proto::ids::WaveId;
use invivo_tbon::job_time::JobClock;

/// Questions that wait, for supervisors or for members of communicators, or have several parts.
#[derive(Default)]
pub struct Queries {
    pub held: HeldQueries,
    pub hang: HangQueries,
    pub stacks: StackQueries,
    pub code: CodeQueries,
    pub profile: ProfileQueries,
    pub kept_profile: KeptProfiles,
    pub metrics: MetricQueries,
    pub saving: Saving,
}

impl Queries {
    /// Begins a query. The answer, where no supervisor has to be requested for it.
    pub fn begin(
        &mut self,
        now: Now,
        wave: WaveId,
        query: Query,
        clock: &JobClock,
        commands: &Commands,
        local: &mut LocalRanks,
    ) -> Option<Up> {
        let partial = match query {
            Query::Hang { older_ns } => {
                let is_paused = commands.is_paused(now);
                return self.hang.begin(now, wave, older_ns, is_paused, local);
            }
            Query::Stacks { chosen, threads } => {
                return self.stacks.begin(now, wave, chosen, threads, local);
            }
            Query::Sites {
                rows_max,
                named,
                past,
            } => {
                let found = Found::Sites(local.feed.analyses.sites(rows_max, past));
                return self.names(now, wave, found, named, local);
            }
            Query::Regions {
                rows_max,
                named,
                past,
            } => {
                let is_off = |rank, region| local.is_off(rank, region);
                let mut found = local.feed.analyses.regions(rows_max, past, is_off);
                found.table.unrecorded = local.unrecorded_regions();
                return self.names(now, wave, Found::Regions(found), named, local);
            }
            Query::Profile { chosen, past: None } => {
                self.profile.begin(now, wave, chosen, local);
                return None;
            }
            Query::Profile {
                chosen,
                past: Some(past),
            } => {
                self.kept_profile.begin(now, wave, past, chosen);
                return None;
            }
            Query::Metrics => {
                self.metrics.begin(now, wave, local);
                return None;
            }
            Query::Save(query) => {
                let is_paused = commands.is_paused(now);
                let saved = self.saving.answer(now, query, clock, is_paused, local);
                Partial::Saved(Box::new(saved))
            }
            Query::Functions {
                rank_rows_max,
                past,
            } => Partial::Functions(local.feed.analyses.functions(rank_rows_max, past)),
            Query::Matrix { side_max, past } => {
                Partial::Matrix(local.feed.analyses.matrix(side_max, past))
            }
            Query::Analyses => {
                let from_ns = local.feed.cuts.reset_job_ns();
                let now_ns = local.time_point(now, clock).job_ns();
                Partial::Analyses(Box::new(local.feed.analyses.status(from_ns, now_ns)))
            }
            Query::Selection => Partial::Selection(Box::new(commands.selecting.status(local))),
            Query::WaitStates { ranks_max, past } => {
                Partial::WaitStates(Box::new(local.feed.analyses.wait_states(ranks_max, past)))
            }
            Query::Messages { past } => {
                Partial::Messages(Box::new(local.feed.analyses.messages(past)))
            }
            Query::Grid(asked) => Partial::Grid(Box::new(grid::answer(&asked, now, clock, local))),
            Query::Status => Partial::Status(answers::status(now, clock, commands, local)),
            Query::Buffers => {
                Partial::Buffers(answers::buffers(&local.time_point(now, clock), local))
            }
            Query::Records {
                location,
                from_ns,
                to_ns,
                after,
                max,
            } => Partial::Records(answers::kept_records(
                &local.time_point(now, clock),
                local,
                location,
                from_ns..to_ns,
                after,
                max,
            )),
            Query::Timeline { .. } => {
                let query = timeline::PageQuery::of(&query)?;
                let is_paused = commands.is_paused(now);
                let is_over = commands.recording.is_over();
                Partial::Timeline(timeline::page(now, query, clock, is_paused, is_over, local))
            }
        };

        self.named(now, wave, partial, local)
    }

    /// Gives what an answer is made of the names of functions in it. The answer, where no
    /// supervisor has to be requested for them.
    pub fn named(
        &mut self,
        now: Now,
        wave: WaveId,
        mut partial: Partial,
        local: &mut LocalRanks,
    ) -> Option<Up> {
        let functions = region_names::define(&mut partial, &local.feed.analyses);
        if !functions.is_empty() {
            let found = Found::Unnamed(Box::new(Unnamed { partial, functions }));
            return self.code.begin(now, wave, found, local);
        }
        // Coverage of this moment: the caller sees how much of the truth this answer is.
        Some(Up::Partial {
            wave,
            partial,
            coverage: local.coverage(now),
            missing: Vec::new(),
        })
    }

    /// Rows of code: with the names that are known, or with new ones (`named`), which supervisors
    /// look up.
    fn names(
        &mut self,
        now: Now,
        wave: WaveId,
        found: Found,
        named: bool,
        local: &mut LocalRanks,
    ) -> Option<Up> {
        match named {
            true => self.code.begin(now, wave, found, local),
            false => Some(self.code.known(now, wave, found, local)),
        }
    }

    /// Answers what is complete or has waited for long enough.
    pub fn due(
        &mut self,
        now: Now,
        is_paused: bool,
        clock: &JobClock,
        local: &mut LocalRanks,
    ) -> Vec<Up> {
        self.saving.give_up_forgotten(now, local);
        let mut answers = self.hang.due(now, is_paused, local);
        answers.extend(self.stacks.due(now, local));
        answers.extend(self.code.due(now, local));
        answers.extend(self.profile.due(now, local));
        answers.extend(self.metrics.due(now, local));
        answers.extend(self.kept_profile.due(now, clock, local));
        answers
    }
}
