//! The communicators of simulated ranks: each rank leads one with the rank behind it, so that every
//! rank is in its own and in that of the rank before, which mostly reports to the same place and
//! sometimes to another.

use invivo_proto::control::results::Group;
use invivo_proto::definition::{Definition, Run};
use invivo_proto::ids::{CommId, CommLocal, Rank};
use std::collections::BTreeMap;

/// A rank's own communicator, as it numbers it.
pub const OWN: CommLocal = CommLocal(2);
/// That of the rank before.
pub const BEFORE: CommLocal = CommLocal(3);

/// Ranks in each of them.
pub fn size(ranks: u32) -> u32 {
    ranks.min(2)
}

/// The communicator that a rank leads.
pub fn led_by(leader: Rank) -> CommId {
    CommId { leader, counter: 1 }
}

/// Who leads a communicator of `rank`, as it numbers it; nothing of the world.
pub fn leader(rank: Rank, comm: CommLocal, ranks: u32) -> Option<Rank> {
    match comm {
        OWN => Some(rank),
        BEFORE => Some(Rank((rank.0 + ranks - 1) % ranks)),
        _ => None,
    }
}

/// The rank of the application that `peer` is.
pub fn member(leader: Rank, peer: i32, ranks: u32) -> Rank {
    Rank((leader.0 + peer as u32) % ranks)
}

/// What a rank says about its communicators.
pub fn definitions(rank: Rank, ranks: u32) -> [Definition<'static>; 2] {
    [(OWN, 0), (BEFORE, size(ranks) - 1)].map(|(local, own)| Definition::Communicator {
        local,
        id: led_by(leader(rank, local, ranks).unwrap_or(rank)),
        rank: own,
        size: size(ranks),
        remote: None,
    })
}

/// Who is in the communicators that these ranks lead.
pub fn told(leaders: impl Iterator<Item = Rank>, ranks: u32) -> BTreeMap<CommId, Group> {
    let group = |leader: Rank| {
        let one = |peer| Run {
            first: member(leader, peer, ranks),
            stride: 1,
            count: 1,
        };
        let runs = (0..size(ranks) as i32).map(one).collect();
        (
            led_by(leader),
            Group {
                pieces: [(0, runs)].into(),
            },
        )
    };

    leaders.map(group).collect()
}
