//! Links between processes: every message takes its own time, the messages of one link keep their
//! order (as MPI gives it), and nothing is promised between links.

use crate::agenda::Time;
use fastrand::Rng;
use invivo_proto::ids::WorldRank;
use std::collections::BTreeMap;

/// All links.
#[derive(Debug)]
pub struct Links {
    rng: Rng,
    delay_ns_max: Time,
    /// When the last message of each link arrives.
    last: BTreeMap<(WorldRank, WorldRank), Time>,
}

impl Links {
    /// Links on which a message takes at most `delay_ns_max`.
    pub fn new(rng: Rng, delay_ns_max: Time) -> Links {
        Links {
            rng,
            delay_ns_max,
            last: BTreeMap::new(),
        }
    }

    /// When a message sent now arrives.
    pub fn arrival(&mut self, now: Time, from: WorldRank, to: WorldRank) -> Time {
        let arrival = now + self.rng.u64(..=self.delay_ns_max);
        let last = self.last.entry((from, to)).or_default();
        // MPI does not let messages of one pair of ranks overtake each other.
        *last = arrival.max(*last);
        *last
    }
}
