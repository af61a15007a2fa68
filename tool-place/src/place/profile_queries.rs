//! Answers queries about samples: supervisors say what their ranks' samplers have seen.
//!
//! ```text
//! Query -> Profile to each supervisor -> parts of each rank's tree -> the answer
//! ```
//!
//! A rank whose supervisor does not answer in time is reported as silent.

use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use crate::time_point::Now;
use invivo_analysis::profile::Adding;
use invivo_proto::control::local::ToSupervisor;
use invivo_proto::control::profile::{NODES_MAX, NoSamples, Node, Profile, Sampled};
use invivo_proto::control::stacks::Chosen;
use invivo_proto::control::tree::{Partial, Up};
use invivo_proto::ids::{Rank, WaveId};
use std::collections::{BTreeMap, BTreeSet};

/// How long the answers may take: well below what a wave may.
const PATIENCE_NS: u64 = 750_000_000;

/// Questions that wait for supervisors. A sampler answers one at a time, so that what is asked
/// while one is under way is asked behind it, all of it at once.
#[derive(Default)]
pub struct ProfileQueries {
    last: u32,
    waiting: Vec<Asked>,
    round: Option<Round>,
}

/// A question of the root.
struct Asked {
    wave: WaveId,
    chosen: Chosen,
}

/// A question to the supervisors, by which some of the root are answered.
struct Round {
    id: u32,
    begun_ns: u64,
    asked: Vec<Asked>,
    awaited: BTreeSet<Rank>,
    seen: BTreeMap<Rank, Result<(Sampled, Vec<Node>), NoSamples>>,
    /// Parts that are to come of a rank that has begun to answer.
    rest: BTreeMap<Rank, u32>,
}

impl Round {
    fn is_due(&self, now: Now) -> bool {
        self.awaited.is_empty() || now.ns.saturating_sub(self.begun_ns) >= PATIENCE_NS
    }
}

impl ProfileQueries {
    /// Begins to answer where ranks spend their time. What can be answered now comes by
    /// [`ProfileQueries::due`].
    pub fn begin(&mut self, now: Now, wave: WaveId, chosen: Chosen, local: &mut LocalRanks) {
        self.waiting.push(Asked { wave, chosen });
        if self.round.is_none() {
            self.ask(now, local);
        }
    }

    /// Asks the supervisors what is waited for.
    fn ask(&mut self, now: Now, local: &mut LocalRanks) {
        self.last = self.last.wrapping_add(1);
        let mut round = Round {
            id: self.last,
            begun_ns: now.ns,
            asked: std::mem::take(&mut self.waiting),
            awaited: BTreeSet::new(),
            seen: BTreeMap::new(),
            rest: BTreeMap::new(),
        };
        let is_asked = |rank: &Rank| round.asked.iter().any(|asked| asked.chosen.holds(*rank));
        for rank in local.numbers().filter(is_asked) {
            // Also of one that has ended: its supervisor stays until it is let go.
            if local.tell(rank, &ToSupervisor::Profile { profile: round.id }) {
                round.awaited.insert(rank);
                continue;
            }
            let life = local.index(rank).map(|index| local.ranks[index].life);
            let why = match life {
                Some(Life::Absent) => NoSamples::Starting,
                Some(Life::Alive | Life::Ending) => NoSamples::Silent,
                Some(Life::Finished) | None => NoSamples::Ended,
            };
            round.seen.insert(rank, Err(why));
        }
        self.round = Some(round);
    }

    /// A supervisor has said what was seen of its rank; `rest` more parts are to come.
    pub fn profiled(
        &mut self,
        rank: Rank,
        id: u32,
        seen: Result<Sampled, NoSamples>,
        nodes: Vec<Node>,
        rest: u32,
    ) {
        let Some(round) = self.round.as_mut().filter(|round| round.id == id) else {
            return;
        };
        if !round.awaited.contains(&rank) {
            return;
        }
        // Nodes hang below those of the part before: without it they would hang below others.
        let before = round.rest.insert(rank, rest);
        if before.is_some_and(|before| before != rest.saturating_add(1)) {
            return;
        }
        let of = round.seen.entry(rank);
        match (
            of.or_insert_with(|| seen.map(|seen| (seen, Vec::new()))),
            seen,
        ) {
            (Ok((_, all)), Ok(_)) => {
                // A supervisor's word is not trusted with our memory.
                let room = NODES_MAX - all.len().min(NODES_MAX);
                all.extend(nodes.into_iter().take(room));
            }
            (told, Err(why)) => *told = Err(why),
            (Err(_), Ok(_)) => {}
        }
        if rest == 0 {
            round.awaited.remove(&rank);
        }
    }

    /// A rank has no supervisor any more: nothing comes of it.
    pub fn lost(&mut self, rank: Rank) {
        if let Some(round) = &mut self.round
            && round.awaited.remove(&rank)
        {
            round.seen.insert(rank, Err(NoSamples::Ended));
        }
    }

    /// Answers what is complete or has waited for long enough, and asks what came meanwhile.
    pub fn due(&mut self, now: Now, local: &mut LocalRanks) -> Vec<Up> {
        let mut answers = Vec::new();
        while let Some(round) = self.round.take_if(|round| round.is_due(now)) {
            answers.extend(answered(now, round, local));
            if !self.waiting.is_empty() {
                self.ask(now, local);
            }
        }
        answers
    }
}

fn answered(now: Now, mut round: Round, local: &LocalRanks) -> Vec<Up> {
    for rank in round.awaited {
        // Half a tree would say that functions take no time which do.
        round.seen.insert(rank, Err(NoSamples::Silent));
    }
    let coverage = local.coverage(now);
    let mut made: Vec<(Chosen, Profile)> = Vec::new();
    let mut answer = |asked: &Asked| {
        // The same question of several is answered once.
        let known = made.iter().find(|(chosen, _)| *chosen == asked.chosen);
        let profile = known.map(|(_, profile)| profile.clone());
        let profile = profile.unwrap_or_else(|| {
            let mut adding = Adding::default();
            for (rank, seen) in &round.seen {
                if asked.chosen.holds(*rank) {
                    adding.add(*rank, seen.clone());
                }
            }
            let profile = adding.profile();
            made.push((asked.chosen, profile.clone()));
            profile
        });
        Up::Partial {
            wave: asked.wave,
            partial: Partial::Profile(Box::new(profile)),
            coverage,
            missing: Vec::new(),
        }
    };
    round.asked.iter().map(&mut answer).collect()
}
