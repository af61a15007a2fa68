//! Builds the wait-for graph of a job: what each pending call needs, and from which ranks.

mod collectives;
mod findings;

use super::deadlock_search::Node;
use super::pairs;
use super::surroundings::{SETTLED_NS, Surroundings};
use crate::groups::Members;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use invivo_proto::control::hang::{
    CollectiveCall, Doing, Hang, Operation, Partner, Pending, Side, Threads,
};
use invivo_proto::ids::{CommId, Rank};

/// Members of a communicator that are written out. Of larger ones a receive from anybody may always
/// be met.
const MEMBERS_MAX: u64 = 4096;

/// The graph and what its nodes stand for: first the pending calls, then somebody who may come,
/// somebody who never will, and the collectives.
pub(super) struct WaitGraph<'a> {
    waits: &'a Hang,
    paired: Vec<Vec<bool>>,
    at: BTreeMap<Rank, usize>,
    finished: BTreeSet<Rank>,
    communicators: BTreeMap<CommId, Communicator>,
    /// One node for each collective and each part in it: all ranks with that part need the same.
    collectives: BTreeMap<(CollectiveCall, CollectivePart), usize>,
    pub(super) nodes: Vec<Node>,
}

/// What one rank needs in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CollectivePart {
    Everybody,
    Root,
    Somebody,
}

struct Communicator {
    /// How many members it has, where that is known.
    size: Option<u64>,
    /// The members, where they are known and not too many.
    members: Option<BTreeSet<Rank>>,
    /// Every rank of the job is one.
    is_world: bool,
    /// Members by number, as far as they were reported.
    told: Option<Members>,
}

impl Communicator {
    fn has(&self, rank: Rank) -> bool {
        self.is_world
            || self
                .members
                .as_ref()
                .is_some_and(|members| members.contains(&rank))
    }

    fn rank(&self, number: i32) -> Option<Rank> {
        let number = u32::try_from(number).ok()?;
        if self.is_world {
            return Some(Rank(number));
        }
        self.told.as_ref()?.rank(number)
    }
}

impl<'a> WaitGraph<'a> {
    /// `are_others_idle` says that threads count as idle that have called MPI and may do so again,
    /// beside the one that waits.
    pub(super) fn new(
        waits: &'a Hang,
        around: &Surroundings<'_>,
        are_others_idle: bool,
    ) -> WaitGraph<'a> {
        let pending = &waits.pending;
        let finished = waits.classes.get(&Doing::Finished);
        let mut graph = WaitGraph {
            waits,
            paired: pairs::paired(pending),
            at: pending
                .iter()
                .enumerate()
                .map(|(n, one)| (one.rank, n))
                .collect(),
            finished: finished
                .map(|class| class.named.iter().copied().collect())
                .unwrap_or_default(),
            communicators: BTreeMap::new(),
            collectives: BTreeMap::new(),
            nodes: Vec::new(),
        };

        graph.learn(around);

        for one in pending {
            for collective in collectives_of(one) {
                // Two helper nodes lie between calls and collectives: `free` and the one that is
                // gone.
                let next = pending.len() + 2 + graph.collectives.len();
                let part = graph.part(collective, one.rank);
                graph.collectives.entry((collective, part)).or_insert(next);
            }
        }

        let mut nodes: Vec<Node> = pending
            .iter()
            .enumerate()
            .map(|(n, one)| match one.doing {
                // The snapshot is not taken at one instant: a young call may be over already.
                Doing::Messages(_) | Doing::Collective(_) if one.since_ns < SETTLED_NS => {
                    Node::Free
                }
                // Another thread may do what its rank is waited for.
                Doing::Messages(_) | Doing::Collective(_) if may_go_on(one) && !are_others_idle => {
                    Node::Free
                }
                Doing::Collective(collective) => {
                    Node::Waits(vec![vec![graph.collective_node(collective, one.rank)]])
                }
                Doing::Messages(_) => graph.messages(n, one),
                Doing::Finished => Node::Gone,
                _ => Node::Free,
            })
            .collect();
        nodes.extend([Node::Free, Node::Gone]);

