//! What each kind of call was about: the hooks that the generated wrappers call after the real
//! call, with the call's own arguments. Hooks that only tell are called for recorded calls; those
//! that also follow something are called always.

mod collectives;
mod completions;
mod messages;
mod needs;
mod objects;

use crate::call::Call;
use crate::comms;
use crate::family::*;
use crate::requests::{self, Posted};
use core::ffi::c_int;
use invivo_proto::ids::CommLocal;
use invivo_proto::mpi::ANY_TAG;
use invivo_proto::record::{Facts, Part, RecordKind};

/// A tag as records have it: all families number `MPI_ANY_TAG` below zero.
#[inline(always)]
fn tag_of(tag: c_int) -> i32 {
    if tag < 0 { ANY_TAG } else { tag }
}

impl Call {
    #[inline(always)]
    fn size(&mut self, count: i64, datatype: Datatype) -> u64 {
        u64::try_from(count)
            .unwrap_or(0)
            .saturating_mul(self.location.sizes.get(datatype))
    }

    #[inline(always)]
    fn message(
        &self,
        kind: RecordKind,
        comm: CommLocal,
        peer: i32,
        tag: i32,
        bytes_out: u64,
        bytes_in: u64,
    ) -> Facts {
        Facts {
            kind,
            region: self.facts.region,
            comm,
            peer,
            tag,
            bytes_out,
            bytes_in,
        }
    }

    #[inline(always)]
    fn part(&mut self, facts: Facts, request: u64, posted: u64) {
        self.location.parts.push(Part {
            facts,
            request,
            posted,
        });
    }

    /// The call is on a communicator, and that is all.
    #[inline(always)]
    pub fn on(&mut self, comm: Comm) {
        self.facts.comm = comms::local(comm);
    }

    /// The number of a request that the call posts behind `before` others. A record gives it away
    /// when it is written. Without one that is done here: the next record is of another epoch, so
    /// in another packet, and a packet says which number is its first.
    #[inline(always)]
    fn number(&mut self, before: u64) -> u64 {
        let next = self.location.encoder.next_request();
        if self.recorded() {
            return next + before;
        }
        self.location.encoder.skip_request();
        next
    }

    #[inline(always)]
    fn post(&mut self, request: Request, posting: Facts, completing: RecordKind, persistent: bool) {
        let parts = &self.location.parts;
        let before = parts.iter().filter(|part| part.facts.kind.posts()).count();
        let number = self.number(before as u64);
        requests::insert(
            request,
            Posted {
                facts: Facts {
                    kind: completing,
                    ..posting
                },
                request: number,
                posted: self.begin_ticks(),
                persistent,
                active: !persistent,
                makes_comm: 0,
            },
        );
    }
}
