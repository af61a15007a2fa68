//! Hooks of the generated wrappers: what each kind of call was about, from its own arguments.
//!
//! They are called after the real call, those in `needs.rs` before it. Hooks that only describe a
//! call are called for recorded calls; those that also follow something are called always.

mod collectives;
mod completions;
mod messages;
mod needs;
mod objects;
mod one_sided;

use super::call::Call;
use super::location::Part;
use crate::family::*;
use crate::track::communicators;
use crate::track::requests::{self, Posted};
use core::ffi::c_int;
use invivo_proto::handles::Nth;
use invivo_proto::ids::CommLocal;
use invivo_proto::mpi::ANY_TAG;
use invivo_proto::record::{RecordKind, Words};

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
    ) -> Words {
        Words {
            head: self.head(kind, comm),
            message: Words::message(peer, tag),
            bytes_out,
            bytes_in,
        }
    }

    /// Notes what the call is about.
    #[inline(always)]
    fn is(
        &mut self,
        kind: RecordKind,
        comm: CommLocal,
        peer: i32,
        tag: i32,
        bytes_out: u64,
        bytes_in: u64,
    ) {
        self.kind = kind;
        self.facts = self.message(kind, comm, peer, tag, bytes_out, bytes_in);
    }

    #[inline(always)]
    fn part(&mut self, facts: Words, request: u64, posted: u64) {
        let part = Part {
            facts,
            request,
            posted,
        };
        // Where there is no memory for it, the call has a part less.
        // SAFETY: the call has written as many parts as it counts.
        let is_there = unsafe { self.location.parts.put(self.parts, part) };
        self.parts += usize::from(is_there);
    }

    /// Notes the communicator of a call of which nothing else is recorded.
    #[inline(always)]
    pub fn on(&mut self, comm: Comm) {
        self.is_on(communicators::local(comm));
    }

    /// Notes the communicator by its number in records, before anything else is noted.
    #[inline(always)]
    fn is_on(&mut self, comm: CommLocal) {
        self.facts.head = self.head(RecordKind::Plain, comm);
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

    /// Remembers a request that the call posts, the first or the only one, for its completion.
    #[inline(always)]
    fn post(&mut self, request: Request, posting: Words, completing: RecordKind, persistent: bool) {
        let mut facts = posting;
        facts.set_kind(completing);
        let posted = Posted {
            facts,
            request: self.number(0),
            posted: self.begin_ticks(),
            persistent,
            active: !persistent,
            nth: Nth::default(),
        };
        requests::insert(request, posted);
    }
}
