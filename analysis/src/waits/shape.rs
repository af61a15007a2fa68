//! What members of a collective need of each other, and with it which wait states there are.
//!
//! The definitions are those of Scalasca's trace analyser: its patterns Wait at N x N, N x N
//! Completion, Wait at Barrier, Barrier Completion, Late Broadcast, Early Reduce and Early Scan. As
//! there since its release 2.6, who is early for a reduction waits for the last sender, and
//! `MPI_Alltoallv` and `MPI_Alltoallw` are none of the n-to-n operations, for a member may
//! have nothing to do with another one.

use super::meeting::Arrival;
use super::steps::last_before;
use crate::messages::{Late, by_name};
use alloc::vec::Vec;
use invivo_proto::control::meetings::Meeting;
use invivo_proto::control::wait_states::WaitState;
use invivo_proto::ids::{Rank, RegionId};
use invivo_proto::mpi::FUNCTIONS;
use invivo_proto::record::Facts;

/// The form of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Barrier,
    NxN,
    OneToN,
    NToOne,
    Scan,
}

impl Shape {
    /// Whether a member gives others something, and whether it gets something; or it is a barrier.
    #[inline]
    pub fn moves(self, facts: &Facts) -> (bool, bool) {
        // A buffer that is used in place counts as nothing that is given, so that only who gives
        // and gets nothing is told to move nothing.
        let gives = match self {
            Shape::NToOne => facts.bytes_out != 0,
            _ => facts.bytes_out | facts.bytes_in != 0,
        };
        let is_barrier = self == Shape::Barrier;
        (gives || is_barrier, facts.bytes_in != 0 || is_barrier)
    }
}

/// What is known of each function, by its number.
#[derive(Clone, Debug)]
pub struct Shapes {
    of: Vec<Option<Shape>>,
    /// It only looks whether requests are complete.
    tests: Vec<bool>,
}

impl Default for Shapes {
    fn default() -> Shapes {
        Shapes {
            of: FUNCTIONS.iter().map(|function| of(function.name)).collect(),
            tests: by_name(|name| name.starts_with("MPI_Test")),
        }
    }
}

impl Shapes {
    /// Of a collective, blocking or not; nothing where waiting has no such form.
    #[inline]
    pub fn of(&self, region: RegionId) -> Option<Shape> {
        *self.of.get(usize::from(region.0))?
    }

    /// Whether the function only looks whether requests are complete: it does not wait.
    pub fn only_looks(&self, region: RegionId) -> bool {
        self.tests.get(usize::from(region.0)) == Some(&true)
    }
}

const SHAPES: [(&str, Shape); 15] = [
    ("Barrier", Shape::Barrier),
    ("Allreduce", Shape::NxN),
    ("Alltoall", Shape::NxN),
    ("Allgather", Shape::NxN),
    ("Allgatherv", Shape::NxN),
    ("Reduce_scatter", Shape::NxN),
    ("Reduce_scatter_block", Shape::NxN),
    ("Bcast", Shape::OneToN),
    ("Scatter", Shape::OneToN),
    ("Scatterv", Shape::OneToN),
    ("Reduce", Shape::NToOne),
    ("Gather", Shape::NToOne),
    ("Gatherv", Shape::NToOne),
    ("Scan", Shape::Scan),
    ("Exscan", Shape::Scan),
];

fn of(name: &str) -> Option<Shape> {
    // Large-count variants of MPI-4 synchronise like their originals.
    let name = name
        .strip_suffix("_c")
        .unwrap_or(name)
        .strip_prefix("MPI_")?;
    let is_it = |(of, _): &&(&str, Shape)| {
        // MPI_Ibarrier is the non-blocking MPI_Barrier.
        let posted = name.strip_prefix('I');
        name == *of || posted.is_some_and(|name| name == of.to_ascii_lowercase())
    };
    SHAPES.iter().find(is_it).map(|(_, shape)| *shape)
}

/// A wait of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub state: WaitState,
    pub ns: u64,
    /// Who was waited for; nobody where the operation only takes its time.
    pub causer: Option<Rank>,
    /// For how long the same call had waited for others before, in ns.
    pub before_ns: u64,
}

impl Wait {
    /// Of a call that waited for somebody.
    pub fn of(late: &Late) -> Wait {
        Wait {
            state: late.state,
            ns: late.ns,
            causer: Some(late.causer),
            before_ns: late.before_ns,
        }
    }
}

/// The waits of a member in a collective that all have come to. None is longer than the member's
/// call.
#[inline]
pub fn waits(shape: Shape, meeting: &Meeting, member: &Arrival) -> [Option<Wait>; 2] {
    match shape {
        Shape::Barrier => n_to_n(
            meeting,
            member,
            [WaitState::WaitAtBarrier, WaitState::BarrierCompletion],
        ),
        Shape::NxN => n_to_n(
            meeting,
            member,
            [WaitState::WaitAtNxN, WaitState::NxNCompletion],
        ),
        Shape::OneToN if !member.is_root && member.receives => {
            [until(WaitState::LateBroadcast, meeting.root, member), None]
        }
        Shape::NToOne if member.is_root && member.receives => {
            // Before the last one has sent there is nothing to go on with.
            [until(WaitState::EarlyReduce, meeting.latest, member), None]
        }
        Shape::Scan if member.receives => {
            let whom = last_before(&meeting.steps, member.member);
            let whom = whom.map(|step| (step.enter_ns, step.rank));
            [until(WaitState::EarlyScan, whom, member), None]
        }
        Shape::OneToN | Shape::NToOne | Shape::Scan => [None, None],
    }
}

#[inline]
fn n_to_n(
    meeting: &Meeting,
    member: &Arrival,
    [wait, completion]: [WaitState; 2],
) -> [Option<Wait>; 2] {
    if !member.receives {
        return [None, None];
    }
    // The operation is complete for nobody before the last one has come.
    let latest_ns = meeting.latest.map_or(0, |(ns, _)| ns);
    let from_ns = meeting.first_leave_ns.map(|ns| ns.max(latest_ns));
    let completion = from_ns.map(|from_ns| Wait {
        state: completion,
        ns: member.end_ns.saturating_sub(from_ns.max(member.begin_ns)),
        causer: None,
        before_ns: 0,
    });
    [until(wait, meeting.latest, member), completion]
}

/// From the member's enter to that of another one.
#[inline]
fn until(state: WaitState, whom: Option<(u64, Rank)>, member: &Arrival) -> Option<Wait> {
    let (at_ns, causer) = whom?;
    Some(Wait {
        state,
        ns: at_ns.min(member.end_ns).saturating_sub(member.begin_ns),
        causer: Some(causer),
        before_ns: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_function() {
        let shapes = Shapes::default();
        let known = shapes.of.iter().flatten().count();
        // Blocking and not, and with a large count all of them but the barriers.
        assert_eq!(known, 2 * (15 + 14));
    }
}
