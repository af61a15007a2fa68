//! What the ranks wait for. Which rank stands still for how long the place sees on its page; what
//! about, its supervisor reads from the rank's own memory when it is asked. A question waits for
//! the supervisors' answers, but not for long.

use super::{Life, Now, Place};
use invivo_analysis::hang as analysis;
use invivo_proto::control::hang::{CollectiveCall, Doing, Hang, Operation, Partner, Pending};
use invivo_proto::control::local::{Need, PendingCall, PendingOperation, ToSupervisor};
use invivo_proto::control::results::RankState;
use invivo_proto::control::tree::{Partial, Up};
use invivo_proto::ids::{CommId, CommLocal, Rank, RegionId, WaveId};
use invivo_proto::mpi::peer;
use invivo_tbon::node::Input;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// How long supervisors are waited for: they answer within milliseconds, or after reading the line
/// tables of a large program, which the next question finds there. Well below what a wave may take.
const PATIENCE_NS: u64 = 500_000_000;

/// Questions that wait for supervisors.
#[derive(Default)]
pub(super) struct Looks {
    last: u32,
    under_way: Vec<Look>,
}

struct Look {
    id: u32,
    wave: WaveId,
    older_ns: u64,
    begun_ns: u64,
    awaited: BTreeSet<Rank>,
    seen: BTreeMap<Rank, PendingCall>,
}

impl Place {
    /// Begins to answer what the ranks wait for that have done nothing new for `older_ns`.
    pub(super) fn look_at_calls(&mut self, now: Now, wave: WaveId, older_ns: u64) -> Option<Up> {
        self.looks.last = self.looks.last.wrapping_add(1);
        let mut look = Look {
            id: self.looks.last,
            wave,
            older_ns,
            begun_ns: now.ns,
            awaited: BTreeSet::new(),
            seen: BTreeMap::new(),
        };
        for index in 0..self.ranks.len() {
            let rank = Rank(self.first + index as u32);
            let (doing, since_ns) = self.doing(now, index);
            let stands =
                matches!(doing, Doing::InMpi(_) | Doing::Computing) && since_ns >= older_ns;
            // One that has left MPI may have left collectives that others are still in.
            let has_left = doing == Doing::Finished && self.ranks[index].ended.is_none();
            if (stands || has_left)
                && self.tell(
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
            return Some(self.waits(now, &look));
        }
        self.looks.under_way.push(look);
        None
    }

    /// A supervisor has looked.
    pub(super) fn seen(&mut self, now: Now, rank: Rank, id: u32, seen: Option<PendingCall>) {
        let Some(look) = self.looks.under_way.iter_mut().find(|look| look.id == id) else {
            return;
        };
        if look.awaited.remove(&rank) {
            look.seen.extend(seen.map(|seen| (rank, seen)));
        }
        self.answer_looks(now);
    }

    /// Answers what has waited for long enough.
    pub(super) fn answer_looks(&mut self, now: Now) {
        let is_due = |look: &mut Look| {
            look.awaited.is_empty() || now.ns.saturating_sub(look.begun_ns) >= PATIENCE_NS
        };
        let due: Vec<Look> = self.looks.under_way.extract_if(.., is_due).collect();
        for look in due {
            let answer = self.waits(now, &look);
            self.run(now, Input::Local(answer));
        }
    }

    fn waits(&mut self, now: Now, look: &Look) -> Up {
        let mut waits = Hang::default();
        for index in 0..self.ranks.len() {
            let rank = Rank(self.first + index as u32);
            let (doing, since_ns) = self.doing(now, index);
            let entered_at = self.entered_at(index);
            // What was seen of an earlier call is over.
            let seen = look
                .seen
                .get(&rank)
                .filter(|seen| Some(seen.entered_at) == entered_at);
            match seen {
                Some(seen) if since_ns >= look.older_ns || doing == Doing::Finished => {
                    let pending = self.pending(rank, doing, since_ns, seen);
                    analysis::add_pending(&mut waits, pending);
                }
                _ => analysis::add(&mut waits, rank, doing, since_ns),
            }
        }
        Up::Partial {
            wave: look.wave,
            partial: Partial::Hang(Box::new(waits)),
            coverage: self.coverage(now),
            missing: Vec::new(),
        }
    }

    /// What a rank is doing as its page tells, and for how long.
    fn doing(&self, now: Now, index: usize) -> (Doing, u64) {
        let one = &self.ranks[index];
        let line = one.records.status(now.ticks, self.feed.analyses.clock());
        let doing = match (one.life, line.state) {
            (Life::Absent, _) | (Life::Alive, RankState::Starting) => Doing::Starting,
            (Life::Finished | Life::Ending, _) | (_, RankState::Finished) => Doing::Finished,
            _ if self.pauses.status(now.ns).is_some() => Doing::Held,
            (Life::Alive, RankState::Paused | RankState::Held) => Doing::Held,
            (Life::Alive, RankState::InMpi) => Doing::InMpi(line.region),
            (Life::Alive, RankState::Computing) => Doing::Computing,
        };
        (doing, line.since_ns)
    }

    fn entered_at(&self, index: usize) -> Option<u64> {
        let page = self.ranks[index].records.memory()?.page();
        Some(page.status.first()?.entered_at.load(Ordering::Acquire))
    }

    /// What a supervisor saw, in numbers of the job.
    fn pending(&mut self, rank: Rank, doing: Doing, since_ns: u64, seen: &PendingCall) -> Pending {
        let region = match doing {
            Doing::InMpi(region) => region,
            _ => RegionId(0),
        };
        let is_inside = region != RegionId(0);
        let of = |place: &Place, comm: CommLocal| -> Option<CommId> {
            let membership = place.feed.analyses.communicators().membership(rank, comm)?;
            (membership.id == membership.peers).then_some(membership.id)
        };
        let needs = match seen.need {
            Need::All | Need::Any if is_inside => Some(Doing::Messages(region)),
            Need::Collective {
                comm,
                ordinal,
                root,
            } if is_inside => of(self, comm).map(|comm| {
                Doing::Collective(CollectiveCall {
                    comm,
                    ordinal,
                    region,
                    root,
                })
            }),
            _ => None,
        };
        let operations = seen
            .operations
            .iter()
            .map(|operation| self.operation(rank, operation))
            .collect();
        let passed = seen
            .passed
            .iter()
            .filter_map(|&(comm, next)| Some((of(self, comm)?, next)));
        Pending {
            rank,
            doing: needs.unwrap_or(doing),
            since_ns,
            any: seen.need == Need::Any,
            passed: passed.collect(),
            operations,
            more_operations: seen.more_operations,
            site: seen.site.clone(),
        }
    }

    fn operation(&mut self, rank: Rank, seen: &PendingOperation) -> Operation {
        let analyses = &mut self.feed.analyses;
        let peer = match seen.peer {
            peer::ANY => Partner::Any,
            peer::NULL => Partner::Nobody,
            number @ 0.. => match analyses.communicators().peer(rank, seen.comm, number) {
                Some(rank) => Partner::Rank(rank),
                None => {
                    // Its group is asked for; the next question finds it.
                    analyses.meet(rank, seen.comm, number);
                    Partner::Unknown
                }
            },
            _ => Partner::Unknown,
        };
        let membership = analyses.communicators().membership(rank, seen.comm);
        Operation {
            waited: seen.waited,
            side: seen.side,
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
}