        // The map is ordered by key, the nodes must be in the order of their numbers.
        let mut in_order: Vec<(usize, (CollectiveCall, CollectivePart))> = graph
            .collectives
            .iter()
            .map(|(what, n)| (*n, *what))
            .collect();
        in_order.sort_unstable();
        nodes.extend(
            in_order
                .into_iter()
                .map(|(_, (collective, part))| graph.collective(collective, part)),
        );
        graph.nodes = nodes;
        graph
    }

    /// Looks up the communicators of all pending operations.
    fn learn(&mut self, around: &Surroundings<'_>) {
        for one in &self.waits.pending {
            let of_calls = one.operations.iter().map(|operation| operation.comm);
            let of_collective = collectives_of(one).map(|collective| collective.comm);
            for comm in of_calls.chain(of_collective) {
                self.communicators.entry(comm).or_insert_with(|| {
                    let is_world = comm == CommId::WORLD;
                    // The world has no group of its own: rank and member are the same number.
                    let told = (around.members)(comm).filter(|_| !is_world);
                    let size = if is_world {
                        Some(u64::from(around.ranks))
                    } else {
                        told.as_ref().map(Members::reach)
                    };
                    let listed = size.filter(|&size| size <= MEMBERS_MAX);
                    let rank = |number: u32| match &told {
                        Some(told) => told.rank(number),
                        None => Some(Rank(number)),
                    };
                    Communicator {
                        size,
                        members: listed.map(|size| (0..size as u32).filter_map(rank).collect()),
                        is_world,
                        told,
                    }
                });
            }
        }
    }

    fn free(&self) -> usize {
        self.waits.pending.len()
    }

    fn node(&self, rank: Rank) -> usize {
        match self.at.get(&rank) {
            Some(&at) => at,
            None if self.finished.contains(&rank) => self.free() + 1,
            None => self.free(),
        }
    }

    /// A call that waits for messages.
    fn messages(&self, n: usize, one: &Pending) -> Node {
        let waited = one
            .operations
            .iter()
            .zip(&self.paired[n])
            .filter(|(operation, _)| operation.waited);
        let mut needs: Vec<Vec<usize>> = waited
            .map(|(operation, &paired)| {
                if paired {
                    vec![self.free()]
                } else {
                    self.targets(one, operation)
                }
            })
            .collect();
        // MPI_Waitany and the like need any one of their requests: all targets become one need.
        if one.any {
            let mut targets = needs.concat();
            // One of the requests that were cut may complete.
            if one.more_operations || needs.is_empty() {
                targets.push(self.free());
            }
            needs = vec![targets];
        }

        Node::Waits(needs)
    }

    /// The nodes that can complete an operation without a partner.
    fn targets(&self, one: &Pending, operation: &Operation) -> Vec<usize> {
        let free = vec![self.free()];
        // A rank with more operations than it reported may have posted the partner.
        let of = |rank: Rank| match self.at.get(&rank) {
            Some(&at) if self.waits.pending[at].more_operations => self.free(),
            _ => self.node(rank),
        };

        match (operation.side, operation.peer) {
            (Side::Collective { .. }, _) => match operation.collective() {
                Some(collective) => vec![self.collective_node(collective, one.rank)],
                None => free,
            },
            (Side::Window { shared }, Partner::Rank(part)) => {
                self.window(one, (operation.comm, shared, part))
            }
            // Nothing is known of the other side: to claim a deadlock here would be a guess.
            (Side::Other, _) | (_, Partner::Nobody | Partner::Unknown) => free,
            (_, Partner::Rank(rank)) => vec![of(rank)],
            (_, Partner::Any) => {
                let Some(members) = self
                    .communicators
                    .get(&operation.comm)
                    .and_then(|comm| comm.members.as_ref())
                else {
                    return free;
                };
                members
                    .iter()
                    .filter(|&&rank| rank != one.rank)
                    .map(|&rank| of(rank))
                    .collect()
            }
        }
    }

    /// Ranks that have locked a part of a window which this rank needs. Those that wait for the
    /// same part may have it in name alone: libraries may put off a lock until it matters.
    fn holders(&self, one: &Pending, part: (CommId, u32, Rank)) -> impl Iterator<Item = &Pending> {
        let waits_too = move |holder: &Pending| {
            holder.operations.iter().any(|operation| {
                operation.waited
                    && matches!(operation.side, Side::Window { shared } if shared == part.1)
                    && (operation.comm, operation.peer) == (part.0, Partner::Rank(part.2))
            })
        };
        let me = one.rank;
        self.waits.pending.iter().filter(move |holder| {
            holder.rank != me && holder.locked.contains(&part) && !waits_too(holder)
        })
    }

    /// Whoever has locked this part of a window, or its rank, without which a library may do
    /// nothing to it.
    fn window(&self, one: &Pending, part: (CommId, u32, Rank)) -> Vec<usize> {
        let whose = self.at.get(&part.2);
        let is_in_mpi = whose.is_some_and(|&at| {
            !matches!(
                self.waits.pending[at].doing,
                Doing::Computing | Doing::Starting | Doing::Held
            )
        });
        let holders = self.holders(one, part).map(|holder| self.node(holder.rank));
        let mut targets: Vec<usize> = holders.collect();
        if targets.is_empty() || !is_in_mpi {
            targets.push(self.free());
        }
        targets
    }

    /// Members of a communicator with a fully reported call.
    fn members_told(&self, comm: CommId) -> impl Iterator<Item = &'a Pending> {
        let comm = &self.communicators[&comm];
        self.waits
            .pending
            .iter()
            .filter(move |one| comm.has(one.rank))
    }
}

/// The collectives that a call waits for.
fn collectives_of(one: &Pending) -> impl Iterator<Item = CollectiveCall> {
    let called = match one.doing {
        Doing::Collective(collective) => Some(collective),
        _ => None,
    };
    let begun = one.operations.iter().filter(|operation| operation.waited);
    let begun = begun.filter_map(Operation::collective);
    called.into_iter().chain(begun)
}

/// Whether another thread of the rank may call MPI while this one waits.
fn may_go_on(one: &Pending) -> bool {
    let Threads {
        in_mpi,
        outside,
        may_go_on,
    } = one.threads;
    may_go_on && in_mpi.saturating_add(outside) > 0
}
