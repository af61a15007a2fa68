//! Converts wait states to their message for clients.

use crate::v1;
use invivo_proto::control::wait_states::{Kind, RankWaits, WaitState, WaitStates, Waited};
use invivo_proto::ids::{CommId, Rank};
use invivo_proto::mpi;
use std::cmp::Reverse;

/// The answer, but for whether its analyses are on.
pub fn reply(waits: &WaitStates, coverage: v1::Coverage) -> v1::WaitStatesReply {
    let mut rows: Vec<v1::WaitStateRow> = waits.kinds.iter().map(kind_row).collect();
    rows.sort_by_key(|row| Reverse(row.time_ns));
    let mut ranks: Vec<v1::RankWaits> = waits.ranks.iter().map(rank_waits).collect();
    ranks.sort_by_key(|of| Reverse(of.waited_ns.max(of.caused_ns)));
    let by_communicator = waits.communicators.iter().map(|(comm, states)| {
        let rows = states.iter();
        let rows = rows.map(|(state, waited)| row(Some(*state), "", waited));
        v1::CommunicatorWaits {
            communicator: communicator(*comm),
            rows: rows.collect(),
        }
    });
    let mut communicators: Vec<v1::CommunicatorWaits> = by_communicator.collect();
    communicators.sort_by_key(|of| {
        let whole = of.rows.iter().filter(|row| row.part_of.is_empty());
        let times = whole.map(|row| row.time_ns);
        Reverse(times.fold(0, u64::saturating_add))
    });
    let calls = &waits.calls;
    v1::WaitStatesReply {
        coverage: Some(coverage),
        rows,
        ranks,
        ranks_total: waits.ranks_total,
        communicators,
        communicators_left_out: Some(row(None, "", &waits.communicators_left_out)),
        unblamed_ns: waits.unblamed_ns,
        calls: Some(v1::CollectiveCalls {
            met: calls.met,
            untimed: calls.untimed,
            open: calls.open,
            limit: calls.limit,
            unresolved: calls.unresolved,
            outside: calls.outside,
        }),
        clock_error_ns: waits.clock_error_ns,
        analysis: None,
        messages: None,
        interval: None,
    }
}

fn kind_row((&(state, region), waited): (&Kind, &Waited)) -> v1::WaitStateRow {
    row(Some(state), mpi::name(region), waited)
}

/// The name of the wait state that one is a part of; empty: of none.
pub(super) fn part_of(state: WaitState) -> String {
    state.part_of().map_or("", WaitState::name).to_owned()
}

/// One row, of a wait state or of all together.
pub(super) fn row(state: Option<WaitState>, function: &str, waited: &Waited) -> v1::WaitStateRow {
    v1::WaitStateRow {
        wait_state: state.map_or("", WaitState::name).to_owned(),
        part_of: state.map(part_of).unwrap_or_default(),
        function: function.to_owned(),
        waits: waited.waits,
        time_ns: waited.ns,
        max_ns: waited.max_ns,
        max_rank: waited.max_rank.0,
    }
}

fn rank_waits((rank, of): (&Rank, &RankWaits)) -> v1::RankWaits {
    let rows = of
        .kinds
        .iter()
        .map(|(&(state, region), share)| v1::RankWaitRow {
            wait_state: state.name().to_owned(),
            part_of: part_of(state),
            function: mpi::name(region).to_owned(),
            waits: share.waits,
            time_ns: share.ns,
            caused_waits: share.caused,
            caused_ns: share.caused_ns,
        });
    let rows: Vec<v1::RankWaitRow> = rows.collect();
    let whole = || rows.iter().filter(|row| row.part_of.is_empty());
    let sum = |ns: fn(&v1::RankWaitRow) -> u64| whole().map(ns).fold(0, u64::saturating_add);
    v1::RankWaits {
        rank: rank.0,
        waited_ns: sum(|row| row.time_ns),
        caused_ns: sum(|row| row.caused_ns),
        rows,
    }
}

fn communicator(comm: CommId) -> String {
    match comm {
        CommId::WORLD => "MPI_COMM_WORLD".to_owned(),
        comm => comm.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::wait_states::{Share, WaitState};
    use invivo_proto::ids::RegionId;

    #[test]
    fn the_longest_comes_first_and_ranks_have_their_sums() {
        let waited = |ns| Waited {
            waits: 1,
            ns,
            max_ns: ns,
            max_rank: Rank(1),
        };
        let share = |ns, caused_ns| Share {
            waits: 1,
            ns,
            caused: 1,
            caused_ns,
        };
        let of = |ns, caused_ns| RankWaits {
            kinds: [
                ((WaitState::LateSender, RegionId(1)), share(ns, caused_ns)),
                ((WaitState::WaitAtNxN, RegionId(2)), share(1, 2)),
                // A part of another one counts once.
                ((WaitState::LateSenderWrongOrder, RegionId(1)), share(ns, 0)),
            ]
            .into(),
        };
        let waits = WaitStates {
            kinds: [
                ((WaitState::LateSender, RegionId(1)), waited(5)),
                ((WaitState::WaitAtNxN, RegionId(2)), waited(7)),
                ((WaitState::LateSenderWrongOrder, RegionId(1)), waited(4)),
            ]
            .into(),
            ranks: [(Rank(0), of(10, 20)), (Rank(1), of(30, 0))].into(),
            communicators: [(CommId::WORLD, [(WaitState::WaitAtNxN, waited(7))].into())].into(),
            ..WaitStates::default()
        };
        let reply = reply(&waits, v1::Coverage::default());
        let rows = reply.rows.iter();
        let names = rows.map(|row| (row.wait_state.as_str(), row.part_of.as_str()));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                ("Wait at N x N", ""),
                ("Late Sender", ""),
                ("Late Sender, Wrong Order", "Late Sender")
            ]
        );
        let ranks = reply
            .ranks
            .iter()
            .map(|of| (of.rank, of.waited_ns, of.caused_ns));
        assert_eq!(ranks.collect::<Vec<_>>(), [(1, 31, 2), (0, 11, 22)]);
        assert_eq!(reply.communicators[0].communicator, "MPI_COMM_WORLD");
        assert_eq!(reply.communicators[0].rows[0].function, "");
    }
}
