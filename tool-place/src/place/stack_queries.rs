//! Answers stack queries: supervisors unwind their ranks' threads and resolve new addresses.
//!
//! Each supervisor gives its rank's paths as addresses in files; ranks run the same program, so
//! most addresses are those of others. The place remembers what is at them and asks for each new
//! one once, from the supervisor of a rank that was there: it sees the program's files and reads
//! their tables for the whole node. So a query costs each node one reading of the symbols, in a
//! tool process, and the answer that goes up holds functions.
//!
//! ```text
//! Query -> Unwind to each supervisor -> UnwoundThread of each thread
//!       -> Name what is new -> Named -> the answer
//! ```
//!
//! A rank whose supervisor does not answer in time is reported as silent; a name that comes too
//! late is in the next answer.

use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use super::stack_names::{StackNames, code};
use crate::time_point::Now;
use invivo_analysis::stacks as analysis;
use invivo_proto::control::local::{
    Module, Named, OFFSETS_MAX, THREADS_MAX, ToSupervisor, UnwoundThread,
};
use invivo_proto::control::stacks::{Chosen, Stacks, UnstoppedReason};
use invivo_proto::control::tree::{Partial, Up};
use invivo_proto::ids::{Rank, WaveId};
use std::collections::{BTreeMap, BTreeSet};

/// How long paths are waited for: a supervisor begins with no thread after three quarters of it,
/// and mostly has one within a tenth of a millisecond.
const PATHS_NS: u64 = 400_000_000;
/// How long the whole may take: well below what a wave may. Reading the tables of a large program
/// takes longer, once.
const PATIENCE_NS: u64 = 750_000_000;
/// Addresses of files, by the files' numbers in [`StackNames`].
type Address = (usize, u64);

/// Questions that wait for supervisors, and the names so far.
#[derive(Default)]
pub struct StackQueries {
    last: u32,
    under_way: Vec<Walk>,
    names: StackNames,
}

struct Walk {
    id: u32,
    wave: WaveId,
    begun_ns: u64,
    awaited: BTreeSet<Rank>,
    seen: BTreeMap<Rank, SeenRank>,
    /// Addresses whose names are to come; nothing until all paths are there.
    unnamed: Option<BTreeSet<Address>>,
}

/// What a supervisor has reported so far.
#[derive(Default)]
struct SeenRank {
    threads: Vec<UnwoundThread>,
    /// Threads that are to come.
    rest: u32,
}

impl StackQueries {
    /// Begins to answer where ranks are. The answer, where no supervisor has to be asked.
    pub fn begin(
        &mut self,
        now: Now,
        wave: WaveId,
        chosen: Chosen,
        threads: bool,
        local: &mut LocalRanks,
    ) -> Option<Up> {
        self.last = self.last.wrapping_add(1);
        let mut walk = Walk {
            id: self.last,
            wave,
            begun_ns: now.ns,
            awaited: BTreeSet::new(),
            seen: BTreeMap::new(),
            unnamed: None,
        };
        for index in 0..local.len() {
            let rank = local.rank(index);
            if !chosen.holds(rank) {
                continue;
            }

            let is_over = local.ranks[index].ended.is_some();
            if !is_over
                && local.tell(
                    rank,
                    &ToSupervisor::Unwind {
                        unwinding: walk.id,
                        threads,
                    },
                )
            {
                walk.awaited.insert(rank);
                continue;
            }

            let why = match local.ranks[index].life {
                _ if is_over => UnstoppedReason::Ended,
                Life::Absent => UnstoppedReason::Starting,
                Life::Finished => UnstoppedReason::Ended,
                Life::Alive | Life::Ending => UnstoppedReason::Silent,
            };
            let threads = vec![UnwoundThread::unknown(why)];
            walk.seen.insert(rank, SeenRank { threads, rest: 0 });
        }
        if walk.awaited.is_empty() {
            return Some(self.answer(now, walk, local));
        }
        self.under_way.push(walk);
        None
    }

    /// A supervisor has unwound a thread; `rest` more are to come.
    pub fn unwound(&mut self, rank: Rank, id: u32, walked: UnwoundThread, rest: u32) {
        let Some(walk) = self.under_way.iter_mut().find(|walk| walk.id == id) else {
            return;
        };
        if !walk.awaited.contains(&rank) {
            return;
        }
        let seen = walk.seen.entry(rank).or_default();
        // A supervisor's word is not trusted with our memory.
        if seen.threads.len() < THREADS_MAX {
            seen.threads.push(walked);
        }
        seen.rest = rest;
        if rest == 0 {
            walk.awaited.remove(&rank);
        }
    }

