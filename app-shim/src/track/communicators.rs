//! What is known of the application's communicators: the number in records, sizes, topology.

use super::shared_table::{SharedTable, publish};
use crate::family::*;
use crate::resolve::pmpi;
use crate::world::worlds;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};
pub use invivo_proto::handles::Known;
use invivo_proto::ids::CommLocal;

static KNOWN: SharedTable<Known> =
    SharedTable::new(|address| publish(address, |library| &library.comms));
/// The next number in records, after the world and self.
static NEXT_LOCAL: AtomicU32 = AtomicU32::new(2);

/// What `look` makes of what is known of `comm`; communicators that came by no call that is wrapped
/// are registered as foreign. (It looks in place: a copy would wait for what was just written.)
#[inline(always)]
pub fn of<R>(comm: Comm, look: impl Fn(&mut Known) -> R) -> R {
    match KNOWN.with(|table| table.get(comm.bits()).map(&look)) {
        Some(known) => known,
        None => of_unknown(comm, look),
    }
}

#[cold]
#[inline(never)]
fn of_unknown<R>(comm: Comm, look: impl Fn(&mut Known) -> R) -> R {
    let mut known = register(comm, true);
    // Another thread may have freed it meanwhile: `look` gets our copy then.
    let kept = KNOWN.with(|table| table.get(comm.bits()).map(&look));
    kept.unwrap_or_else(|| look(&mut known))
}

/// The number of a communicator in records.
#[inline(always)]
pub fn local(comm: Comm) -> CommLocal {
    // Nearly all calls are on the world, whose number never changes.
    if worlds::is_application(comm) {
        return CommLocal::WORLD;
    }
    of(comm, |known| CommLocal(known.local))
}

/// The number of the next collective on `comm`, counted from 0 as long as the communicator lives,
/// and the communicator's own number in records.
#[inline(always)]
pub fn next_ordinal(comm: Comm) -> (u64, CommLocal) {
    of(comm, |known| {
        known.ordinal += 1;
        (known.ordinal - 1, CommLocal(known.local))
    })
}

/// The number of the next window or file of `comm`, counted from 1, and the communicator's own.
pub fn count_shared(comm: Comm) -> (u32, CommLocal) {
    of(comm, |known| {
        known.shared = known.shared.saturating_add(1);
        (known.shared, CommLocal(known.local))
    })
}

/// An integer that a function of MPI gives of a communicator; 0 where it fails.
pub fn ask(function: unsafe fn(Comm, *mut c_int) -> c_int, comm: Comm) -> i32 {
    let mut value: c_int = 0;
    // SAFETY: `comm` is a valid communicator; the function writes one integer.
    if unsafe { function(comm, &mut value) } == SUCCESS {
        value
    } else {
        0
    }
}

/// Registers a communicator under the next number. `foreign` says that it may have members in
/// another world.
pub fn register(comm: Comm, foreign: bool) -> Known {
    register_as(comm, NEXT_LOCAL.fetch_add(1, Ordering::Relaxed), foreign)
}

/// Registers a communicator under the number `local`.
pub fn register_as(comm: Comm, local: u32, foreign: bool) -> Known {
    let inter = ask(pmpi::comm_test_inter, comm) != 0;
    let members = ask(pmpi::comm_size, comm);
    // Collectives of an intercommunicator move data between the groups.
    let peers = match inter {
        true => ask(pmpi::comm_remote_size, comm),
        false => members,
    };
    let known = Known {
        local,
        rank: ask(pmpi::comm_rank, comm),
        members: members as u32,
        peers: peers as u32,
        neighbors: if inter { [0, 0] } else { neighbors(comm) },
        inter,
        foreign,
        packed: 0,
        ordinal: 0,
        made: 0,
        shared: 0,
    };
    replace(comm, known);
    known
}

/// Registers a communicator like `parent`, under the next number. MPI is asked nothing.
pub fn register_like(comm: Comm, parent: &Known) -> Known {
    let known = Known {
        local: NEXT_LOCAL.fetch_add(1, Ordering::Relaxed),
        ordinal: 0,
        packed: 0,
        made: 0,
        shared: 0,
        ..*parent
    };
    replace(comm, known);
    known
}

/// Counts a communicator that is made of `parent`, by a call that all its members make in the same
/// order. Gives what is known of the parent, with that count; nothing where it is not registered.
pub fn count_made(parent: Comm) -> Option<Known> {
    KNOWN.with(|table| {
        let known = table.get(parent.bits())?;
        // Numbers so high have no room in an id.
        known.made = known.made.saturating_add(1);
        Some(*known)
    })
}

/// MPI may have used the handle before: what was known of that communicator goes.
fn replace(comm: Comm, known: Known) {
    KNOWN.with(|table| {
        table.remove(comm.bits());
        table.insert(comm.bits(), known);
    });
}

/// Whether a communicator may have members in another world: also one that is not registered.
pub fn is_foreign(comm: Comm) -> bool {
    KNOWN.with(|table| table.get(comm.bits()).is_none_or(|known| known.foreign))
}

/// Remembers that a communicator has members in another world.
pub fn set_foreign(comm: Comm) {
    KNOWN.with(|table| {
        if let Some(known) = table.get(comm.bits()) {
            known.foreign = true;
        }
    });
}

/// Remembers the id of a communicator, as one number.
pub fn set_id(comm: Comm, packed: u64) {
    KNOWN.with(|table| {
        if let Some(known) = table.get(comm.bits()) {
            known.packed = packed;
        }
    });
}

/// Takes out what is known of a communicator that is about to be freed.
#[cold]
pub fn put_away(comm: Comm) -> Option<Known> {
    KNOWN.with(|table| table.remove(comm.bits()))
}

/// Restores what was known of a communicator that MPI did not free.
#[cold]
pub fn put_back(comm: Comm, known: Known) {
    KNOWN.with(|table| table.insert(comm.bits(), known));
}

/// In- and outdegree in the topology of an intracommunicator.
fn neighbors(comm: Comm) -> [u32; 2] {
    let (mut first, mut second, mut weighted) = (0, 0, 0);
    // SAFETY: `comm` is an intracommunicator; each call writes the integers it is given.
    unsafe {
        match ask(pmpi::topo_test, comm) {
            COMM_CART => {
                // Two neighbours in each dimension, also where they are MPI_PROC_NULL.
                pmpi::cartdim_get(comm, &mut first);
                first *= 2;
                second = first;
            }
            COMM_GRAPH => {
                // Neighbourhood collectives send to the neighbours that they receive from.
                pmpi::graph_neighbors_count(comm, ask(pmpi::comm_rank, comm), &mut first);
                second = first;
            }
            COMM_DIST_GRAPH => {
                pmpi::dist_graph_neighbors_count(comm, &mut first, &mut second, &mut weighted);
            }
            _ => {}
        }
    }
    [first as u32, second as u32]
}
