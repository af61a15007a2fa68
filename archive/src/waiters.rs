//! Finds the ranks that wait for another at the end of an observation, as far as its calls show: a
//! rank that stands in MPI with a receive from another posted and not complete waits for that one;
//! a rank in a collective waits for those that are not in it. What a blocking receive waits for is
//! not in its record before it is complete, so such a rank waits for somebody unnamed.

use crate::observation::{CallKind, Observation, Track};
use std::collections::BTreeMap;

/// A rank that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    pub rank: u32,
    /// The call that it is in.
    pub function: String,
    /// Since when, in job time.
    pub since_ns: u64,
}

/// The ranks that waited for `whom`, the longest first.
pub fn waiters(of: &Observation, whom: u32) -> Vec<Waiter> {
    let mut waiters: Vec<Waiter> = of
        .tracks
        .iter()
        .filter(|track| track.rank != whom && of.death(track.rank).is_none())
        .filter_map(|track| {
            let open = track.open.as_ref()?;
            let function = open.function.as_deref()?;
            let waits = receives_from(of, track).any(|rank| rank == whom)
                || (is_of_all(track, function) && !is_in(of, whom, function));
            waits.then(|| Waiter {
                rank: track.rank,
                function: function.to_owned(),
                since_ns: open.begin_ns,
            })
        })
        .collect();
    // One entry per rank, that of its thread that has waited longest: by ranks first, because
    // another rank's wait may have begun between those of two threads of one rank.
    waiters.sort_by_key(|waiter| (waiter.rank, waiter.since_ns));
    waiters.dedup_by_key(|waiter| waiter.rank);

    waiters.sort_by_key(|waiter| (waiter.since_ns, waiter.rank));
    waiters
}

/// From whom a rank has posted receives that are not complete, on any of its threads: one may wait
/// for what another posted.
fn receives_from<'a>(of: &'a Observation, track: &'a Track) -> impl Iterator<Item = u32> + 'a {
    let mut posted: BTreeMap<u64, u32> = BTreeMap::new();
    let mine = of.tracks.iter().filter(|other| other.rank == track.rank);
    for call in mine.flat_map(|track| &track.calls) {
        let whole = std::iter::once((&call.facts, call.request));
        let parts = call.parts.iter().map(|part| (&part.facts, part.request));
        for (facts, request) in whole.chain(parts) {
            match facts.kind {
                CallKind::PostReceive => {
                    if let Some(rank) = facts.rank {
                        // Later completions remove it; calls come in the order of their ends, so a
                        // posting precedes its completion.
                        posted.insert(request, rank);
                    }
                }
                CallKind::Received | CallKind::Ended => {
                    posted.remove(&request);
                }
                _ => {}
            }
        }
    }

    posted.into_values()
}

/// Whether a call of this function is a collective of all ranks, as far as can be told: the last
/// one of the thread was.
fn is_of_all(track: &Track, function: &str) -> bool {
    let mut before = track.calls.iter().rev();
    // The open call has no record yet, so its communicator is taken from the last call of that
    // function.
    let last = before.find(|call| call.function.as_deref() == Some(function));
    is_collective(function) && last.is_some_and(|call| call.facts.comm == Some(0))
}

/// Whether a rank is in this function.
pub fn is_in(of: &Observation, rank: u32, function: &str) -> bool {
    let mut tracks = of.tracks.iter().filter(|track| track.rank == rank);
    tracks.any(|track| {
        let open = track.open.as_ref();
        open.and_then(|open| open.function.as_deref()) == Some(function)
    })
}

