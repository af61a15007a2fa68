//! A small job: collectives on several communicators, with the calls that their members make.

use crate::testing::{RANKS, peers_on};
use invivo_proto::control::peer::Clipping;
use invivo_proto::ids::{CommLocal, Rank, RegionId};
use invivo_proto::mpi::{FUNCTIONS, peer};
use invivo_proto::record::{Call, Facts, Part, RecordKind};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::vec::Vec;

/// Ticks are no nanoseconds.
pub fn job_ns(ticks: u64) -> u64 {
    3 * ticks + 7
}

/// The number of a function.
pub fn region(name: &str) -> RegionId {
    let at = FUNCTIONS.iter().position(|function| function.name == name);
    RegionId(at.expect("a function") as u16)
}

/// One member's call: the one in which it waits.
#[derive(Clone, Debug)]
pub struct Member {
    pub rank: Rank,
    /// Of a non-blocking collective with the facts of the call that posts it.
    pub call: Call,
    /// When it is entered or posted, in ticks.
    pub entered: u64,
    /// The function in which it waits.
    pub waits_in: RegionId,
    pub clipping: Clipping,
}

/// A call as it is recorded.
#[derive(Clone, Debug)]
pub struct Event {
    pub rank: Rank,
    pub call: Call,
    pub parts: Vec<Part>,
    pub clipping: Clipping,
}

/// One collective: its members in the order of their communicator.
#[derive(Clone, Debug)]
pub struct Collected {
    pub function: &'static str,
    pub root: usize,
    pub members: Vec<Member>,
}

impl Member {
    pub fn begin_ns(&self) -> u64 {
        job_ns(self.call.end - self.call.duration)
    }

    pub fn end_ns(&self) -> u64 {
        job_ns(self.call.end)
    }

    pub fn enter_ns(&self) -> u64 {
        job_ns(self.entered)
    }

    pub fn is_posted(&self) -> bool {
        self.call.facts.kind == RecordKind::PostCollective
    }

    /// The call in which it waits, as others of its rank may.
    pub fn waits_at(&self) -> (Rank, u64) {
        (self.rank, self.begin_ns())
    }
}

/// What each rank records: a call that completes several collectives completes all of them.
pub fn events<'a>(members: impl Iterator<Item = &'a Member>) -> Vec<VecDeque<Event>> {
    let mut all: Vec<Vec<Event>> = (0..RANKS).map(|_| Vec::new()).collect();
    for member in members {
        let of_rank = &mut all[member.rank.0 as usize];
        let event = |call: Call| Event {
            rank: member.rank,
            call,
            parts: Vec::new(),
            clipping: member.clipping,
        };
        if !member.is_posted() {
            of_rank.push(event(member.call));
            continue;
        }
        let post = Call {
            end: member.entered + 1,
            duration: 1,
            ..member.call
        };
        of_rank.push(event(post));
        let completes = Facts {
            kind: RecordKind::CompletedCollective,
            ..member.call.facts
        };
        let part = Part {
            facts: completes,
            request: member.call.request,
            posted: member.entered,
        };
        let is_same = |event: &&mut Event| event.call.end == member.call.end;
        if let Some(same) = of_rank.iter_mut().find(is_same) {
            same.parts.push(part);
            continue;
        }
        let mut waits = event(Call {
            facts: Facts {
                region: member.waits_in,
                ..Facts::default()
            },
            end: member.call.end,
            duration: member.call.duration,
            ..Call::default()
        });
        waits.parts.push(part);
        of_rank.push(waits);
    }
    for of_rank in &mut all {
        of_rank.sort_by_key(|event| event.call.end);
    }
    all.into_iter().map(VecDeque::from).collect()
}

/// The functions, and what the non-blocking ones are called.
pub const NAMES: [(&str, &str); 11] = [
    ("MPI_Barrier", "MPI_Ibarrier"),
    ("MPI_Allreduce", "MPI_Iallreduce"),
    ("MPI_Reduce_scatter_block_c", "MPI_Ireduce_scatter_block_c"),
    ("MPI_Allgatherv", "MPI_Iallgatherv"),
    ("MPI_Bcast", "MPI_Ibcast_c"),
    ("MPI_Scatterv_c", "MPI_Iscatterv"),
    ("MPI_Reduce", "MPI_Ireduce"),
    ("MPI_Gather", "MPI_Igather"),
    ("MPI_Scan", "MPI_Iscan"),
    ("MPI_Exscan_c", "MPI_Iexscan"),
    // This is none of the forms.
    ("MPI_Alltoallv", "MPI_Ialltoallv"),
];

