//! Ids of communicators: the names by which the whole job knows them.
//!
//! Members agree on a name without a word ([`invivo_proto::comm_id`]), where a new communicator is
//! made of another one by a call that all of that one's members make in the same order. Where
//! members alone know of it (groups, the sides of an intercommunicator), and where a name has no
//! room, its rank 0 tells the others a number of its own, inside the creating call, which is
//! collective anyway. Only rank 0 defines the group. Communicators that may have members in another
//! world (spawned, connected) get no id: nothing is ever sent to a process that does not expect it.

use super::communicators::{self, Known};
use super::definitions::define;
use super::groups;
use crate::family::*;
use crate::limits::NAME_BYTES_MAX;
use crate::process;
use crate::resolve::pmpi;
use crate::resolve::predefined::{comm_null, comm_self, op_max, type_u64};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};
use invivo_proto::definition::Definition;
use invivo_proto::ids::{CommId, CommLocal, Rank};

/// This process' next number for a communicator that it is rank 0 of, after self.
static NEXT_LED: AtomicU32 = AtomicU32::new(2);

fn my_rank() -> Rank {
    Rank(process::page().map_or(0, |page| page.rank.load(Ordering::Relaxed)))
}

/// Registers and defines the world and self.
pub fn start(world: Comm) {
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
    let known = communicators::register_as(comm_self(), CommLocal::SELF.0, false);
    if let Some(id) = CommId::led(my_rank(), 1) {
        learned(comm_self(), &known, id, None);
    }
}

fn pack(id: CommId) -> u64 {
    u64::from(id.leader.0) << 32 | u64::from(id.counter)
}

fn unpack(packed: u64) -> Option<CommId> {
    // The world's, which nobody is told.
    (packed != 0).then_some(CommId {
        leader: Rank((packed >> 32) as u32),
        counter: packed as u32,
    })
}

/// The id of a communicator, where it has one.
fn id(known: &Known) -> Option<CommId> {
    match CommLocal(known.local) {
        CommLocal::WORLD => Some(CommId::WORLD),
        _ => unpack(known.packed),
    }
}

/// The id of a communicator with this rank 0 that was made of `parent` by the call that it counted
/// last.
fn id_of_made(parent: &Known, leader: Option<Rank>) -> Option<CommId> {
    id(parent)?.made_of(u64::from(parent.made), leader?)
}

/// The id that this rank gives to a communicator that it is rank 0 of, as a number; 0 on the other
/// ranks, and where it has none left.
fn offer(known: &Known) -> u64 {
    // Unique in the job without asking anybody: its rank 0 counts its own.
    if known.rank != 0 {
        return 0;
    }
    CommId::led(my_rank(), NEXT_LED.fetch_add(1, Ordering::Relaxed)).map_or(0, pack)
}

/// Registers what a blocking call made of `parent`, that all members of it make in the same order.
/// Members that are not in the new communicator count the call, too.
#[cold]
pub fn made(parent: Comm, comm: Comm) {
    let parent = communicators::count_made(parent);
    if comm == comm_null() {
        return;
    }
    let Some(parent) = parent.filter(|parent| !parent.foreign) else {
        return outside(&communicators::register(comm, true));
    };
    let known = communicators::register(comm, false);
    if parent.inter || known.inter {
        return learn_together(comm, known);
    }
    let leader = match known.rank {
        0 => Some(my_rank()),
        _ => groups::leader(comm),
    };
    match id_of_made(&parent, leader) {
        Some(id) => learned(comm, &known, id, None),
        None => learn_together(comm, known),
    }
}

/// Registers a communicator with the members of `parent`, made by a blocking call like [`made`].
#[cold]
pub fn duplicated(parent: Comm, comm: Comm) {
    let Some((parent, known)) = register_duplicate(parent, comm) else {
        return;
    };
    let leader = id(&parent).map(|id| id.leader);
    match id_of_made(&parent, leader) {
        Some(id) if !known.inter => learned(comm, &known, id, None),
        _ => learn_together(comm, known),
    }
}