/// Blocking collectives, which nobody leaves (but for roots and leaves of some) before all have
/// come.
fn is_collective(function: &str) -> bool {
    const ALL: [&str; 21] = [
        "MPI_Barrier",
        "MPI_Bcast",
        "MPI_Gather",
        "MPI_Gatherv",
        "MPI_Scatter",
        "MPI_Scatterv",
        "MPI_Allgather",
        "MPI_Allgatherv",
        "MPI_Alltoall",
        "MPI_Alltoallv",
        "MPI_Alltoallw",
        "MPI_Reduce",
        "MPI_Allreduce",
        "MPI_Reduce_scatter",
        "MPI_Reduce_scatter_block",
        "MPI_Scan",
        "MPI_Exscan",
        "MPI_Comm_dup",
        "MPI_Comm_split",
        "MPI_Comm_create",
        "MPI_Finalize",
    ];
    ALL.contains(&function.strip_suffix("_c").unwrap_or(function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Call, Death, Facts, Open, Part};

    fn open(of: &mut Observation, rank: u32, function: &str, begin_ns: u64) {
        of.track(rank, 0).open = Some(Open {
            function: Some(function.into()),
            begin_ns,
            occupant: 0,
        });
    }

    fn post(of: &mut Observation, rank: u32, from: u32, request: u64) {
        let facts = Facts {
            kind: CallKind::PostReceive,
            rank: Some(from),
            ..Facts::default()
        };

        of.track(rank, 0).calls.push(Call {
            function: Some("MPI_Irecv".into()),
            begin_ns: 1,
            end_ns: 2,
            facts,
            ordinal: 0,
            request,
            is_clipped: false,
            occupant: 0,
            depth: 0,
            parts: Vec::new(),
        });
    }

    fn complete(of: &mut Observation, rank: u32, request: u64) {
        let facts = Facts {
            kind: CallKind::Received,
            ..Facts::default()
        };
        let calls = &mut of.track(rank, 0).calls;
        calls.last_mut().expect("a call").parts.push(Part {
            function: "MPI_Irecv".into(),
            facts,
            request,
            posted_ticks: 1,
        });
    }

    #[test]
    fn open_receives_and_collectives_name_who_waits() {
        let mut of = Observation::default();
        // Rank 2 died, computing.
        of.track(2, 0);
        of.deaths.push(Death {
            rank: 2,
            how: "was killed".into(),
        });
        // Rank 0 waits for it with an open receive; rank 1 received from it, and waits for 3; rank
        // 3 is in a collective.
        post(&mut of, 0, 2, 5);
        open(&mut of, 0, "MPI_Wait", 30);
        post(&mut of, 1, 2, 8);
        complete(&mut of, 1, 8);
        post(&mut of, 1, 3, 9);
        open(&mut of, 1, "MPI_Wait", 10);
        open(&mut of, 3, "MPI_Allreduce", 20);
        // Nobody knows on which communicator.
        assert_eq!(waiters(&of, 2).len(), 1);
        let world = Facts {
            kind: CallKind::Collective,
            comm: Some(0),
            ..Facts::default()
        };

        post(&mut of, 3, 9, 1);
        let before = of.track(3, 0).calls.last_mut().expect("a call");
        (before.function, before.facts) = (Some("MPI_Allreduce".into()), world);
        let found = waiters(&of, 2);
        let who: Vec<(u32, &str)> = found
            .iter()
            .map(|w| (w.rank, w.function.as_str()))
            .collect();
        assert_eq!(who, [(3, "MPI_Allreduce"), (0, "MPI_Wait")]);
        // One that died in the same collective is not waited for in it.
        open(&mut of, 2, "MPI_Allreduce", 25);
        assert_eq!(waiters(&of, 2).len(), 1);
    }

    #[test]
    fn a_rank_with_two_waiting_threads_is_named_once() {
        let mut of = Observation::default();
        of.track(2, 0);
        for rank in [0, 1] {
            post(&mut of, rank, 2, 5);
        }
        // Rank 1 begins to wait between the two threads of rank 0.
        for (rank, thread, since_ns) in [(0, 0, 10), (0, 1, 30), (1, 0, 20)] {
            of.track(rank, thread).open = Some(Open {
                function: Some("MPI_Wait".into()),
                begin_ns: since_ns,
                occupant: 0,
            });
        }

        let found = waiters(&of, 2);
        let who: Vec<(u32, u64)> = found.iter().map(|w| (w.rank, w.since_ns)).collect();
        assert_eq!(who, [(0, 10), (1, 20)]);
    }
}