    /// A supervisor knows what is at these addresses.
    pub fn named(&mut self, module: &Module, named: Vec<(u64, Vec<Named>)>) {
        self.names.learn(module, &named);
    }

    /// Answers what is complete or has waited for long enough.
    pub fn due(&mut self, now: Now, local: &mut LocalRanks) -> Vec<Up> {
        // Taken out, as `ask_names` needs the whole of `self`.
        let mut waiting = std::mem::take(&mut self.under_way);
        for walk in &mut waiting {
            let age_ns = now.ns.saturating_sub(walk.begun_ns);
            if walk.unnamed.is_none() && (walk.awaited.is_empty() || age_ns >= PATHS_NS) {
                let unnamed = self.ask_names(&walk.seen, local);
                walk.unnamed = Some(unnamed);
            }
        }

        let names = &self.names;
        let is_due = |walk: &mut Walk| {
            let is_named =
                |unnamed: &BTreeSet<Address>| unnamed.iter().all(|address| names.has(*address));
            walk.unnamed.as_ref().is_some_and(is_named)
                || now.ns.saturating_sub(walk.begun_ns) >= PATIENCE_NS
        };

        let due: Vec<Walk> = waiting.extract_if(.., is_due).collect();
        waiting.append(&mut self.under_way);
        self.under_way = waiting;
        due.into_iter()
            .map(|walk| self.answer(now, walk, local))
            .collect()
    }

    /// Requests the names of new addresses; gives those that could be requested.
    fn ask_names(
        &mut self,
        seen: &BTreeMap<Rank, SeenRank>,
        local: &mut LocalRanks,
    ) -> BTreeSet<Address> {
        self.names.make_room();
        // Which rank was at each of them: the lowest.
        let mut new: BTreeMap<usize, BTreeMap<u64, Rank>> = BTreeMap::new();
        for (rank, seen) in seen {
            for walked in &seen.threads {
                for step in &walked.path {
                    let Some((module, offset)) = code(walked, *step) else {
                        continue;
                    };
                    let of = self.names.number(module);
                    if !self.names.has((of, offset)) {
                        new.entry(of).or_default().entry(offset).or_insert(*rank);
                    }
                }
            }
        }

        let mut asked = BTreeSet::new();
        for (of, offsets) in new {
            let mut by_rank: BTreeMap<Rank, Vec<u64>> = BTreeMap::new();
            for (offset, rank) in offsets {
                by_rank.entry(rank).or_default().push(offset);
            }
            for (rank, offsets) in by_rank {
                for offsets in offsets.chunks(OFFSETS_MAX) {
                    let question = ToSupervisor::Name {
                        module: self.names.module(of).clone(),
                        offsets: offsets.to_vec(),
                    };
                    // An address that nobody can be asked about is not waited for.
                    if local.tell(rank, &question) {
                        asked.extend(offsets.iter().map(|offset| (of, *offset)));
                    }
                }
            }
        }
        self.names.want(&asked);
        asked
    }

    fn answer(&self, now: Now, walk: Walk, local: &LocalRanks) -> Up {
        let mut stacks = Stacks::default();
        for rank in walk.awaited {
            // One that began to answer has answered in part.
            if !walk.seen.contains_key(&rank) {
                analysis::add(
                    &mut stacks,
                    rank,
                    vec![
                        self.names
                            .thread(UnwoundThread::unknown(UnstoppedReason::Silent)),
                    ],
                    0,
                );
            }
        }

        for (rank, seen) in walk.seen {
            let threads = seen.threads.into_iter();
            let left_out = threads
                .as_slice()
                .iter()
                .map(|walked| u64::from(walked.left_out));
            // Threads that were announced and have not come by now are left out, too.
            let left_out = u64::from(seen.rest) + left_out.sum::<u64>();
            let threads = threads.map(|walked| self.names.thread(walked)).collect();
            analysis::add(&mut stacks, rank, threads, left_out);
        }
        Up::Partial {
            wave: walk.wave,
            partial: Partial::Stacks(Box::new(stacks)),
            coverage: local.coverage(now),
            missing: Vec::new(),
        }
    }
}
