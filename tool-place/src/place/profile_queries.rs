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
use invivo_analysis::profile as analysis;
use invivo_proto::control::local::ToSupervisor;
use invivo_proto::control::profile::{NODES_MAX, NoSamples, Node, Profile, Sampled};
use invivo_proto::control::stacks::Chosen;
use invivo_proto::control::tree::{Partial, Up};
use invivo_proto::ids::{Rank, WaveId};
use std::collections::{BTreeMap, BTreeSet};

/// How long the answers may take: well below what a wave may.
const PATIENCE_NS: u64 = 750_000_000;

/// Questions that wait for supervisors.
#[derive(Default)]
pub struct ProfileQueries {
    last: u32,
    under_way: Vec<Asked>,
}

struct Asked {
    id: u32,
    wave: WaveId,
    begun_ns: u64,
    awaited: BTreeSet<Rank>,
    seen: BTreeMap<Rank, Result<(Sampled, Vec<Node>), NoSamples>>,
}

impl ProfileQueries {
    /// Begins to answer where ranks spend their time. The answer, where no supervisor has to be
    /// asked.
    pub fn begin(
        &mut self,
        now: Now,
        wave: WaveId,
        chosen: Chosen,
        local: &mut LocalRanks,
    ) -> Option<Up> {
        self.last = self.last.wrapping_add(1);
        let mut asked = Asked {
            id: self.last,
            wave,
            begun_ns: now.ns,
            awaited: BTreeSet::new(),
            seen: BTreeMap::new(),
        };
        for rank in local.numbers().filter(|rank| chosen.holds(*rank)) {
            // Also of one that has ended: its supervisor stays until it is let go.
            if local.tell(rank, &ToSupervisor::Profile { profile: asked.id }) {
                asked.awaited.insert(rank);
                continue;
            }
            let life = local.index(rank).map(|index| local.ranks[index].life);
            let why = match life {
                Some(Life::Absent) => NoSamples::Starting,
                Some(Life::Alive | Life::Ending) => NoSamples::Silent,
                Some(Life::Finished) | None => NoSamples::Ended,
            };
            asked.seen.insert(rank, Err(why));
        }
        if asked.awaited.is_empty() {
            return Some(answer(now, asked, local));
        }
        self.under_way.push(asked);
        None
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
        let Some(asked) = self.under_way.iter_mut().find(|asked| asked.id == id) else {
            return;
        };
        if !asked.awaited.contains(&rank) {
            return;
        }
        let of = asked.seen.entry(rank);
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
            asked.awaited.remove(&rank);
        }
    }

    /// Answers what is complete or has waited for long enough.
    pub fn due(&mut self, now: Now, local: &LocalRanks) -> Vec<Up> {
        let is_due = |asked: &mut Asked| {
            asked.awaited.is_empty() || now.ns.saturating_sub(asked.begun_ns) >= PATIENCE_NS
        };
        let due: Vec<Asked> = self.under_way.extract_if(.., is_due).collect();
        due.into_iter()
            .map(|asked| answer(now, asked, local))
            .collect()
    }
}

fn answer(now: Now, mut asked: Asked, local: &LocalRanks) -> Up {
    let mut profile = Profile::default();
    for rank in asked.awaited {
        // Half a tree would say that functions take no time which do.
        asked.seen.insert(rank, Err(NoSamples::Silent));
    }
    for (rank, seen) in asked.seen {
        analysis::add(&mut profile, rank, seen);
    }
    Up::Partial {
        wave: asked.wave,
        partial: Partial::Profile(Box::new(profile)),
        coverage: local.coverage(now),
        missing: Vec::new(),
    }
}
