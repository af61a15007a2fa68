//! Collectives whose members report to several places meet at one place, their home.
//!
//! Neighbouring numbers of a communicator have one home, so that what is told travels together;
//! blocks of them are dealt out over all places, so that no place has more to do than the others,
//! however many there are.

use super::meeting::merge;
use alloc::vec::Vec;
use hashbrown::HashMap;
use invivo_proto::control::meetings::{Arrived, Collective, Met};
use rustc_hash::FxBuildHasher;

/// Neighbouring numbers with one home: where ranks call thousands of collectives a second, as many
/// as are told at once.
const BLOCK: u64 = 64;
/// Arrivals that wait at their home for others: some 5 MB. When there would be more, the older half
/// of the collectives is forgotten; their members give up by themselves.
pub const GATHERED_MAX: usize = 1 << 16;

/// A number by which the home is chosen; the same at all places.
pub fn home_number(of: &Collective) -> u64 {
    let block = of.ordinal / BLOCK;
    let comm = u64::from(of.comm.leader.0) << 32 | u64::from(of.comm.counter);
    // Neighbours shall not have the same homes in the same order: multiplied by 2^64 over the
    // golden ratio their upper bits are as good as thrown.
    let mixed =
        (comm.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ block).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> 32
}

#[derive(Clone, Debug)]
struct Gathering {
    met: Met,
    places: Vec<u32>,
}

impl Gathering {
    /// What of it counts as arrivals: the places, and steps of a scan by the room that they take.
    fn arrivals(&self) -> usize {
        match self.places.len() {
            0 => 0,
            places => places + self.met.meeting.items() - 1,
        }
    }
}

/// Collectives that have their home here.
#[derive(Clone, Debug, Default)]
pub struct Homes {
    open: HashMap<Collective, Gathering, FxBuildHasher>,
    arrivals: usize,
}

impl Homes {
    /// Takes in what the place `from` says. When all members are there: the whole, and the places
    /// that wait for it.
    pub fn arrive(&mut self, from: u32, arrived: &Arrived) -> Option<(Met, Vec<u32>)> {
        if self.arrivals >= GATHERED_MAX {
            self.make_room();
        }
        let gathering = self.open.entry(arrived.of).or_insert_with(|| Gathering {
            met: Met {
                of: arrived.of,
                ..Met::default()
            },
            places: Vec::new(),
        });
        let before = gathering.arrivals();
        merge(&mut gathering.met.meeting, &arrived.meeting);
        if !gathering.places.contains(&from) {
            gathering.places.push(from);
        }
        self.arrivals = (self.arrivals + gathering.arrivals()).saturating_sub(before);
        if gathering.met.meeting.arrivals < arrived.size {
            return None;
        }
        let whole = self.open.remove(&arrived.of)?;
        self.arrivals -= whole.arrivals();
        Some((whole.met, whole.places))
    }

    /// Forgets the older half.
    #[cold]
    fn make_room(&mut self) {
        let age = |gathering: &Gathering| gathering.met.meeting.latest.map_or(0, |(ns, _)| ns);
        let mut ages: Vec<u64> = self.open.values().map(age).collect();
        let middle = ages.len() / 2;
        let until_ns = *ages.select_nth_unstable(middle).1;
        let arrivals = &mut self.arrivals;
        self.open.retain(|_, gathering| {
            let stays = age(gathering) > until_ns;
            if !stays {
                *arrivals -= gathering.arrivals();
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use invivo_proto::control::meetings::Meeting;
    use invivo_proto::ids::{CommId, Rank};

    fn arrived(ordinal: u64, size: u32) -> Arrived {
        Arrived {
            of: Collective {
                comm: CommId::WORLD,
                ordinal,
            },
            size,
            meeting: Meeting {
                arrivals: 1,
                latest: Some((ordinal, Rank(0))),
                ..Meeting::default()
            },
        }
    }

    #[test]
    fn what_never_becomes_whole_is_forgotten() {
        let mut homes = Homes::default();
        for ordinal in 0..3 * GATHERED_MAX as u64 {
            assert_eq!(homes.arrive(7, &arrived(ordinal, 2)), None);
            assert!(homes.arrivals <= GATHERED_MAX && homes.open.len() == homes.arrivals);
        }
        let newest = 3 * GATHERED_MAX as u64 - 1;
        let whole = homes.arrive(3, &arrived(newest, 2));
        assert_eq!(whole.map(|(_, places)| places), Some([7, 3].to_vec()));
    }

    #[test]
    fn homes_are_dealt_out_over_all_places() {
        let mut counts = [0u32; 16];
        for block in 0..1600 {
            let of = arrived(block * BLOCK, 2).of;
            counts[home_number(&of) as usize % counts.len()] += 1;
            let neighbour = Collective {
                ordinal: of.ordinal + BLOCK - 1,
                ..of
            };
            assert_eq!(home_number(&of), home_number(&neighbour));
        }
        assert!(
            counts.iter().all(|&count| (50..200).contains(&count)),
            "{counts:?}"
        );
    }
}
