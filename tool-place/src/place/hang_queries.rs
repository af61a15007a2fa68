//! Answers hang queries: what each rank is doing, for how long, and what it waits for.
//!
//! For how long a rank has been in its call the place reads from its status page; what the call
//! waits for, the rank's supervisor reads from the rank's own memory on request. A query waits for
//! the supervisors' answers, but not for long.

use super::local_rank::Life;
use super::local_ranks::LocalRanks;
use crate::time_point::Now;
use invivo_analysis::hang as analysis;
use invivo_proto::control::hang::{CollectiveCall, Doing, Hang, Operation, Partner, Pending, Side};
use invivo_proto::control::local::{Need, PendingCall, PendingOperation, ToSupervisor};
use invivo_proto::control::results::RankState;
use invivo_proto::control::tree::{Partial, Up};
use invivo_proto::ids::{CommId, CommLocal, Rank, RegionId, WaveId};
use invivo_proto::mpi::peer;
use invivo_proto::shm::Page;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// How long supervisors are waited for: they answer within milliseconds, or after reading the line
/// tables of a large program, which the next question finds there. Well below what a wave may take.
const PATIENCE_NS: u64 = 500_000_000;

/// Questions that wait for supervisors.
#[derive(Default)]
pub struct HangQueries {
    last: u32,
    under_way: Vec<HangQuery>,
}

struct HangQuery {
    id: u32,
    wave: WaveId,
    older_ns: u64,
    begun_ns: u64,
    awaited: BTreeSet<Rank>,
    seen: BTreeMap<Rank, PendingCall>,
}

impl HangQueries {
    /// Begins to answer what the ranks wait for that have done nothing new for `older_ns`. The
    /// answer, where no supervisor has to be asked.
    pub fn begin(
        &mut self,
        now: Now,
        wave: WaveId,
        older_ns: u64,
        is_paused: bool,
        local: &mut LocalRanks,
    ) -> Option<Up> {
        self.last = self.last.wrapping_add(1);
        let mut look = HangQuery {
            id: self.last,
            wave,
            older_ns,
            begun_ns: now.ns,
            awaited: BTreeSet::new(),
            seen: BTreeMap::new(),
        };
        for index in 0..local.len() {
            let rank = local.rank(index);
            let (doing, since_ns) = doing(now, index, is_paused, local);
            // Of calls that are not recorded the supervisor alone knows whether they stand, and
            // behind the first thread, which the line is about, another one may.
            let is_asked = since_ns >= older_ns || !is_told_by_first_page(index, local);
            let stands = matches!(doing, Doing::InMpi(_) | Doing::Computing) && is_asked;
            // One that has left MPI may have left collectives that others are still in.
            let has_left = doing == Doing::Finished && local.ranks[index].ended.is_none();
            if (stands || has_left)
                && local.tell(
                    rank,
                    &ToSupervisor::Inspect {
                        inspection: look.id,
                    },
                )
            {
                look.awaited.insert(rank);
            }
        }

        if look.awaited.is_empty() {
            return Some(answer(now, &look, is_paused, local));
        }
        self.under_way.push(look);
        None
    }

    /// A supervisor has looked.
    pub fn inspected(&mut self, rank: Rank, id: u32, seen: Option<PendingCall>) {
        let Some(look) = self.under_way.iter_mut().find(|look| look.id == id) else {
            return;
        };
        if look.awaited.remove(&rank) {
            look.seen.extend(seen.map(|seen| (rank, seen)));
        }
    }

    /// Answers what is complete or has waited for long enough.
    pub fn due(&mut self, now: Now, is_paused: bool, local: &mut LocalRanks) -> Vec<Up> {
        let is_due = |look: &mut HangQuery| {
            look.awaited.is_empty() || now.ns.saturating_sub(look.begun_ns) >= PATIENCE_NS
        };
        let due: Vec<HangQuery> = self.under_way.extract_if(.., is_due).collect();
        due.iter()
            .map(|look| answer(now, look, is_paused, local))
            .collect()
    }
}

