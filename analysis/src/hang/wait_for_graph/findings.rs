//! Reads findings from the wait-for graph: mismatched collectives, cycles, ranks that finished, are
//! missing, or do not send.

use super::super::deadlock_search::{self, Node};
use super::super::surroundings::SETTLED_NS;
use super::WaitGraph;
use super::collectives::{CollectiveShape, has_come, shape};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use invivo_proto::control::hang::{
    Called, CollectiveCall, Doing, FINDINGS_MAX, Finding, LINKS_MAX, Link, NAMED_MAX, Operation,
    Partner, Pending, RankClass, Side, Threads,
};
use invivo_proto::ids::{CommId, Rank};

impl WaitGraph<'_> {
    /// Different calls in the same place of a communicator's order.
    pub(in super::super) fn mismatches(&self, stuck: &[bool], findings: &mut Vec<Finding>) {
        type Place = (CommId, u32, u64);
        let mut by_place: BTreeMap<Place, BTreeSet<CollectiveCall>> = BTreeMap::new();
        for (_, one) in self
            .waits
            .pending
            .iter()
            .enumerate()
            .filter(|(n, _)| stuck[*n])
        {
            if let Doing::Collective(collective) = one.doing {
                by_place
                    .entry((collective.comm, collective.shared, collective.ordinal))
                    .or_default()
                    .insert(collective);
            }
        }

        for collectives in by_place
            .into_values()
            .filter(|collectives| collectives.len() > 1)
        {
            let mut calls: Vec<Called> = collectives
                .into_iter()
                .map(|collective| self.called(collective))
                .collect();
            // The majority first: the minority is more likely the error.
            calls.sort_by_key(|called| (Reverse(called.ranks), called.named.first().copied()));
            findings.push(Finding::Mismatch { calls });
        }
    }

    fn called(&self, collective: CollectiveCall) -> Called {
        let nobody = RankClass::default();
        let class = self
            .waits
            .classes
            .get(&Doing::Collective(collective))
            .unwrap_or(&nobody);
        Called {
            collective,
            ranks: class.ranks,
            named: class.named.clone(),
            site: class.site.as_ref().map(|(_, site)| site.clone()),
        }
    }

    /// Calls that only ranks that have finished could meet.
    pub(in super::super) fn gone(&self, stuck: &[bool], findings: &mut Vec<Finding>) {
        let mut by_reason: BTreeMap<(Option<Rank>, Doing), (Link, u32)> = BTreeMap::new();
        for (n, one) in self
            .waits
            .pending
            .iter()
            .enumerate()
            .filter(|(n, _)| stuck[*n])
        {
            let is_gone =
                |targets: &[usize]| targets.iter().all(|&to| self.nodes[to] == Node::Gone);
            // A collective call needs its collective's node, and only that one needs the ranks.
            let node = match one.doing {
                Doing::Collective(_) => deadlock_search::hopeless(&self.nodes, stuck, n)
                    .flatten()
                    .next()
                    .copied(),
                _ => None,
            };
            if !deadlock_search::hopeless(&self.nodes, stuck, node.unwrap_or(n)).any(is_gone) {
                continue;
            }
            let link = match one.doing {
                Doing::Collective(collective) => {
                    let comm = &self.communicators[&collective.comm];
                    let lacks = |rank: &&Rank| self.lacks(collective, **rank).is_some();
                    let absent = self
                        .finished
                        .iter()
                        .filter(|rank| comm.has(**rank))
                        .find(lacks);
                    link(one, None, absent.copied())
                }
                _ => self.blamed(n, one, |to| self.nodes[to] == Node::Gone),
            };
            // Ranks that wait for the same in the same call are one finding, reported with the
            // lowest rank.
            let key = (link.waits_for, one.doing);
            let entry = by_reason.entry(key).or_insert((link.clone(), 0));
            entry.1 += 1;
            if link.rank < entry.0.rank {
                entry.0 = link;
            }
        }

        let mut found: Vec<(Link, u32)> = by_reason.into_values().collect();
        found.sort_by_key(|(link, ranks)| (Reverse(*ranks), link.rank));
        findings.extend(
            found
                .into_iter()
                .map(|(link, ranks)| Finding::Finished { link, ranks }),
        );
    }

    /// A call with the operation of it that needs one of these nodes.
    fn blamed(&self, n: usize, one: &Pending, is_blamed: impl Fn(usize) -> bool) -> Link {
        let unpaired = one
            .operations
            .iter()
            .zip(&self.paired[n])
            .filter(|(operation, paired)| operation.waited && !**paired);
        let blamed = unpaired
            .map(|(operation, _)| operation)
            .find(|operation| self.targets(one, operation).iter().any(|&to| is_blamed(to)));
        let waits_for = blamed.and_then(|operation| match (operation.side, operation.peer) {
            (Side::Window { shared }, Partner::Rank(part)) => {
                let holders = self.holders(one, (operation.comm, shared, part));
                Some(holders.map(|holder| holder.rank).min().unwrap_or(part))
            }
            (Side::Collective { .. }, _) => None,
            (_, Partner::Rank(rank)) => Some(rank),
            _ => None,
        });
        link(one, blamed.copied(), waits_for)
    }

    /// Ranks that wait for one another. Where different collectives meet that is said already.
    pub(in super::super) fn cycles(&self, stuck: &[bool], findings: &mut Vec<Finding>) {
        let mut skip = vec![false; self.nodes.len()];
        while findings.len() < FINDINGS_MAX
            && let Some(cycle) = deadlock_search::cycle(&self.nodes, stuck, &skip)
        {
            // Every node belongs to one reported cycle only, so this ends.
            for &at in &cycle {
                skip[at] = true;
            }
            // Helper nodes and collectives are links of the cycle but no ranks.
            let mut ranks: Vec<usize> = cycle.into_iter().filter(|&at| at < self.free()).collect();
            let lowest = ranks
                .iter()
                .enumerate()
                .min_by_key(|(_, at)| self.waits.pending[**at].rank);
            let lowest = lowest.map_or(0, |(n, _)| n);
            ranks.rotate_left(lowest);
            let links = (0..ranks.len()).take(LINKS_MAX).map(|n| {
                let (at, to) = (ranks[n], ranks[(n + 1) % ranks.len()]);
                let (one, next) = (&self.waits.pending[at], self.waits.pending[to].rank);
                Link {
                    waits_for: Some(next),
                    ..self.blamed(at, one, |target| target == to)
                }
            });
            let links: Vec<Link> = links.collect();
            if !is_said(findings, &links) {
                findings.push(Finding::Cycle {
                    length: ranks.len() as u32,
                    links,
                });
            }
        }
    }

    /// Collectives that lack ranks which may still come.
    pub(in super::super) fn missing(&self, findings: &mut Vec<Finding>) {
        let mut found: Vec<Finding> = Vec::new();
        for (doing, class) in &self.waits.classes {
            let Doing::Collective(collective) = *doing else {
                continue;
            };
            let Some(comm) = self
                .communicators
                .get(&collective.comm)
                .filter(|_| class.shortest_ns >= SETTLED_NS)
            else {
                continue;
            };
            // Ranks that left the collective already (a root, for one) have come as well.
            let passed = self
                .members_told(collective.comm)
                .filter(|one| one.doing != *doing && has_come(collective, one) == Some(true));
            let come = u64::from(class.ranks) + passed.count() as u64;
            let missing = comm.size.map_or(0, |size| size.saturating_sub(come)) as u32;
            let mut absent: Vec<Link> = self
                .others(collective)
                .filter(|link| comm.has(link.rank))
                .collect();
            // Where all need the root it is the one to ask for.
            if let Some(root) = comm
                .rank(collective.root)
                .filter(|_| shape(collective) == CollectiveShape::OneToAll)
                && let Some(at) = absent.iter().position(|link| link.rank == root)
            {
                absent = vec![absent.swap_remove(at)];
            }
            absent.sort_by_key(|link| link.rank);
            absent.truncate(NAMED_MAX);
            // Without a name for the absent the finding would accuse nobody; it is left out.
            if missing > 0 && !absent.is_empty() {
                found.push(Finding::Missing {
                    called: self.called(collective),
                    missing,
                    absent,
                });
            }
        }

        found.sort_by_key(|finding| match finding {
            Finding::Missing { called, .. } => Reverse(called.ranks),
            _ => Reverse(0),
        });
        findings.extend(found);
    }

    /// Ranks that have not come to a collective and do not wait themselves, as far as they are
    /// named.
    fn others(&self, collective: CollectiveCall) -> impl Iterator<Item = Link> {
        let waiting = |doing: &Doing| {
            matches!(
                doing,
                Doing::Collective(_) | Doing::Messages(_) | Doing::Finished
            )
        };

        let others = self
            .waits
            .classes
            .iter()
            .filter(move |(doing, _)| !waiting(doing));
        others.flat_map(move |(doing, class)| {
            class
                .named
                .iter()
                .filter_map(move |&rank| match self.at.get(&rank) {
                    Some(&at) => {
                        let one = &self.waits.pending[at];
                        (has_come(collective, one) == Some(false)).then(|| link(one, None, None))
                    }
                    None => Some(Link {
                        rank,
                        doing: *doing,
                        since_ns: class.shortest_ns,
                        site: None,
                        operation: None,
                        waits_for: None,
                        threads: Threads::default(),
                    }),
                })
        })
    }

    /// What a rank does, where it is named.
    fn doing(&self, rank: Rank) -> Option<Doing> {
        let of_class = |(doing, class): (&Doing, &RankClass)| {
            class.named.binary_search(&rank).is_ok().then_some(*doing)
        };
        match self.at.get(&rank) {
            Some(&at) => Some(self.waits.pending[at].doing),
            None => self.waits.classes.iter().find_map(of_class),
        }
    }

    /// Messages that lack a rank which computes.
    pub(in super::super) fn unmatched(&self, findings: &mut Vec<Finding>) {
        let mut by_rank: BTreeMap<Rank, (Link, u32)> = BTreeMap::new();
        for (n, one) in self.waits.pending.iter().enumerate() {
            if !matches!(one.doing, Doing::Messages(_)) || one.since_ns < SETTLED_NS {
                continue;
            }
            let link = self.blamed(n, one, |to| {
                to == self.free()
                    || (to < self.free() && self.waits.pending[to].doing == Doing::Computing)
            });
            // A receive from any source accuses no single rank.
            let Some(culprit) = link.waits_for else {
                continue;
            };
            if !matches!(
                self.doing(culprit),
                Some(Doing::Computing | Doing::Starting)
            ) {
                continue;
            }
            let entry = by_rank.entry(culprit).or_insert((link.clone(), 0));
            entry.1 += 1;
            if link.rank < entry.0.rank {
                entry.0 = link;
            }
        }

        let mut found: Vec<(Link, u32)> = by_rank.into_values().collect();
        found.sort_by_key(|(link, ranks)| (Reverse(*ranks), link.rank));
        findings.extend(
            found
                .into_iter()
                .map(|(link, ranks)| Finding::Unmatched { link, ranks }),
        );
    }
}

fn link(one: &Pending, operation: Option<Operation>, waits_for: Option<Rank>) -> Link {
    Link {
        rank: one.rank,
        doing: one.doing,
        since_ns: one.since_ns,
        site: one.site.clone(),
        operation,
        waits_for,
        threads: one.threads,
    }
}

/// Whether a cycle is only that of different collectives which are told already.
fn is_said(findings: &[Finding], links: &[Link]) -> bool {
    let of = |link: &Link| match link.doing {
        Doing::Collective(collective) => Some(collective),
        _ => None,
    };
    findings.iter().any(|finding| match finding {
        Finding::Mismatch { calls } => links.iter().all(|link| {
            of(link).is_some_and(|collective| {
                calls.iter().any(|called| called.collective == collective)
            })
        }),
        _ => false,
    })
}
