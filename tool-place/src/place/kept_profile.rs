//! Answers where the ranks spent a time in the past, by the samples that buffers keep.
//!
//! Some samples are added up in each step of the place, which takes packets in between.

use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use crate::rank::kept_profile::KeptSamples;
use crate::time_point::{Now, TimePoint};
use invivo_analysis::profile::Adding;
use invivo_proto::control::profile::{KeptTime, NoSamples, Past, Profile};
use invivo_proto::control::stacks::Chosen;
use invivo_proto::control::tree::{Partial, Up};
use invivo_proto::ids::WaveId;
use invivo_tbon::job_time::JobClock;
use std::collections::VecDeque;

/// How long an answer may take: well below what a wave may. Ranks that are not added up by then are
/// reported as silent.
const PATIENCE_NS: u64 = 750_000_000;

/// Questions of the root, one after the other.
#[derive(Default)]
pub struct KeptProfiles {
    asked: VecDeque<(WaveId, Now, Asked)>,
}

impl KeptProfiles {
    /// Begins to answer; the answer comes by [`KeptProfiles::due`].
    pub fn begin(&mut self, now: Now, wave: WaveId, asked: Asked) {
        self.asked.push_back((wave, now, asked));
    }

    /// Adds up some more; the answer of the first question, once it is complete or has waited for
    /// long enough.
    pub fn due(&mut self, now: Now, clock: &JobClock, local: &LocalRanks) -> Option<Up> {
        let (_, begun, asked) = self.asked.front_mut()?;
        let is_late = now.ns.saturating_sub(begun.ns) >= PATIENCE_NS;
        if !is_late && !asked.add(&local.time_point(*begun, clock), local) {
            return None;
        }
        let (wave, begun, asked) = self.asked.pop_front()?;
        let profile = asked.answer(&local.time_point(begun, clock), local);
        Some(Up::Partial {
            wave,
            partial: Partial::Profile(Box::new(profile)),
            coverage: local.coverage(now),
            missing: Vec::new(),
        })
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
        }
    }

    /// Adds up some more, as asked at this moment; whether that was all.
    pub fn add(&mut self, moment: &TimePoint<'_>, local: &LocalRanks) -> bool {
        let chosen = self.chosen;
        let mut others = local.iter().enumerate().skip(self.next);
        let Some((index, (rank, one))) = others.find(|(_, (rank, _))| chosen.holds(*rank)) else {
            return true;
        };
        self.next = index;
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
                if !records.add_kept(&mut of_rank) {
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
        self.next += 1;
        false
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
