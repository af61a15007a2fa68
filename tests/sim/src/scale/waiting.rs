//! Who waits for whom in the large tree: each rank another time, in three ways. Who has waited most
//! has made others wait least.

use super::world::World;
use invivo_analysis::waits::Sums;
use invivo_proto::control::wait_states::{Kind, RankWaits, Share, WaitState, WaitStates, Waited};
use invivo_proto::ids::{CommId, Rank, SiteId};
use invivo_proto::rank_set::RankSet;
use std::collections::BTreeMap;

/// Wait states, and the functions in which ranks wait.
const WAYS: [(WaitState, u16); 3] = [
    (WaitState::LateSender, 1),
    (WaitState::WaitAtNxN, 4),
    (WaitState::WaitAtBarrier, 5),
];
/// What everybody waits, in ns, with as many digits as what there is more.
const LEAST_NS: u64 = 1 << 33;
/// How often, each time but one for a ns.
const WAITS: u64 = 4;

fn kind(world: &World, way: usize) -> Kind {
    let (state, function) = WAYS[way];
    (state, world.region(function))
}

/// What the rank with this place among all waits in one of the ways, in ns.
fn ns(way: usize, place: u64) -> u64 {
    LEAST_NS + (way as u64 + 1) * place
}

/// A rank's place by how much it waits, and by how much it makes others wait.
fn places(world: &World, rank: Rank) -> (u64, u64) {
    let waits = world.waiting.at(u64::from(rank.0));
    (waits, u64::from(world.ranks) - 1 - waits)
}

fn waited(rank: Rank, ns: u64) -> Waited {
    Waited {
        waits: WAITS,
        ns,
        max_ns: ns - (WAITS - 1),
        max_rank: rank,
    }
}

/// The part of an answer that is about these ranks, as their place sums it up.
pub fn part(world: &World, ranks: RankSet, ranks_max: u32) -> WaitStates {
    let mut sums = Sums::new(ranks);
    for (index, rank) in ranks.iter().enumerate() {
        let (waits, causes) = places(world, rank);
        for way in 0..WAYS.len() {
            let (state, region) = kind(world, way);
            let at = (region, SiteId::NONE);
            let waited = waited(rank, ns(way, waits));
            sums.charge(index, CommId::WORLD, at, (state, None), &waited);
            sums.blame(index, (state, region), WAITS, ns(way, causes));
        }
    }
    sums.to_partial(ranks_max)
}

/// The answer as a formula.
pub fn all(world: &World, ranks_max: u32) -> WaitStates {
    let ranks = u64::from(world.ranks);
    let slowest = Rank(world.waiting.undo(ranks - 1) as u32);
    let of_all = |way: usize| Waited {
        waits: ranks * WAITS,
        // A sum of all numbers below the number of ranks.
        ns: ranks * LEAST_NS + (way as u64 + 1) * (ranks * (ranks - 1) / 2),
        ..waited(slowest, ns(way, ranks - 1))
    };
    let ways = 0..WAYS.len();
    let kinds = ways.clone().map(|way| (kind(world, way), of_all(way)));
    let states: BTreeMap<WaitState, Waited> = ways.map(|way| (WAYS[way].0, of_all(way))).collect();
    // Those that waited most, and those that made others wait most.
    let most = u64::from(ranks_max);
    let named = (0..most).chain(ranks - most..ranks);
    let named = named.map(|place| Rank(world.waiting.undo(place) as u32));
    WaitStates {
        kinds: kinds.collect(),
        ranks: named.map(|rank| (rank, of_rank(world, rank))).collect(),
        ranks_max,
        ranks_total: world.ranks,
        communicators: [(CommId::WORLD, states)].into(),
        ..WaitStates::default()
    }
}

fn of_rank(world: &World, rank: Rank) -> RankWaits {
    let (waits, causes) = places(world, rank);
    let share = |way| Share {
        waits: WAITS,
        ns: ns(way, waits),
        caused: WAITS,
        caused_ns: ns(way, causes),
    };
    let kinds = (0..WAYS.len()).map(|way| (kind(world, way), share(way)));
    RankWaits {
        kinds: kinds.collect(),
    }
}
