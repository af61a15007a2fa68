//! Answers where the ranks spent a time in the past, by the samples that buffers keep.
//!
//! Some samples are added up in each step of the place, which takes packets in between.

use super::local_rank::{Life, LocalRank};
use super::local_ranks::LocalRanks;
use crate::rank::kept_profile::{KeptSamples, STEP_SAMPLES};
use crate::time_point::{Now, TimePoint};
use invivo_analysis::profile::Adding;
use invivo_proto::control::profile::{KeptTime, NoSamples, Past, Profile};
use invivo_proto::control::stacks::Chosen;
use invivo_proto::control::tree::{Partial, Up};
use invivo_proto::ids::{Rank, WaveId};
use invivo_tbon::job_time::JobClock;
use std::collections::VecDeque;

/// How long an answer may take: well below what a wave may. Ranks that are not added up by then are
/// reported as silent.
const PATIENCE_NS: u64 = 750_000_000;

/// Questions of the root, one after the other.
#[derive(Default)]
pub struct KeptProfiles {
    asked: VecDeque<Waiting>,
}

/// A question, the waves that ask it, and since when.
struct Waiting {
    waves: Vec<WaveId>,
    begun: Now,
    asked: Asked,
}

impl KeptProfiles {
    /// Begins to answer; the answer comes by [`KeptProfiles::due`]. The same question of several
    /// is answered once.
    pub fn begin(&mut self, now: Now, wave: WaveId, past: Past, chosen: Chosen) {
        let same = |one: &&mut Waiting| one.asked.past == past && one.asked.chosen == chosen;
        match self.asked.iter_mut().find(same) {
            Some(one) => one.waves.push(wave),
            None => self.asked.push_back(Waiting {
                waves: vec![wave],
                begun: now,
                asked: Asked::new(past, chosen),
            }),
        }
    }

    /// Adds up some more; the answers to the first question, once it is complete or has waited for
    /// long enough.
    pub fn due(&mut self, now: Now, clock: &JobClock, local: &LocalRanks) -> Vec<Up> {
        let Some(Waiting { begun, asked, .. }) = self.asked.front_mut() else {
            return Vec::new();
        };
        let is_late = now.ns.saturating_sub(begun.ns) >= PATIENCE_NS;
        // Also where it is late already: little is added up in one go.
        if !asked.add(&local.time_point(*begun, clock), local) && !is_late {
            return Vec::new();
        }
        let Some(first) = self.asked.pop_front() else {
            return Vec::new();
        };
        let profile = first
            .asked
            .answer(&local.time_point(first.begun, clock), local);
        let coverage = local.coverage(now);
        let answer = |wave| Up::Partial {
            wave,
            partial: Partial::Profile(Box::new(profile.clone())),
            coverage,
            missing: Vec::new(),
        };
        first.waves.into_iter().map(answer).collect()
    }

    /// Whether something is to be added up.
    pub fn is_busy(&self) -> bool {
        !self.asked.is_empty()
    }
}

/// A question with what has been added up for it.
pub struct Asked {
    past: Past,
    chosen: Chosen,
    /// The place's rank of this index is next.
    next: usize,
    /// What is added up of it.
    of_rank: Option<KeptSamples>,
    cut_ranks: u32,
    gone_until_ns: u64,
    not_kept: u64,
    adding: Adding,
    /// What was reset behind the first step is not what was asked for.
    reset_ns: Option<u64>,
}

impl Asked {
    /// Of this time, of these ranks.
    pub fn new(past: Past, chosen: Chosen) -> Asked {
        Asked {
            past,
            chosen,
            next: 0,
            of_rank: None,
            cut_ranks: 0,
            gone_until_ns: 0,
            not_kept: 0,
            adding: Adding::default(),
            reset_ns: None,
        }
    }

    /// Adds up some more, as asked at this moment; whether that was all.
    pub fn add(&mut self, moment: &TimePoint<'_>, local: &LocalRanks) -> bool {
        let reset_ns = local.feed.cuts.reset_job_ns();
        if *self.reset_ns.get_or_insert(reset_ns) != reset_ns {
            *self = Asked::new(self.past, self.chosen);
        }
        let mut left = STEP_SAMPLES;
        while left > 0 {
            let chosen = self.chosen;
            let mut others = local.iter().enumerate().skip(self.next);
            let next = others.find(|(_, (rank, _))| chosen.holds(*rank));
            let Some((index, (rank, one))) = next else {
                return true;
            };
            self.next = index;
            if !self.add_of(rank, one, moment, local, &mut left) {
                return false;
            }
            self.next += 1;
        }
        false
    }

    /// Adds up some more of a rank; whether that was all of it.
    fn add_of(
        &mut self,
        rank: Rank,
        one: &LocalRank,
        moment: &TimePoint<'_>,
        local: &LocalRanks,
        left: &mut usize,
    ) -> bool {
        let records = &one.records;
        let begun = match (self.of_rank.take(), one.life) {
            (Some(of_rank), _) => Ok(of_rank),
            (None, Life::Absent) => Err(NoSamples::Starting),
            (None, _) => {
                let recorded: Vec<(u64, u64)> = local.feed.cuts.recorded().collect();
                records.begin_kept(self.past, moment, &recorded)
            }
        };
        let told = match begun {
            Ok(mut of_rank) => {
                if !records.add_kept(&mut of_rank, left) {
                    self.of_rank = Some(of_rank);
                    return false;
                }
                Ok(records.kept_profile(of_rank))
            }
            Err(why) => Err(why),
        };
        if let Ok(told) = &told {
            self.not_kept = self.not_kept.saturating_add(told.not_kept);
            if let Some(ticks) = told.gone_until {
                self.cut_ranks += 1;
                self.gone_until_ns = self.gone_until_ns.max(moment.job_of_ticks(ticks));
            }
        }
        self.adding
            .add(rank, told.map(|told| (told.seen, told.nodes)));
        true
    }

    /// What has been added up, as asked at this moment.
    pub fn answer(mut self, moment: &TimePoint<'_>, local: &LocalRanks) -> Profile {
        for (rank, _) in local.iter().skip(self.next) {
            if self.chosen.holds(rank) {
                // Half a rank's samples would say that functions take no time which do.
                self.adding.add(rank, Err(NoSamples::Silent));
            }
        }
        Profile {
            kept: Some(KeptTime {
                of: Past {
                    from_ns: self.past.from_ns,
                    to_ns: self.past.to_ns.min(moment.job_ns()),
                },
                cut_ranks: self.cut_ranks,
                gone_until_ns: self.gone_until_ns,
                not_kept: self.not_kept,
            }),
            ..self.adding.profile()
        }
    }
}