/// What happens: a collective of some function, by the members of the communicator of some rank.
#[derive(Clone, Debug)]
pub struct Step {
    what: usize,
    comm: u32,
    of: usize,
    root: usize,
    /// It is non-blocking.
    posts: bool,
    /// Non-blocking ones that are under way are waited for first, or only looked at.
    ends: bool,
    looks: bool,
    /// Of each member: how much later it comes, how long it stays, its bytes.
    times: Vec<(u64, u64, u64, u64)>,
}

impl Step {
    /// Its non-blocking collectives are waited for one by one.
    pub fn one_by_one(self) -> Step {
        Step { ends: true, ..self }
    }
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = || prop_oneof![4 => Just(8u64), 1 => Just(0u64)];
    let times = (0u64..300, 0u64..500, bytes(), bytes());
    let step = (
        0..NAMES.len(),
        prop::sample::select(&[0u32, 0, 2, 3, 3][..]),
        0..RANKS as usize,
        0usize..RANKS as usize,
        prop::collection::vec(times, RANKS as usize),
        (
            prop::bool::weighted(0.3),
            any::<bool>(),
            prop::bool::weighted(0.2),
        ),
    );
    let step = step.prop_map(|(what, comm, of, root, times, (posts, ends, looks))| Step {
        what,
        comm,
        of,
        root,
        posts,
        ends,
        looks,
        times,
    });
    prop::collection::vec(step, 0..60)
}

/// Non-blocking collectives of a rank that are under way: which, and which of its members it is.
type Pending = Vec<(usize, usize)>;

/// A rank waits from then on, so long, for all that it has under way.
fn wait_for(
    all: &mut [Collected],
    pending: &mut Pending,
    looks: bool,
    begin: u64,
    stays: u64,
) -> u64 {
    if pending.is_empty() {
        return begin;
    }
    for (one, member) in pending.drain(..) {
        let member = &mut all[one].members[member];
        member.call.end = begin + 1 + stays;
        member.call.duration = stays;
        member.waits_in = region(if looks { "MPI_Testall" } else { "MPI_Waitall" });
    }
    begin + 1 + stays
}

/// Runs the steps.
pub fn run(steps: &[Step]) -> Vec<Collected> {
    let mut ready = [100u64; RANKS as usize];
    let mut requests = [0u64; RANKS as usize];
    let mut pending: [Pending; RANKS as usize] = Default::default();
    let mut ordinals: BTreeMap<(Rank, u32), u64> = BTreeMap::new();
    let mut all: Vec<Collected> = Vec::new();
    for step in steps {
        let ranks = peers_on(Rank(step.of as u32), CommLocal(step.comm));
        let root = step.root % ranks.len();
        let (function, posts) = NAMES[step.what];
        all.push(Collected {
            function,
            root,
            members: Vec::new(),
        });
        let number = all.len() - 1;
        for (at, &rank) in ranks.iter().enumerate() {
            let (later, stays, bytes_out, bytes_in) = step.times[at];
            let index = rank.0 as usize;
            let (ready, pending) = (&mut ready[index], &mut pending[index]);
            if step.ends || !step.posts {
                *ready = wait_for(&mut all, pending, step.looks, *ready, later / 2);
            }
            let entered = *ready + 1 + later;
            let ordinal = ordinals.entry((rank, step.comm)).or_default();
            let is_rooted = !matches!(step.what, 0..=3 | 8..=10);
            let facts = Facts {
                kind: match step.posts {
                    true => RecordKind::PostCollective,
                    false => RecordKind::Collective,
                },
                region: region(if step.posts { posts } else { function }),
                comm: CommLocal(step.comm),
                peer: if is_rooted { root as i32 } else { peer::NONE },
                bytes_out,
                bytes_in,
                ..Facts::default()
            };
            let stays = if step.posts { 1 } else { stays };
            *ready = entered + stays;
            requests[index] += u64::from(step.posts);
            all[number].members.push(Member {
                rank,
                call: Call {
                    facts,
                    end: entered + stays,
                    duration: stays,
                    ordinal: *ordinal,
                    request: requests[index],
                },
                entered,
                waits_in: facts.region,
                clipping: Clipping::Whole,
            });
            if step.posts {
                pending.push((number, at));
            }
            *ordinal += 1;
        }
    }
    for (ready, pending) in ready.iter().zip(&mut pending) {
        wait_for(&mut all, pending, false, *ready, 100);
    }
    all
}
