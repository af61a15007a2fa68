//! A small job: collectives on several communicators, with the calls that their members make.

use crate::testing::{RANKS, peers_on};
use invivo_proto::control::peer::Clipping;
use invivo_proto::ids::{CommLocal, Rank, RegionId};
use invivo_proto::mpi::{FUNCTIONS, peer};
use invivo_proto::record::{Call, Facts, RecordKind};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::vec::Vec;

/// Ticks are no nanoseconds.
pub fn job_ns(ticks: u64) -> u64 {
    3 * ticks + 7
}

/// The number of a function.
pub fn region(name: &str) -> RegionId {
    let at = FUNCTIONS.iter().position(|function| function.name == name);
    RegionId(at.expect("a function") as u16)
}

/// One member's call.
#[derive(Clone, Debug)]
pub struct Member {
    pub rank: Rank,
    pub call: Call,
    pub clipping: Clipping,
}

/// One collective: its members in the order of their communicator.
#[derive(Clone, Debug)]
pub struct Collected {
    pub function: &'static str,
    pub root: usize,
    pub members: Vec<Member>,
}

impl Member {
    pub fn begin_ns(&self) -> u64 {
        job_ns(self.call.end - self.call.duration)
    }

    pub fn end_ns(&self) -> u64 {
        job_ns(self.call.end)
    }
}

pub const NAMES: [&str; 10] = [
    "MPI_Barrier",
    "MPI_Allreduce",
    "MPI_Reduce_scatter_block_c",
    "MPI_Allgatherv",
    "MPI_Bcast",
    "MPI_Scatterv_c",
    "MPI_Reduce",
    "MPI_Gather",
    // These are none of the forms.
    "MPI_Scan",
    "MPI_Alltoallv",
];

/// What happens: a collective of some function, by the members of the communicator of some rank.
#[derive(Clone, Debug)]
pub struct Step {
    what: usize,
    comm: u32,
    of: usize,
    root: usize,
    /// Of each member: how much later it comes, how long it stays, its bytes.
    times: Vec<(u64, u64, u64, u64)>,
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = || prop_oneof![4 => Just(8u64), 1 => Just(0u64)];
    let times = (0u64..300, 0u64..500, bytes(), bytes());
    let step = (
        0..NAMES.len(),
        prop::sample::select(&[0u32, 0, 2, 3, 3][..]),
        0..RANKS as usize,
        0usize..RANKS as usize,
        prop::collection::vec(times, RANKS as usize),
    );
    let step = step.prop_map(|(what, comm, of, root, times)| Step {
        what,
        comm,
        of,
        root,
        times,
    });
    prop::collection::vec(step, 0..60)
}

/// Runs the steps.
pub fn run(steps: &[Step]) -> Vec<Collected> {
    let mut ready = [100u64; RANKS as usize];
    let mut ordinals: BTreeMap<(Rank, u32), u64> = BTreeMap::new();
    let mut all = Vec::new();
    for step in steps {
        let ranks = peers_on(Rank(step.of as u32), CommLocal(step.comm));
        let root = step.root % ranks.len();
        let function = NAMES[step.what];
        let mut members = Vec::new();
        for (at, &rank) in ranks.iter().enumerate() {
            let (later, stays, bytes_out, bytes_in) = step.times[at];
            let begin = ready[rank.0 as usize] + later;
            ready[rank.0 as usize] = begin + stays;
            let ordinal = ordinals.entry((rank, step.comm)).or_default();
            let is_rooted = !matches!(step.what, 0..=3 | 8 | 9);
            let facts = Facts {
                kind: RecordKind::Collective,
                region: region(function),
                comm: CommLocal(step.comm),
                peer: if is_rooted { root as i32 } else { peer::NONE },
                bytes_out,
                bytes_in,
                ..Facts::default()
            };
            members.push(Member {
                rank,
                call: Call {
                    facts,
                    end: begin + stays,
                    duration: stays,
                    ordinal: *ordinal,
                    request: 0,
                },
                clipping: Clipping::Whole,
            });
            *ordinal += 1;
        }
        all.push(Collected {
            function,
            root,
            members,
        });
    }
    all
}
