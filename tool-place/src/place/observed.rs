//! The ranks of a saved observation: what their buffers kept goes through the analyses of a tool
//! place once more, and questions are answered as by one.
//!
//! Nothing runs here. Time stands still where the observation ends, and a tick is a ns of job time.

use super::commands::Commands;
use super::kept_profile::Asked;
use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use super::queries::Queries;
use crate::contexts::OutOfOrder;
use crate::memory::MemoryError;
use crate::rank::observed::{Kept, ObservedLocation};
use crate::store::{Keeping, KeepsSamples};
use crate::time_point::Now;
use invivo_analysis::switches::Switches;
use invivo_mpi_link::clock::{NodeClock, Reading};
use invivo_otfx::Attributes;
use invivo_proto::control::analyses::{Analysis, AnalysisSet};
use invivo_proto::control::contexts::Context;
use invivo_proto::control::profile::Past;
use invivo_proto::control::results::{Coverage, Group, RankState};
use invivo_proto::control::stacks::Chosen;
use invivo_proto::control::strategy::Strategy;
use invivo_proto::control::tree::{Partial, Query, Up};
use invivo_proto::definition::{Definition, DefinitionError};
use invivo_proto::ids::{CommId, LocationId, Rank, RegionId, WaveId};
use invivo_proto::packet::DropReason;
use invivo_tbon::job_time::JobClock;
use invivo_tbon::layout::{FanIn, FanInError, Layout, LayoutError, Policy};

/// What an observation is of.
#[derive(Clone, Copy, Debug)]
pub struct ObservedJob {
    /// Ranks of the application.
    pub ranks: u32,
    /// Since when its calls are known, in job time: where the axis of time begins.
    pub from_ns: u64,
    /// What lies before that counts for nothing: it is not of all ranks.
    pub is_cut: bool,
    /// Where it ends, in job time.
    pub to_ns: u64,
    /// How far job time may be off.
    pub clock_error_ns: u64,
    /// What buffers kept when not everything fitted.
    pub strategy: Strategy,
}

/// Why an observation cannot be taken up.
#[derive(Debug, thiserror::Error)]
pub enum ObservedError {
    /// No job has so many ranks.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// No place has so many ranks.
    #[error(transparent)]
    FanIn(#[from] FanInError),
    /// There is no memory for a rank.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// It names a rank that the job has not.
    #[error("the job has no rank {0}")]
    NoRank(Rank),
}

/// What a thread did with the regions of the program, in ns of job time.
#[derive(Clone, Copy, Debug)]
pub enum RegionStep {
    /// It entered one.
    Enter(u64, RegionId),
    /// It was in MPI, from then to then.
    Call(u64, u64),
    /// It left the one that it had entered last.
    Leave(u64),
}

/// The ranks of an observation.
pub struct Observed {
    local: LocalRanks,
    commands: Commands,
    queries: Queries,
    keeping: Keeping,
    clock: JobClock,
    now: Now,
    /// What lies before counts for nothing.
    since: u64,
    locations: Vec<ObservedLocation>,
}

impl Observed {
    /// Of a job, without any location yet.
    ///
    /// # Errors
    /// When there is no such job.
    pub fn new(job: &ObservedJob) -> Result<Observed, ObservedError> {
        // One place for all of them.
        let fan_in = FanIn::new(&[job.ranks])?;
        let layout = Layout::for_app(job.ranks, fan_in, Policy::Tail)?;
        let end = Reading {
            ticks: job.to_ns,
            ns: job.to_ns,
            width_ticks: 0,
        };
        let node = NodeClock::from_readings(end, end);
        let (clock, now) = (
            JobClock::root(),
            Now {
                ns: job.to_ns,
                ticks: job.to_ns,
            },
        );
        let keeping = Keeping::new(job.strategy, &node, KeepsSamples::No);
        let mut local = LocalRanks::new(layout, layout.place(0), None, node);
        // Buffers keep no call sites, but how calls are distributed is kept with these.
        local.feed.analyses.begin(Switches::new(AnalysisSet::ALL));
        local.seen_since(job.from_ns);
        local.feed.analyses.time_since(job.from_ns);
        local.feed.analyses.set_time(now, &clock);
        local
            .feed
            .analyses
            .traffic()
            .set_clock_error(job.clock_error_ns);
        Ok(Observed {
            commands: Commands::new(local.set()),
            queries: Queries::default(),
            local,
            keeping,
            clock,
            now,
            since: if job.is_cut { job.from_ns } else { 0 },
            locations: Vec::new(),
        })
    }

    /// Adds a location, with so many bytes for a buffer of its calls.
    ///
    /// # Errors
    /// When the job has no such rank, or there is no memory.
    pub fn location(
        &mut self,
        of: &ObservedLocation,
        buffer_bytes: u64,
    ) -> Result<(), ObservedError> {
        let rank = of.id.rank;
        let index = self.local.index(rank).ok_or(ObservedError::NoRank(rank))?;
        let (ranks, feed) = (self.local.len() as u32, &mut self.local.feed);
        feed.budget.begin(buffer_bytes, buffer_bytes);
        // One that does not fit leaves it a flight recorder: there is room for all in any case.
        let _ = feed.budget.keep(&self.keeping);
        let one = &mut self.local.ranks[index];
        one.records.remember(of, ranks, feed)?;
        if one.life == Life::Absent {
            one.was_paused = of.state == RankState::Paused;
            one.life = match of.state {
                RankState::Finished => Life::Finished,
                _ => Life::Alive,
            };
        }
        // Messages of what is missing have no partner here. Calls that are not selected have none.
        let not_selected = of.ledger.dropped[DropReason::NotSelected as usize];
        let dropped = of.ledger.dropped.iter().sum::<u64>() - not_selected;
        let lost_until = match dropped + of.ledger.dropped_by_place {
            0 => of.gone_until_ns,
            _ => Some(self.now.ns),
        };
        if let Some(until_ns) = lost_until {
            feed.analyses.lost(rank, until_ns);
        }
        self.locations.push(*of);
        Ok(())
    }

