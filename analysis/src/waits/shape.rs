//! What members of a collective need of each other, and with it which wait states there are.
//!
//! The definitions are those of Scalasca's trace analyser: its patterns Wait at N x N, N x N
//! Completion, Wait at Barrier, Barrier Completion, Late Broadcast and Early Reduce. As there,
//! `MPI_Alltoallv` and `MPI_Alltoallw` are none of the n-to-n operations, for a member may have
//! nothing to do with another one.

use super::meeting::Arrival;
use alloc::vec::Vec;
use invivo_proto::control::meetings::Meeting;
use invivo_proto::control::wait_states::WaitState;
use invivo_proto::ids::{Rank, RegionId};
use invivo_proto::mpi::FUNCTIONS;

/// The form of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Barrier,
    NxN,
    OneToN,
    NToOne,
}

/// The shape of each function, by its number.
#[derive(Clone, Debug)]
pub struct Shapes(Vec<Option<Shape>>);

impl Default for Shapes {
    fn default() -> Shapes {
        Shapes(FUNCTIONS.iter().map(|function| of(function.name)).collect())
    }
}

impl Shapes {
    /// Of a blocking collective; nothing where waiting has no such form.
    #[inline]
    pub fn of(&self, region: RegionId) -> Option<Shape> {
        *self.0.get(usize::from(region.0))?
    }
}

fn of(name: &str) -> Option<Shape> {
    // Large-count variants of MPI-4 synchronise like their originals.
    match name.strip_suffix("_c").unwrap_or(name) {
        "MPI_Barrier" => Some(Shape::Barrier),
        "MPI_Allreduce"
        | "MPI_Alltoall"
        | "MPI_Allgather"
        | "MPI_Allgatherv"
        | "MPI_Reduce_scatter"
        | "MPI_Reduce_scatter_block" => Some(Shape::NxN),
        "MPI_Bcast" | "MPI_Scatter" | "MPI_Scatterv" => Some(Shape::OneToN),
        "MPI_Reduce" | "MPI_Gather" | "MPI_Gatherv" => Some(Shape::NToOne),
        _ => None,
    }
}

/// A wait of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub state: WaitState,
    pub ns: u64,
    /// Who was waited for; nobody where the operation only takes its time.
    pub causer: Option<Rank>,
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
            [until(WaitState::EarlyReduce, meeting.first, member), None]
        }
        Shape::OneToN | Shape::NToOne => [None, None],
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_function() {
        let shapes = Shapes::default();
        let known = shapes.0.iter().flatten().count();
        // Thirteen, and with a large count all of them but the barrier.
        assert_eq!(known, 13 + 12);
    }
}