/// Registers a communicator whose handle `MPI_Comm_idup` has given, and which may be used when the
/// request is complete.
///
/// Nobody can be told its id: an intercommunicator gets none, nor one whose name has no room.
#[cold]
pub fn announced(parent_comm: Comm, comm: Comm) {
    let Some((parent, known)) = register_duplicate(parent_comm, comm) else {
        return;
    };
    if known.foreign {
        return outside(&known);
    }
    let leader = id(&parent).map(|id| id.leader);
    if let Some(id) = id_of_made(&parent, leader).filter(|_| !known.inter) {
        // MPI may be asked for the parent's group only: it is the same.
        learned_with(parent_comm, comm, &known, id, None);
    }
}

/// Counts and registers a duplicate. Gives what is known of the parent and of it.
fn register_duplicate(parent: Comm, comm: Comm) -> Option<(Known, Known)> {
    let parent = communicators::count_made(parent)?;
    Some((parent, communicators::register_like(comm, &parent)))
}

/// Registers what a blocking call made of some members of `parent`.
#[cold]
pub fn made_apart(parent: Comm, comm: Comm) {
    if comm != comm_null() {
        let known = communicators::register(comm, communicators::is_foreign(parent));
        learn_together(comm, known);
    }
}

/// Registers a communicator that was made of a session's group, by a blocking call that all its
/// members are in. It is not foreign: process sets of a session have the job's own processes alone.
#[cold]
pub fn made_of_group(comm: Comm) {
    if comm != comm_null() {
        let known = communicators::register(comm, false);
        learn_together(comm, known);
    }
}

/// Learns the id of a new communicator all of whose members are here, if none is in another world.
fn learn_together(comm: Comm, known: Known) {
    if known.foreign {
        return outside(&known);
    }
    if known.inter {
        match groups::remote_is_ours(comm) {
            true => learn_inter(comm, &known),
            false => {
                communicators::set_foreign(comm);
                outside(&known);
            }
        }
        return;
    }
    let mut packed = offer(&known);
    // Inside the creating call: every member is here, and nobody can have used it yet.
    let result = match known.members {
        1 => SUCCESS,
        // SAFETY: every member is in the same creating call and does this next; `packed` outlives
        // the call.
        _ => unsafe { pmpi::bcast((&raw mut packed).cast::<c_void>(), 1, type_u64(), 0, comm) },
    };
    if let Some(id) = unpack(packed).filter(|_| result == SUCCESS) {
        learned(comm, &known, id, None);
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
    if result == SUCCESS
        && let (Some(ours), Some(theirs)) = (unpack(ours), unpack(theirs))
    {
        learned(comm, known, ours, Some(theirs));
    }
}

/// Remembers and defines the id of a communicator, and of its remote group.
fn learned(comm: Comm, known: &Known, id: CommId, remote: Option<CommId>) {
    learned_with(comm, comm, known, id, remote);
}

/// As [`learned`], with the members of another communicator, of which MPI may be asked.
fn learned_with(members: Comm, comm: Comm, known: &Known, id: CommId, remote: Option<CommId>) {
    communicators::set_id(comm, pack(id));
    define(&Definition::Communicator {
        local: CommLocal(known.local),
        id,
        rank: known.rank as u32,
        size: known.members,
        remote,
    });
    if known.rank == 0 {
        groups::define_group(members, id);
    }
}

/// Registers a communicator that may have members in another world, which do not know of us.
#[cold]
pub fn made_foreign(comm: Comm) {
    if comm != comm_null() {
        outside(&communicators::register(comm, true));
    }
}

/// Defines that peers on a communicator may be no ranks of the job.
fn outside(known: &Known) {
    define(&Definition::Outside {
        local: CommLocal(known.local),
    });
}

/// Counts the processes that a call with this root on `parent` has spawned, on the root alone.
#[cold]
pub fn spawned(root: c_int, parent: Comm, children: Comm) {
    if children != comm_null()
        && communicators::of(parent, |known| known.rank) == root
        && let Some(page) = process::page()
    {
        // Those that there are: of a call that does with fewer than it has asked for.
        let count = communicators::of(children, |known| known.peers);
        page.spawned.fetch_add(count, Ordering::Relaxed);
    }
}

/// Defines the name that the application gives to a communicator, on its rank 0.
#[cold]
pub fn named(comm: Comm, name: &[u8]) {
    let known = communicators::of(comm, |known| *known);
    // Without an id nobody could say which communicator is named.
    if known.rank == 0
        && let Some(id) = id(&known)
    {
        let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
        define(&Definition::Name { id, name });
    }
}
