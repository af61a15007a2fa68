//! Random records of a few ranks and the communicators that they are on, for the property tests of
//! all analyses.

use crate::groups::{self, Groups};
use alloc::vec::Vec;
use invivo_proto::definition::{Definition, Run, Runs};
use invivo_proto::ids::{CommId, CommLocal, Rank, RegionId, SiteId};
use invivo_proto::record::{Call, Facts, Part, RecordKind};
use proptest::prelude::*;

/// A call as a place feeds it to the analyses.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub rank: Rank,
    pub call: Call,
    pub parts: Vec<Part>,
    pub duration_ns: u64,
    pub clipped: bool,
}

impl Recorded {
    /// The facts of the call and of its parts.
    pub fn facts(&self) -> impl Iterator<Item = &Facts> {
        core::iter::once(&self.call.facts).chain(self.parts.iter().map(|part| &part.facts))
    }
}

/// Ticks are ns, of the job's time.
pub struct Plain;

impl crate::iterations::Clock for Plain {
    fn job_ns(&self, at: u64) -> u64 {
        at
    }

    fn duration_ns(&self, ticks: u64) -> u64 {
        ticks
    }
}

/// Ranks of the job that the records come from.
pub const RANKS: u32 = 6;

fn facts(kinds: &'static [RecordKind]) -> impl Strategy<Value = Facts> {
    let numbers = (0u64..1000, 0u64..1000, 0u16..5);
    (
        prop::sample::select(kinds),
        1u16..9,
        0u32..6,
        -4i32..4,
        numbers,
    )
        .prop_map(
            |(kind, region, comm, peer, (bytes_out, bytes_in, site))| Facts {
                kind,
                region: RegionId(region),
                comm: CommLocal(comm),
                peer,
                tag: 0,
                bytes_out,
                bytes_in,
                site: SiteId(site),
            },
        )
}

/// Some hundred calls with parts.
pub fn recorded() -> impl Strategy<Value = Vec<Recorded>> {
    use RecordKind::*;
    let call = facts(&[
        Plain,
        Send,
        Recv,
        PostSend,
        PostRecv,
        Collective,
        PostCollective,
    ]);
    let part = facts(&[
        Send,
        Recv,
        PostSend,
        PostRecv,
        CompletedSend,
        CompletedRecv,
        CompletedCollective,
        CompletedNothing,
    ]);
    let part = part.prop_map(|facts| Part {
        facts,
        ..Part::default()
    });
    let parts = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(part, 0..5)];
    let recorded = (0..RANKS, call, parts, 0u64..1 << 40, any::<bool>()).prop_map(
        |(rank, facts, parts, duration_ns, clipped)| Recorded {
            rank: Rank(rank),
            call: Call {
                facts,
                ..Call::default()
            },
            parts,
            duration_ns,
            clipped,
        },
    );
    prop::collection::vec(recorded, 0..150)
}

/// The communicators of a small job, written out: what peers on each of a rank's local numbers
/// really are. 2: everybody, reversed. 3: the rank's parity. 4: an intercommunicator to the other
/// parity. 5: one of which no definition ever comes.
pub fn peers_on(rank: Rank, comm: CommLocal) -> Vec<Rank> {
    let parity = |odd: u32| (0..RANKS).filter(|r| r % 2 == odd).map(Rank).collect();
    match comm.0 {
        0 => (0..RANKS).map(Rank).collect(),
        1 => Vec::from([rank]),
        2 => (0..RANKS).rev().map(Rank).collect(),
        3 => parity(rank.0 % 2),
        4 => parity(1 - rank.0 % 2),
        _ => Vec::new(),
    }
}

const fn id(leader: u32, counter: u32) -> CommId {
    CommId {
        leader: Rank(leader),
        counter,
    }
}

/// The same as ranks tell it: who they are on which communicator.
pub fn definitions(rank: Rank) -> [Definition<'static>; 3] {
    let odd = rank.0 % 2;
    let communicator = |local, id, rank, size, remote| Definition::Communicator {
        local: CommLocal(local),
        id,
        rank,
        size,
        remote,
    };
    [
        communicator(2, id(RANKS - 1, 1), RANKS - 1 - rank.0, RANKS, None),
        communicator(3, id(odd, 2), rank.0 / 2, RANKS / 2, None),
        communicator(4, id(odd, 3), rank.0 / 2, RANKS / 2, Some(id(1 - odd, 3))),
    ]
}

/// The same as leaders tell it: groups, run by run.
pub fn all_groups() -> Groups {
    let mut known = Groups::new();
    let mut told = |id, first, stride, count| {
        let mut bytes = [0u8; 64];
        let mut at = 0;
        let run = Run {
            first: Rank(first),
            stride,
            count,
        };
        Runs::encode(run, &mut bytes, &mut at).expect("room");
        let runs = Runs(&bytes[..at]);
        groups::learn(&mut known, &Definition::Group { id, start: 0, runs }).expect("well-formed");
    };

    told(id(RANKS - 1, 1), RANKS - 1, -1, RANKS);
    for odd in [0, 1] {
        told(id(odd, 2), odd, 2, RANKS / 2);
        told(id(odd, 3), odd, 2, RANKS / 2);
    }

    known
}
