//! Which ranks were waiting for a rank that died: by their pending calls where supervisors could
//! inspect them, else by their records.

use invivo_archive::observation::Observation;
use invivo_archive::waiters::Waiter;
use invivo_grpc::convert;
use invivo_proto::control::hang::{Doing, Hang, Partner, Pending};
use invivo_proto::ids::{CommId, Rank};
use invivo_proto::mpi;
use std::collections::BTreeSet;

/// The ranks that waited for `whom`, the longest first.
pub fn waiters(of: &Observation, told: &Hang, whom: u32) -> Vec<Waiter> {
    let known: BTreeSet<u32> = told.pending.iter().map(|pending| pending.rank.0).collect();
    let by_records = invivo_archive::waiters::waiters(of, whom);
    let mut all: Vec<Waiter> = by_records
        .into_iter()
        .filter(|waiter| !known.contains(&waiter.rank))
        .collect();
    let alive = |pending: &&Pending| pending.rank.0 != whom && of.death(pending.rank.0).is_none();
    for pending in told.pending.iter().filter(alive) {
        if let Some(function) = waits_for(of, pending, whom) {
            all.push(Waiter {
                rank: pending.rank.0,
                function,
                since_ns: of.to_ns.saturating_sub(pending.since_ns),
            });
        }
    }
    all.sort_by_key(|waiter| (waiter.since_ns, waiter.rank));
    all
}

/// The call in which a rank waits for `whom`, if it does. A collective counts if it is one of all
/// ranks and the dead rank was not in it: that had not come yet. (Or it was through with it, but
/// then the others leave it soon.)
fn waits_for(of: &Observation, pending: &Pending, whom: u32) -> Option<String> {
    let (region, waits) = match pending.doing {
        Doing::Messages(region) => {
            let mut operations = pending.operations.iter();
            let needs = operations.any(|one| one.waited && one.peer == Partner::Rank(Rank(whom)));
            (region, needs)
        }
        Doing::Collective(collective) => {
            let function = convert::function_name(collective.region);
            // Of a non-blocking one nobody knows here whether the dead rank had begun it.
            let is_blocking = mpi::needs(collective.region) != mpi::Needs::Nothing;
            let is_of_all = collective.comm == CommId::WORLD && is_blocking;
            (
                collective.region,
                is_of_all && !invivo_archive::waiters::is_in(of, whom, &function),
            )
        }
        _ => return None,
    };
    waits.then(|| convert::function_name(region))
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::hang::{CollectiveCall, Operation, Side};
    use invivo_proto::ids::RegionId;
    use invivo_proto::mpi::FUNCTIONS;

    fn region(name: &str) -> RegionId {
        let at = FUNCTIONS.iter().position(|function| function.name == name);
        RegionId(at.expect("a function") as u16)
    }

    fn pending(rank: u32, doing: Doing, since_ns: u64, peers: &[(bool, Partner)]) -> Pending {
        let operation = |&(waited, peer): &(bool, Partner)| Operation {
            waited,
            side: Side::Send,
            peer,
            comm: CommId::WORLD,
            tag: 0,
        };
        Pending {
            rank: Rank(rank),
            doing,
            since_ns,
            quiet_ns: since_ns,
            threads: Default::default(),
            any: false,
            operations: peers.iter().map(operation).collect(),
            more_operations: false,
            passed: Default::default(),
            passed_shared: Default::default(),
            locked: Vec::new(),
            site: None,
        }
    }

    #[test]
    fn who_needs_the_dead_rank_waits_for_it() {
        let mut of = Observation {
            to_ns: 1000,
            ..Observation::default()
        };
        (0..6).for_each(|rank| {
            of.track(rank, 0);
        });
        let dead = Partner::Rank(Rank(2));
        let (send, barrier) = (region("MPI_Send"), region("MPI_Barrier"));
        let collective = |comm| CollectiveCall {
            comm,
            ordinal: 3,
            region: barrier,
            root: -1,
            shared: 0,
        };
        let row = CommId {
            leader: Rank(0),
            counter: 7,
        };
        let told = Hang {
            pending: vec![
                pending(0, Doing::Messages(send), 300, &[(true, dead)]),
                // It has posted something for the dead one, and waits for another.
                pending(
                    1,
                    Doing::Messages(send),
                    400,
                    &[(true, Partner::Rank(Rank(3))), (false, dead)],
                ),
                pending(3, Doing::Collective(collective(CommId::WORLD)), 500, &[]),
                // Nobody told who is in it.
                pending(4, Doing::Collective(collective(row)), 500, &[]),
                pending(5, Doing::Computing, 500, &[(false, dead)]),
            ],
            ..Hang::default()
        };
        let found = waiters(&of, &told, 2);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.rank, one.function.as_str(), one.since_ns))
            .collect();
        assert_eq!(found, [(3, "MPI_Barrier", 500), (0, "MPI_Send", 700)]);
        // Of what was not looked at records tell.
        assert_eq!(
            waiters(&of, &Hang::default(), 2),
            invivo_archive::waiters::waiters(&of, 2)
        );
    }
}