fn answer(now: Now, look: &HangQuery, is_paused: bool, local: &mut LocalRanks) -> Up {
    let mut hang = Hang::default();
    for index in 0..local.len() {
        let rank = local.rank(index);
        // Read again: the rank may have moved while its supervisor was waited for.
        let (doing, since_ns) = doing(now, index, is_paused, local);
        // Seen by its begin in ticks: what the supervisor saw of an earlier call is over.
        let seen = look.seen.get(&rank).filter(|seen| {
            Some(seen.entered_at) == entered_at(index, usize::from(seen.location), local)
        });
        let Some(seen) = seen else {
            analysis::add(&mut hang, rank, doing, since_ns);
            continue;
        };
        let (doing, since_ns) = match doing {
            Doing::InMpi(_) | Doing::Computing => {
                let since_ns = thread_since_ns(now, since_ns, seen, local);
                (doing_of(doing, seen), since_ns)
            }
            _ => (doing, since_ns),
        };
        let is_watched = matches!(doing, Doing::InMpi(_) | Doing::Computing)
            && seen.unmoved_ns.is_some_and(|ns| ns < analysis::SETTLED_NS);
        hang.watched += u32::from(is_watched);
        if since_ns >= look.older_ns || doing == Doing::Finished {
            let mut pending = pending(rank, doing, since_ns, seen, local);
            pending.quiet_ns = quiet_ns(now, index, since_ns, seen, local);
            analysis::add_pending(&mut hang, pending);
        } else {
            analysis::add(&mut hang, rank, doing, since_ns);
        }
    }
    Up::Partial {
        wave: look.wave,
        partial: Partial::Hang(Box::new(hang)),
        coverage: local.coverage(now),
        missing: Vec::new(),
    }
}

/// What a rank is doing by its status page, and for how long.
fn doing(now: Now, index: usize, is_paused: bool, local: &LocalRanks) -> (Doing, u64) {
    let one = &local.ranks[index];
    let line = one.records.status(now.ticks, local.feed.analyses.clock());
    let doing = match (one.life, line.state) {
        (Life::Absent, _) | (Life::Alive, RankState::Starting) => Doing::Starting,
        (Life::Finished | Life::Ending, _) | (_, RankState::Finished) => Doing::Finished,
        _ if is_paused => Doing::Held,
        (Life::Alive, RankState::Paused | RankState::Held) => Doing::Held,
        (Life::Alive, RankState::InMpi) => Doing::InMpi(line.region),
        (Life::Alive, RankState::Computing) => Doing::Computing,
    };
    (doing, line.since_ns)
}

fn page(index: usize, local: &LocalRanks) -> Option<&Page> {
    Some(local.ranks[index].records.memory()?.page())
}

fn entered_at(index: usize, location: usize, local: &LocalRanks) -> Option<u64> {
    let status = page(index, local)?.status.get(location)?;
    Some(status.entered_at.load(Ordering::Acquire))
}

/// Whether the first thread's page tells for how long the rank has done nothing new: no other one
/// has called MPI, and its calls are recorded.
fn is_told_by_first_page(index: usize, local: &LocalRanks) -> bool {
    page(index, local).is_none_or(|page| {
        page.locations.load(Ordering::Acquire) <= 1
            && page.status[0].region.load(Ordering::Relaxed) != 0
    })
}

/// What a rank is doing by the thread that its supervisor has chosen.
fn doing_of(doing: Doing, seen: &PendingCall) -> Doing {
    match (seen.region, seen.location) {
        (RegionId(0), 0) => doing,
        (RegionId(0), _) => Doing::InMpi(RegionId(0)),
        (region, _) => Doing::InMpi(region),
    }
}

/// For how long that thread has been where it is. `first_ns` is what the first thread's page says.
fn thread_since_ns(now: Now, first_ns: u64, seen: &PendingCall, local: &LocalRanks) -> u64 {
    match (seen.unmoved_ns, seen.location) {
        (Some(unmoved_ns), _) => unmoved_ns,
        (None, 0) => first_ns,
        (None, _) => {
            let ticks = now.ticks.saturating_sub(seen.entered_at);
            local.feed.analyses.clock().duration_ns(ticks)
        }
    }
}

