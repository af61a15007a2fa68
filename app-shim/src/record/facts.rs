//! Hooks of the generated wrappers: what each kind of call was about, from its own arguments.
//!
//! They are called after the real call, those in `needs.rs` before it. Hooks that only describe a
//! call are called for recorded calls; those that also follow something are called always.

mod collectives;
mod completions;
mod messages;
mod needs;
mod objects;

use super::call::Call;
use crate::family::*;
use crate::track::communicators;
use crate::track::requests::{self, Posted};
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

    /// Notes the communicator of a call of which nothing else is recorded.
    #[inline(always)]
    pub fn on(&mut self, comm: Comm) {
        self.facts.comm = communicators::local(comm);
    }

    /// The number of a request that the call posts behind `before` others.
    #[inline(always)]
    fn number(&mut self, before: u64) -> u64 {
        let next = self.location.encoder.next_request();
        // The number is used up when the record is written, or here where there will be none: the
        // next record is of another epoch then, so in another packet, and a packet says which
        // number is its first.
        if self.recorded() {
            return next + before;
        }
        self.location.encoder.skip_request();
        next
    }

    /// Remembers a request that the call posts, for its completion.
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
            },
        );
    }
}
