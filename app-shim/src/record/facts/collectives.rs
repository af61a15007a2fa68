//! Facts of collectives, with this rank's share of the bytes.

use crate::family::*;
use crate::record::call::Call;
use crate::track::{communicators, requests};
use core::ffi::{c_int, c_void};
use invivo_proto::mpi::peer as special;
use invivo_proto::record::RecordKind;

impl Call {
    /// A blocking collective with this rank's share of its bytes, on the communicator on which it
    /// was counted.
    #[inline(always)]
    pub fn coll(&mut self, root: Option<c_int>, bytes_out: u64, bytes_in: u64) {
        self.collective(RecordKind::Collective, root, bytes_out, bytes_in);
    }

    /// Counts a collective on `comm`, recorded or not: ranks are not switched at the same time, and
    /// a number that began anew with each switch would mean another collective on each rank.
    #[inline(always)]
    pub fn count_collective(&mut self, comm: Comm) {
        let (ordinal, local) = communicators::next_ordinal(comm);
        self.ordinal = ordinal;
        self.is_on(local);
    }

    #[inline(always)]
    fn collective(&mut self, kind: RecordKind, root: Option<c_int>, bytes_out: u64, bytes_in: u64) {
        let root = root.map_or(special::NONE, peer);
        self.is(kind, self.facts.comm(), root, 0, bytes_out, bytes_in);
    }

    /// A non-blocking collective.
    pub unsafe fn post_coll(
        &mut self,
        comm: Comm,
        root: Option<c_int>,
        bytes_out: u64,
        bytes_in: u64,
        request: *const Request,
    ) {
        self.count_collective(comm);
        self.collective(RecordKind::PostCollective, root, bytes_out, bytes_in);
        // SAFETY: the real call has written the request.
        let request = unsafe { *request };
        self.post(request, self.facts, RecordKind::CompletedCollective, false);
        // For those who look at a pending call from outside.
        requests::is_nth(request, self.ordinal as u32);
    }

    /// A persistent collective is made.
    pub unsafe fn coll_init(
        &mut self,
        comm: Comm,
        root: Option<c_int>,
        bytes_out: u64,
        bytes_in: u64,
        request: *const Request,
    ) {
        self.on(comm);
        self.collective(RecordKind::PostCollective, root, bytes_out, bytes_in);
        // This call moves nothing: the facts are those of the operations that it will start.
        let facts = self.facts;
        self.is(RecordKind::Plain, facts.comm(), special::NONE, 0, 0, 0);
        // SAFETY: the real call has written the request.
        self.post(
            unsafe { *request },
            facts,
            RecordKind::CompletedCollective,
            true,
        );
    }

    /// Bytes of a buffer; none where the data are in place.
    #[inline(always)]
    pub fn bytes<T>(&mut self, buffer: *const T, count: i64, datatype: Datatype) -> u64 {
        if buffer.cast::<c_void>() == IN_PLACE {
            0
        } else {
            self.size(count, datatype)
        }
    }

    /// Bytes of a buffer with a count for each of `peers`.
    pub unsafe fn bytes_each<B, T: Copy + Into<i64>>(
        &mut self,
        buffer: *const B,
        counts: *const T,
        datatype: Datatype,
        peers: u64,
    ) -> u64 {
        if buffer.cast::<c_void>() == IN_PLACE {
            return 0;
        }
        // SAFETY: MPI itself reads a count for each peer from here.
        let count = (0..peers as usize)
            .map(|i| unsafe { (*counts.add(i)).into() })
            .sum();
        self.size(count, datatype)
    }

    /// Bytes of a buffer with a count and a datatype for each of `peers`.
    pub unsafe fn bytes_typed<B, T: Copy + Into<i64>>(
        &mut self,
        buffer: *const B,
        counts: *const T,
        types: *const Datatype,
        peers: u64,
    ) -> u64 {
        if buffer.cast::<c_void>() == IN_PLACE {
            return 0;
        }
        // SAFETY: MPI itself reads a count and a datatype for each peer from here.
        (0..peers as usize)
            .map(|i| unsafe { self.size((*counts.add(i)).into(), *types.add(i)) })
            .sum()
    }

    /// How many ranks a collective on `comm` moves data with.
    pub fn peers(&self, comm: Comm) -> u64 {
        communicators::of(comm, |known| known.peers.into())
    }

    /// How many ranks the own group of `comm` has.
    pub fn members(&self, comm: Comm) -> u64 {
        communicators::of(comm, |known| known.members.into())
    }

    /// In- and outdegree in the communicator's topology.
    pub fn neighbors(&self, comm: Comm) -> (u64, u64) {
        let [inward, outward] = communicators::of(comm, |known| known.neighbors);
        (inward.into(), outward.into())
    }

    /// This rank's own entry of an array with one for each rank.
    pub unsafe fn own_count<T: Copy + Into<i64>>(&self, counts: *const T, comm: Comm) -> i64 {
        let rank = usize::try_from(communicators::of(comm, |known| known.rank)).unwrap_or(0);
        // SAFETY: MPI itself reads a count for each rank from here.
        unsafe { (*counts.add(rank)).into() }
    }

    /// Whether this rank is the root. On an intercommunicator a root number is a rank of the remote
    /// group.
    pub fn is_root(&self, root: c_int, comm: Comm) -> bool {
        root == ROOT
            || (root >= 0 && communicators::of(comm, |known| root == known.rank && !known.inter))
    }

    /// Whether this rank is in the root's group of an intercommunicator: it sends and receives
    /// nothing unless it is the root.
    pub fn is_passive(&self, root: c_int) -> bool {
        root == PROC_NULL || root == ROOT
    }

    /// Whether this rank gets what the root gives.
    pub fn is_leaf(&self, root: c_int, comm: Comm) -> bool {
        !self.is_passive(root) && !self.is_root(root, comm)
    }
}