    /// A rank was paused, in job time; before its calls, and in order of the begins of all.
    pub fn pause(&mut self, rank: Rank, from_ns: u64, to_ns: u64) {
        if self.local.index(rank).is_some() {
            let analyses = &mut self.local.feed.analyses;
            analyses.pause(rank, from_ns);
            analyses.resume(to_ns);
        }
    }

    /// What a rank's number for a communicator means.
    ///
    /// # Errors
    /// When the definition is malformed.
    pub fn define(
        &mut self,
        rank: Rank,
        definition: &Definition<'_>,
    ) -> Result<(), DefinitionError> {
        self.local.feed.analyses.define(rank, definition)
    }

    /// The calling contexts of a rank's samples, by their numbers, from 1.
    ///
    /// # Errors
    /// When they are no tree.
    pub fn contexts(&mut self, rank: Rank, all: Vec<Context>) -> Result<(), OutOfOrder> {
        match self.local.index(rank) {
            Some(index) => self.local.ranks[index].records.met(1, all),
            None => Ok(()),
        }
    }

    /// How often a rank was sampled when: since then, in job time, a unit of ordinals stands for so
    /// many ns.
    pub fn paced(&mut self, rank: Rank, since_ns: u64, unit_ns: u64) {
        if let Some(index) = self.local.index(rank) {
            self.local.ranks[index].records.paced(since_ns, unit_ns);
        }
    }

    /// Members of communicators.
    pub fn learn_groups(&mut self, groups: impl IntoIterator<Item = (CommId, Group)>) {
        let analyses = &mut self.local.feed.analyses;
        analyses.learn_groups(groups.into_iter().collect());
        analyses.resolve();
    }

    /// What was kept, in order of the ends of all. Times are job time.
    pub fn record(
        &mut self,
        of: LocationId,
        occupant: u32,
        kept: Kept<'_>,
        attributes: Attributes,
    ) {
        let Some(index) = self.local.index(of.rank) else {
            return;
        };
        let records = &mut self.local.ranks[index].records;
        let whose = (usize::from(of.thread), occupant);
        let feed = &mut self.local.feed;
        records.observe(whose, kept, attributes, self.since, feed);
    }

    /// What lies before that counts for nothing, in job time.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// What a thread did with the regions of the program, in the order of time. Times are job time.
    pub fn region(&mut self, of: LocationId, step: RegionStep) {
        let feed = &mut self.local.feed;
        let (mut sink, cuts) = (feed.analyses.sink(of), &feed.cuts);
        let counted = |time: u64| time.max(self.since);
        match step {
            RegionStep::Enter(time, region) => sink.enter(cuts, counted(time), region),
            RegionStep::Call(begin, end) => {
                sink.spend(cuts, counted(begin), false);
                sink.spend(cuts, counted(end), true);
            }
            RegionStep::Leave(time) => {
                sink.leave(cuts, counted(time));
            }
        }
    }

    /// All calls have come.
    pub fn settle(&mut self) {
        for of in &self.locations {
            if let Some(index) = self.local.index(of.id.rank) {
                self.local.ranks[index].records.settle(of);
            }
        }
        self.local.feed.analyses.resolve();
    }

    /// The answer to a question; nothing where only somebody at a running rank could tell.
    pub fn answer(&mut self, query: Query) -> Option<(Partial, Coverage)> {
        if matches!(&query, Query::Grid(asked) if !asked.metric.is_of_calls()) {
            return None;
        }
        if matches!(
            query,
            Query::Hang { .. }
                | Query::Stacks { .. }
                | Query::Sites { .. }
                | Query::Functions { past: Some(_), .. }
                | Query::WaitStates { past: Some(_), .. }
                | Query::Matrix { past: Some(_), .. }
                | Query::Messages { past: Some(_) }
                | Query::Regions { past: Some(_), .. }
                | Query::Selection
                | Query::Metrics
        ) {
            return None;
        }
        if let Query::Profile { chosen, past } = query {
            return Some(self.profile(chosen, past));
        }
        let answer = self.queries.begin(
            self.now,
            WaveId(0),
            query,
            &self.clock,
            &self.commands,
            &mut self.local,
        );
        match answer {
            Some(Up::Partial {
                mut partial,
                mut coverage,
                ..
            }) => {
                if let Partial::Analyses(status) = &mut partial {
                    let sites = &mut status.of[Analysis::Sites as usize];
                    (sites.on, sites.off) = (0, sites.on);
                    sites.gaps.last = vec![(0, u64::MAX)];
                }
                // No time of this process was taken from the job.
                coverage.tool_cpu_ns = 0;
                Some((partial, coverage))
            }
            _ => None,
        }
    }

    /// Where these ranks spent this time: all that is known, where nothing is said of it.
    fn profile(&self, chosen: Chosen, past: Option<Past>) -> (Partial, Coverage) {
        let moment = self.local.time_point(self.now, &self.clock);
        let all = Past {
            from_ns: self.since,
            to_ns: moment.job_ns(),
        };
        let mut asked = Asked::new(past.unwrap_or(all), chosen);
        while !asked.add(&moment, &self.local) {}
        let profile = asked.answer(&moment, &self.local);
        let coverage = Coverage {
            tool_cpu_ns: 0,
            ..self.local.coverage(self.now)
        };
        (Partial::Profile(Box::new(profile)), coverage)
    }
}

#[cfg(test)]
mod tests;