/// For how long no thread of the rank has entered a call.
fn quiet_ns(now: Now, index: usize, since_ns: u64, seen: &PendingCall, local: &LocalRanks) -> u64 {
    let Some(page) = page(index, local) else {
        return since_ns;
    };
    let locations = page.locations.load(Ordering::Acquire) as usize;
    let others = page.status.iter().enumerate().take(locations);
    let others = others.filter(|(location, status)| {
        *location != usize::from(seen.location)
            && status.tid.load(Ordering::Relaxed) != 0
            && status.region.load(Ordering::Relaxed) != 0
    });
    let since = others.map(|(_, status)| {
        let entered_at = status.entered_at.load(Ordering::Relaxed);
        let ticks = now.ticks.saturating_sub(entered_at);
        local.feed.analyses.clock().duration_ns(ticks)
    });
    since
        .min()
        .map_or(since_ns, |other_ns| other_ns.min(since_ns))
}

/// A supervisor's report with the application's ranks and communicators.
fn pending(
    rank: Rank,
    doing: Doing,
    since_ns: u64,
    seen: &PendingCall,
    local: &mut LocalRanks,
) -> Pending {
    let region = match doing {
        Doing::InMpi(region) => region,
        _ => RegionId(0),
    };
    let is_inside = region != RegionId(0);
    let of = |local: &LocalRanks, comm: CommLocal| -> Option<CommId> {
        let membership = local.feed.analyses.communicators().membership(rank, comm)?;
        // Not of intercommunicators, whose collectives span two groups.
        (membership.id == membership.peers).then_some(membership.id)
    };

    let operations: Vec<Operation> = seen
        .operations
        .iter()
        .map(|operation| pending_operation(rank, operation, local))
        .collect();

    let needs = match seen.need {
        Need::All | Need::Any if is_inside => {
            Some(only_collective(&operations).unwrap_or(Doing::Messages(region)))
        }
        Need::Collective {
            comm,
            ordinal,
            root,
            shared,
        } if is_inside => of(local, comm).map(|comm| {
            Doing::Collective(CollectiveCall {
                comm,
                ordinal,
                region,
                root,
                shared,
            })
        }),
        _ => None,
    };

    let passed = seen
        .passed
        .iter()
        .filter_map(|&(comm, next)| Some((of(local, comm)?, next)));
    let passed_shared = seen
        .passed_shared
        .iter()
        .filter_map(|&(comm, shared, next)| Some(((of(local, comm)?, shared), next)))
        .collect();
    let locked = seen.locked.iter().filter_map(|&(comm, shared, part)| {
        let whose = local.feed.analyses.communicators().peer(rank, comm, part)?;
        Some((of(local, comm)?, shared, whose))
    });
    let locked = locked.collect();
    Pending {
        rank,
        doing: needs.unwrap_or(doing),
        since_ns,
        quiet_ns: since_ns,
        threads: seen.threads,
        passed_shared,
        locked,
        any: seen.need == Need::Any,
        passed: passed.collect(),
        operations,
        more_operations: seen.more_operations,
        site: seen.site.clone(),
    }
}

/// A call that waits for one non-blocking collective alone is in it, as one of a blocking
/// collective is.
fn only_collective(operations: &[Operation]) -> Option<Doing> {
    let mut waited = operations.iter().filter(|operation| operation.waited);
    let (first, None) = (waited.next()?, waited.next()) else {
        return None;
    };
    first.collective().map(Doing::Collective)
}

fn pending_operation(rank: Rank, seen: &PendingOperation, local: &mut LocalRanks) -> Operation {
    let analyses = &mut local.feed.analyses;
    let peer = match seen.peer {
        peer::ANY => Partner::Any,
        peer::NULL => Partner::Nobody,
        number @ 0.. => match analyses.communicators().peer(rank, seen.comm, number) {
            Some(rank) => Partner::Rank(rank),
            None => {
                // Its group is requested now; the next query finds it.
                analyses.meet(rank, seen.comm, number);
                Partner::Unknown
            }
        },
        _ => Partner::Unknown,
    };
    let membership = analyses.communicators().membership(rank, seen.comm);
    // Collectives of intercommunicators span two groups.
    let is_whole = membership.is_some_and(|membership| membership.id == membership.peers);
    let side = match seen.side {
        Side::Collective { .. } | Side::Window { .. } if !is_whole => Side::Other,
        side => side,
    };
    Operation {
        waited: seen.waited,
        side,
        peer: if membership.is_some() {
            peer
        } else {
            Partner::Unknown
        },
        comm: membership
            .map(|membership| membership.id)
            .unwrap_or_default(),
        tag: seen.tag,
    }
}
