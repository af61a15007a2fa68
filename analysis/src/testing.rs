//! Random records of a few ranks, for the property tests of all analyses.

use alloc::vec::Vec;
use invivo_proto::ids::{CommLocal, Rank, RegionId};
use invivo_proto::record::{Call, Facts, Kind, Part};
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

/// Ranks of the job that the records come from.
pub const RANKS: u32 = 6;

fn facts(kinds: &'static [Kind]) -> impl Strategy<Value = Facts> {
    let numbers = (0u64..1000, 0u64..1000);
    (prop::sample::select(kinds), 1u16..9, 0u32..6, -4i32..4, numbers).prop_map(
        |(kind, region, comm, peer, (bytes_out, bytes_in))| Facts {
            kind,
            region: RegionId(region),
            comm: CommLocal(comm),
            peer,
            tag: 0,
            bytes_out,
            bytes_in,
        },
    )
}

/// Some hundred calls with parts.
pub fn recorded() -> impl Strategy<Value = Vec<Recorded>> {
    use Kind::*;
    let call = facts(&[Plain, Send, Recv, PostSend, PostRecv, Collective, PostCollective]);
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
