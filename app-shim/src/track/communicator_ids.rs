//! Ids of communicators: how their members learn the id by which the whole job knows them.
//!
//! Members learn the id of a new communicator from its rank 0 inside the creating call, which is
//! collective anyway (for `MPI_Comm_idup` see `idup.rs`). Only rank 0 defines the group.
//! Communicators that may have members in another world (spawned, connected) get no id: nothing is
//! ever sent to a process that does not expect it.

use super::communicators::{self, Known};
use super::definitions::define;
use super::groups;
use crate::family::*;
use crate::limits::NAME_BYTES_MAX;
use crate::process;
use crate::resolve::pmpi;
use crate::resolve::predefined::{comm_null, comm_self, op_max, type_u64};
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};
use invivo_proto::definition::Definition;
use invivo_proto::ids::{CommId, CommLocal, Rank};

/// The next counter of communicators that this process is rank 0 of, after the world and self.
static NEXT_LED: AtomicU32 = AtomicU32::new(2);

fn my_rank() -> Rank {
    Rank(process::page().map_or(0, |page| page.rank.load(Ordering::Relaxed)))
}

/// Registers and defines the world and self.
pub fn start(world: Comm) {
    let me = my_rank();
    if let Some(page) = process::page() {
        let library = &page.library;
        library
            .any_source
            .store(ANY_SOURCE as u32, Ordering::Relaxed);
        library.proc_null.store(PROC_NULL as u32, Ordering::Relaxed);
        library
            .request_bytes
            .store(size_of::<Request>() as u32, Ordering::Relaxed);
    }
    let known = communicators::register_as(world, CommLocal::WORLD.0, false);
    define(&Definition::Communicator {
        local: CommLocal::WORLD,
        id: CommId::WORLD,
        rank: known.rank as u32,
        size: known.peers,
        remote: None,
    });
    communicators::register_as(comm_self(), CommLocal::SELF.0, false);
    let id = CommId {
        leader: me,
        counter: 1,
    };
    define(&Definition::Communicator {
        local: CommLocal::SELF,
        id,
        rank: 0,
        size: 1,
        remote: None,
    });
    groups::define_group(comm_self(), id);
}

fn pack(id: CommId) -> u64 {
    u64::from(id.leader.0) << 32 | u64::from(id.counter)
}

pub fn unpack(packed: u64) -> CommId {
    CommId {
        leader: Rank((packed >> 32) as u32),
        counter: packed as u32,
    }
}

/// The id that this rank gives to a communicator that it is rank 0 of; 0 on the other ranks.
pub fn offer(known: &Known) -> u64 {
    // Unique in the job without asking anybody: its rank 0 counts its own.
    if known.rank == 0 {
        pack(CommId {
            leader: my_rank(),
            counter: NEXT_LED.fetch_add(1, Ordering::Relaxed),
        })
    } else {
        0
    }
}

/// Registers a communicator that was made of `parent` by a blocking call that all its members are
/// in.
#[cold]
pub fn made(parent: Comm, comm: Comm) {
    let foreign = communicators::known(parent).is_none_or(|known| known.foreign);
    learn_together(comm, foreign);
}

/// Registers a communicator that was made of a session's group, by a blocking call that all its
/// members are in. It is not foreign: process sets of a session have the job's own processes alone.
#[cold]
pub fn made_of_group(comm: Comm) {
    learn_together(comm, false);
}

/// Registers a new communicator all of whose members are here; they learn its id if none is in
/// another world.
fn learn_together(comm: Comm, foreign: bool) {
    if comm == comm_null() {
        return;
    }
    if communicators::ask(pmpi::comm_test_inter, comm) != 0 {
        let foreign = foreign || !groups::remote_is_ours(comm);
        let known = communicators::register(comm, foreign);
        if !foreign {
            learn_inter(comm, &known);
        }
        return;
    }
    let known = communicators::register(comm, foreign);
    if foreign {
        return;
    }
    // Inside the creating call: every member is here, and nobody can have used it yet.
    let mut packed = offer(&known);
    // SAFETY: every member is in the same creating call and does this next; `packed` outlives the
    // call.
    let result = unsafe { pmpi::bcast((&raw mut packed).cast::<c_void>(), 1, type_u64(), 0, comm) };
    if result == SUCCESS {
        learned(comm, &known, unpack(packed), None);
    }
}

/// Exchanges the ids of both groups of an intercommunicator.
fn learn_inter(comm: Comm, known: &Known) {
    let (mine, mut theirs, mut ours) = (offer(known), 0u64, 0u64);
    // A reduction over an intercommunicator gives each group what the other one brought: the first
    // gives theirs, the second brings ours back.
    // SAFETY: every member of both groups is in the same creating call and does this next.
    let result = unsafe {
        let first = pmpi::allreduce(
            (&raw const mine).cast(),
            (&raw mut theirs).cast(),
            1,
            type_u64(),
            op_max(),
            comm,
        );
        let second = pmpi::allreduce(
            (&raw const theirs).cast(),
            (&raw mut ours).cast(),
            1,
            type_u64(),
            op_max(),
            comm,
        );
        first | second
    };
    if result == SUCCESS {
        learned(comm, known, unpack(ours), Some(unpack(theirs)));
    }
}

/// Remembers and defines the id of a communicator, and of its remote group.
pub fn learned(comm: Comm, known: &Known, id: CommId, remote: Option<CommId>) {
    communicators::set_id(comm, pack(id));
    define(&Definition::Communicator {
        local: CommLocal(known.local),
        id,
        rank: known.rank as u32,
        size: communicators::ask(pmpi::comm_size, comm) as u32,
        remote,
    });
    if known.rank == 0 {
        groups::define_group(comm, id);
    }
}

/// Registers a communicator that may have members in another world, which do not know of us.
#[cold]
pub fn made_foreign(comm: Comm) {
    if comm != comm_null() {
        communicators::register(comm, true);
    }
}

/// Defines the name that the application gives to a communicator, on its rank 0.
#[cold]
pub fn named(comm: Comm, name: &[u8]) {
    let known = communicators::of(comm, |known| *known);
    // Without an id nobody could say which communicator is named; the world's is 0.
    if known.rank == 0 && (known.packed != 0 || known.local == CommLocal::WORLD.0) {
        let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
        define(&Definition::Name {
            id: unpack(known.packed),
            name,
        });
    }
}
