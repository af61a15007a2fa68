//! The sums over a job's collectives, written out from the definitions.

use super::job::{Collected, Member, region};
use crate::testing::RANKS;
use crate::waits::totals;
use core::cmp::Reverse;
use invivo_proto::control::peer::Clipping;
use invivo_proto::control::wait_states::{Kind, Share, WaitState, WaitStates, Waited};
use invivo_proto::ids::{CommId, Rank};
use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

/// The sums over the job's own collectives, written out from the definitions.
pub fn naive(all: &[Collected], reset_ns: u64) -> (WaitStates, BTreeMap<Rank, u64>) {
    let mut sums = WaitStates {
        ranks_max: 1000,
        ..WaitStates::default()
    };
    let mut all_waits: Vec<(u64, Option<Rank>, CommId, WaitState, &Member)> = Vec::new();
    for one in all {
        let moves = |m: &&Member| m.call.facts.bytes_in + m.call.facts.bytes_out > 0;
        let gets = |m: &Member| m.call.facts.bytes_in > 0;
        let members = &one.members;
        let enters = |of: Vec<&Member>| -> Vec<(u64, Rank)> {
            of.iter().map(|m| (m.enter_ns(), m.rank)).collect()
        };
        let others = || {
            let numbered = members.iter().enumerate();
            numbered.filter(|(at, _)| *at != one.root).map(|(_, m)| m)
        };
        let last = |of: Vec<(u64, Rank)>| {
            let latest = of.iter().map(|e| e.0).max()?;
            let who = of.iter().filter(|e| e.0 == latest).map(|e| e.1).min()?;
            Some((latest, who))
        };
        // When it is complete says nothing where a program asks whenever it likes.
        let completes = !members.iter().any(Member::is_posted);
        let mut waits: Vec<(&Member, WaitState, u64, Option<Rank>)> = Vec::new();
        match one.function {
            "MPI_Barrier" => {
                let latest = last(enters(members.iter().collect()));
                let first_leave = members.iter().map(Member::end_ns).min();
                for m in members {
                    let (at, who) = latest.expect("members");
                    waits.push((m, WaitState::WaitAtBarrier, at.min(m.end_ns()), Some(who)));
                    let from = first_leave.expect("members").max(at).max(m.begin_ns());
                    let ns = m.end_ns().saturating_sub(from) * u64::from(completes);
                    waits.push((m, WaitState::BarrierCompletion, m.begin_ns() + ns, None));
                }
            }
            "MPI_Allreduce" | "MPI_Reduce_scatter_block_c" | "MPI_Allgatherv" => {
                let latest = last(enters(members.iter().filter(moves).collect()));
                let leaves = members.iter().filter(|m| gets(m));
                let first_leave = leaves.map(Member::end_ns).min();
                for m in members.iter().filter(|m| gets(m)) {
                    let (at, who) = latest.expect("somebody gets something");
                    waits.push((m, WaitState::WaitAtNxN, at.min(m.end_ns()), Some(who)));
                    let from = first_leave.expect("the same").max(at).max(m.begin_ns());
                    let ns = m.end_ns().saturating_sub(from) * u64::from(completes);
                    waits.push((m, WaitState::NxNCompletion, m.begin_ns() + ns, None));
                }
            }
            "MPI_Bcast" | "MPI_Scatterv_c" => {
                let root = &members[one.root];
                for m in others().filter(|m| gets(m)) {
                    let at = root.enter_ns().min(m.end_ns());
                    waits.push((m, WaitState::LateBroadcast, at, Some(root.rank)));
                }
            }
            "MPI_Reduce" | "MPI_Gather" => {
                let root = &members[one.root];
                let sending = others().filter(|m| m.call.facts.bytes_out > 0);
                let latest = last(enters(sending.collect()));
                if let (Some((at, who)), true) = (latest, gets(root)) {
                    waits.push((
                        root,
                        WaitState::EarlyReduce,
                        at.min(root.end_ns()),
                        Some(who),
                    ));
                }
            }
            "MPI_Scan" | "MPI_Exscan_c" => {
                for (at, m) in members.iter().enumerate().filter(|(_, m)| gets(m)) {
                    let before = members[..=at].iter().filter(moves);
                    let latest = before.clone().map(Member::enter_ns).max();
                    let last = before.clone().find(|m| Some(m.enter_ns()) == latest);
                    let last = last.expect("itself");
                    let until = last.enter_ns().min(m.end_ns());
                    waits.push((m, WaitState::EarlyScan, until, Some(last.rank)));
                }
            }
            _ => continue,
        }
        let untimed = members.iter().any(|m| m.clipping != Clipping::Whole);
        // Of one that was posted by another call the enter is known all the same.
        let untimed = |m: &Member| match m.is_posted() {
            true => m.clipping != Clipping::Whole,
            false => untimed,
        };
        for m in members {
            let is_behind = m.end_ns() > reset_ns || reset_ns == 0;
            sums.calls.untimed += u64::from(untimed(m) && is_behind);
            sums.calls.met += u64::from(!untimed(m) && is_behind);
        }
        for (m, state, until_ns, causer) in waits {
            let looks = m.waits_in == region("MPI_Testall");
            let ns = until_ns.saturating_sub(m.begin_ns());
            if untimed(m) || looks || ns == 0 || (m.end_ns() <= reset_ns && reset_ns > 0) {
                continue;
            }
            all_waits.push((ns, causer, comm(m), state, m));
        }
    }
    // A call that completes several waits once, the longest of them.
    all_waits.sort_by_key(|(ns, causer, comm, state, _)| Reverse((*ns, *causer, *comm, *state)));
    let mut waited = BTreeSet::new();
    all_waits.retain(|(.., m)| !m.is_posted() || waited.insert(m.waits_at()));
    for (ns, causer, comm, state, m) in all_waits {
        let kind: Kind = (state, m.waits_in);
        let mut share = |rank: Rank, change: &dyn Fn(&mut Share)| {
            let of_rank = sums.ranks.entry(rank).or_default();
            change(of_rank.kinds.entry(kind).or_default());
        };
        share(m.rank, &|share| {
            share.waits += 1;
            share.ns += ns;
        });
        if let Some(causer) = causer {
            share(causer, &|share| {
                share.caused += 1;
                share.caused_ns += ns;
            });
        }
        let add = |into: &mut Waited| {
            if ns > into.max_ns || (ns == into.max_ns && m.rank < into.max_rank) {
                (into.max_ns, into.max_rank) = (ns, m.rank);
            }
            into.waits += 1;
            into.ns += ns;
        };
        add(sums.kinds.entry(kind).or_default());
        let of_comm = sums.communicators.entry(comm).or_default();
        add(of_comm.entry(state).or_default());
    }
    sums.ranks_total = sums.ranks.len() as u32;
    let caused = sums.ranks.iter().map(|(rank, of)| (*rank, totals(of).1));
    let caused = caused.collect();
    (sums, caused)
}

/// The communicator of a member's call.
fn comm(m: &Member) -> CommId {
    match (m.call.facts.comm.0, m.rank.0 % 2) {
        (0, _) => CommId::WORLD,
        (2, _) => CommId {
            leader: Rank(RANKS - 1),
            counter: 1,
        },
        (_, odd) => CommId {
            leader: Rank(odd),
            counter: 2,
        },
    }
}
