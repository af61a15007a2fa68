//! The application's communicators: the number that records carry, and the id that the whole job
//! knows.
//!
//! Members learn the id of a new communicator from its rank 0 inside the creating call, which is
//! collective anyway (for `MPI_Comm_idup` by a non-blocking broadcast that starts when the
//! communicator may be used). Only rank 0 tells the group. Communicators that may have members in
//! another world (spawned, connected) get no id: nothing is ever sent to a process that does not
//! expect it.

use crate::family::*;
use crate::process;
use crate::requests::{Table, tell};
use crate::ring::{Locked, define};
use crate::{groups, real};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use invivo_proto::definition::Definition;
pub use invivo_proto::handles::Known;
use invivo_proto::ids::{CommId, CommLocal, Rank};
use std::time::Instant;

static KNOWN: Table<Known> = Table::new(|place| tell(place, |library| &library.comms));
/// The next number, after the world and self.
static NEXT_LOCAL: AtomicU32 = AtomicU32::new(2);
/// The next counter of communicators that this process is rank 0 of, after the world and self.
static NEXT_LED: AtomicU32 = AtomicU32::new(2);

/// An id that is on its way by a non-blocking broadcast.
struct Learning {
    request: Request,
    packed: Box<u64>,
    comm: Comm,
    local: u32,
}

// SAFETY: handles are numbers or addresses of MPI's own objects, used under MPI's own threading
// rules.
unsafe impl Send for Learning {}

static LEARNING: Locked<Vec<Learning>> = Locked::new(Vec::new());
static ANY_LEARNING: AtomicBool = AtomicBool::new(false);

/// What `look` says of what is known of `comm`; communicators that nobody told us of are registered
/// as foreign. (It looks where that lies: a copy would wait for what was just written into it.)
#[inline(always)]
pub fn of<R>(comm: Comm, look: impl Fn(&mut Known) -> R) -> R {
    match KNOWN.with(|table| table.get(comm.bits()).map(&look)) {
        Some(known) => known,
        None => unheard(comm, look),
    }
}

#[cold]
#[inline(never)]
fn unheard<R>(comm: Comm, look: impl Fn(&mut Known) -> R) -> R {
    let mut known = register(comm, true);
    let kept = KNOWN.with(|table| table.get(comm.bits()).map(&look));
    kept.unwrap_or_else(|| look(&mut known))
}

/// The number of a communicator in records.
#[inline(always)]
pub fn local(comm: Comm) -> CommLocal {
    of(comm, |known| CommLocal(known.local))
}

/// The number that the next collective on `comm` gets, and the communicator's own: collectives are
/// counted from 0 as long as it lives.
#[inline(always)]
pub fn next_ordinal(comm: Comm) -> (u64, CommLocal) {
    of(comm, |known| {
        known.ordinal += 1;
        (known.ordinal - 1, CommLocal(known.local))
    })
}

fn ask(function: unsafe fn(Comm, *mut c_int) -> c_int, comm: Comm) -> i32 {
    let mut value: c_int = 0;
    // SAFETY: `comm` is a valid communicator; the function writes one integer.
    if unsafe { function(comm, &mut value) } == SUCCESS {
        value
    } else {
        0
    }
}

fn register(comm: Comm, foreign: bool) -> Known {
    register_as(comm, NEXT_LOCAL.fetch_add(1, Ordering::Relaxed), foreign)
}

fn register_as(comm: Comm, local: u32, foreign: bool) -> Known {
    let inter = ask(real::comm_test_inter, comm) != 0;
    let members = ask(real::comm_size, comm);
    let peers = match inter {
        true => ask(real::comm_remote_size, comm),
        false => members,
    };
    let known = Known {
        local,
        rank: ask(real::comm_rank, comm),
        members: members as u32,
        peers: peers as u32,
        neighbors: if inter { [0, 0] } else { neighbors(comm) },
        inter,
        foreign,
        packed: 0,
        ordinal: 0,
    };
    KNOWN.with(|table| {
        table.remove(comm.bits());
        table.insert(comm.bits(), known);
    });
    known
}

fn neighbors(comm: Comm) -> [u32; 2] {
    let (mut first, mut second, mut weighted) = (0, 0, 0);
    // SAFETY: `comm` is an intracommunicator; each call writes the integers it is given.
    unsafe {
        match ask(real::topo_test, comm) {
            COMM_CART => {
                real::cartdim_get(comm, &mut first);
                first *= 2;
                second = first;
            }
            COMM_GRAPH => {
                real::graph_neighbors_count(comm, ask(real::comm_rank, comm), &mut first);
                second = first;
            }
            COMM_DIST_GRAPH => {
                real::dist_graph_neighbors_count(comm, &mut first, &mut second, &mut weighted);
            }
            _ => {}
        }
    }
    [first as u32, second as u32]
}

fn my_rank() -> Rank {
    Rank(process::page().map_or(0, |page| page.rank.load(Ordering::Relaxed)))
}

/// The world and self, known from the start.
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
    let known = register_as(world, CommLocal::WORLD.0, false);
    define(&Definition::Communicator {
        local: CommLocal::WORLD,
        id: CommId::WORLD,
        rank: known.rank as u32,
        size: known.peers,
        remote: None,
    });
    register_as(comm_self(), CommLocal::SELF.0, false);
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
    groups::tell(comm_self(), id);
}

fn pack(id: CommId) -> u64 {
    u64::from(id.leader.0) << 32 | u64::from(id.counter)
}

fn unpack(packed: u64) -> CommId {
    CommId {
        leader: Rank((packed >> 32) as u32),
        counter: packed as u32,
    }
}

/// The id that this rank gives to a communicator that it is rank 0 of; 0 on the other ranks.
fn offer(known: &Known) -> u64 {
    if known.rank == 0 {
        pack(CommId {
            leader: my_rank(),
            counter: NEXT_LED.fetch_add(1, Ordering::Relaxed),
        })
    } else {
        0
    }
}

/// A communicator was made of `parent` by a blocking call that all its members are in.
#[cold]
pub fn made(parent: Comm, comm: Comm) {
    let foreign = KNOWN.with(|table| table.get(parent.bits()).is_none_or(|known| known.foreign));
    named_together(comm, foreign);
}

/// A communicator was made of a group of a session's, by a blocking call that all its members are
/// in. The sets of processes that a session knows have the job's own alone.
#[cold]
pub fn made_of_group(comm: Comm) {
    named_together(comm, false);
}

/// All members of a new communicator are here, and learn its id if none is in another world.
fn named_together(comm: Comm, foreign: bool) {
    if comm == comm_null() {
        return;
    }
    if ask(real::comm_test_inter, comm) != 0 {
        let foreign = foreign || !groups::remote_is_ours(comm);
        let known = register(comm, foreign);
        if !foreign {
            learn_inter(comm, &known);
        }
        return;
    }
    let known = register(comm, foreign);
    if foreign {
        return;
    }
    let mut packed = offer(&known);
    // SAFETY: every member is in the same creating call and does this next; `packed` outlives the
    // call.
    let result = unsafe { real::bcast((&raw mut packed).cast::<c_void>(), 1, type_u64(), 0, comm) };
    if result == SUCCESS {
        learned(comm, &known, unpack(packed), None);
    }
}

/// Both groups of an intercommunicator exchange their ids: a reduction over an intercommunicator
/// gives each group what the other one brought.
fn learn_inter(comm: Comm, known: &Known) {
    let (mine, mut theirs, mut ours) = (offer(known), 0u64, 0u64);
    // SAFETY: every member of both groups is in the same creating call and does this next.
    let result = unsafe {
        let first = real::allreduce(
            (&raw const mine).cast(),
            (&raw mut theirs).cast(),
            1,
            type_u64(),
            op_max(),
            comm,
        );
        let second = real::allreduce(
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

fn learned(comm: Comm, known: &Known, id: CommId, remote: Option<CommId>) {
    KNOWN.with(|table| {
        if let Some(known) = table.get(comm.bits()) {
            known.packed = pack(id);
        }
    });
    define(&Definition::Communicator {
        local: CommLocal(known.local),
        id,
        rank: known.rank as u32,
        size: ask(real::comm_size, comm) as u32,
        remote,
    });
    if known.rank == 0 {
        groups::tell(comm, id);
    }
}

/// A communicator came from elsewhere: members of another world do not know of us.
#[cold]
pub fn came(comm: Comm) {
    if comm != comm_null() {
        register(comm, true);
    }
}

/// `MPI_Comm_idup` was called: the handle is there, the communicator may be used when the request
/// is complete.
#[cold]
pub fn announced(parent: Comm, comm: Comm) {
    let Some(parent) = KNOWN.with(|table| table.get(parent.bits()).copied()) else {
        return;
    };
    let known = Known {
        local: NEXT_LOCAL.fetch_add(1, Ordering::Relaxed),
        ordinal: 0,
        packed: 0,
        ..parent
    };
    KNOWN.with(|table| {
        table.remove(comm.bits());
        table.insert(comm.bits(), known);
    });
}

/// The communicator of an `MPI_Comm_idup` may be used: begin to learn its id, without waiting for
/// anybody.
///
/// An intercommunicator gets none: an id has to come to its own group by way of the other one, in
/// two collectives of which the second waits for the first, and the application's own may come
/// between them on some members only.
#[cold]
pub fn usable(comm: Comm) {
    let Some(known) = KNOWN.with(|table| table.get(comm.bits()).copied()) else {
        return;
    };
    if known.foreign || known.inter {
        return;
    }
    let mut learning = Learning {
        request: request_null(),
        packed: Box::new(offer(&known)),
        comm,
        local: known.local,
    };
    let buffer: *mut u64 = &mut *learning.packed;
    // SAFETY: members of a communicator start collectives on it in the same order, and this is the
    // first on each of them; the box keeps the buffer in its place until the broadcast is complete.
    let result =
        unsafe { real::ibcast(buffer.cast(), 1, type_u64(), 0, comm, &mut learning.request) };
    if result == SUCCESS {
        LEARNING.with(|all| all.push(learning));
        ANY_LEARNING.store(true, Ordering::Relaxed);
        look_after();
    }
}

/// Sees whether ids have come.
pub fn look_after() {
    if !ANY_LEARNING.load(Ordering::Relaxed) {
        return;
    }
    LEARNING.try_with(|all| {
        all.retain_mut(|learning| {
            let mut done: c_int = 0;
            // SAFETY: the request is ours and active.
            let result = unsafe { real::test(&mut learning.request, &mut done, STATUS_IGNORE) };
            if result == SUCCESS && done != 0 {
                let known = KNOWN.with(|table| table.get(learning.comm.bits()).copied());
                if let Some(known) = known.filter(|known| known.local == learning.local) {
                    learned(learning.comm, &known, unpack(*learning.packed), None);
                }
            }
            result == SUCCESS && done == 0
        });
        ANY_LEARNING.store(!all.is_empty(), Ordering::Relaxed);
    });
}

/// The longest that freeing a communicator waits for its id.
const LEAVING_MAX: Duration = Duration::from_secs(1);

/// The application frees `comm`: what is on its way on it should be complete first, or its handle
/// goes before its id comes, and its records are of a communicator that nobody knows. All members
/// free it, and each has started its broadcast, so that this ends; a member that has stopped
/// observing is why it also ends without.
#[cold]
pub fn leaving(comm: Comm) {
    let mut begun = None;
    while ANY_LEARNING.load(Ordering::Relaxed)
        && LEARNING.with(|all| all.iter().any(|learning| learning.comm == comm))
    {
        look_after();
        if begun.get_or_insert_with(Instant::now).elapsed() > LEAVING_MAX {
            return;
        }
    }
}

/// What is known of a communicator that goes.
#[cold]
pub fn put_away(comm: Comm) -> Option<Known> {
    KNOWN.with(|table| table.remove(comm.bits()))
}

/// It stays: MPI did not let it go.
#[cold]
pub fn put_back(comm: Comm, known: Known) {
    KNOWN.with(|table| table.insert(comm.bits(), known));
}

/// The application names a communicator; its rank 0 tells.
#[cold]
pub fn named(comm: Comm, name: &[u8]) {
    /// `MPI_MAX_OBJECT_NAME` is 64 or 128; a longer name is cut.
    const NAME_BYTES_MAX: usize = 256;
    let known = of(comm, |known| *known);
    if known.rank == 0 && (known.packed != 0 || known.local == CommLocal::WORLD.0) {
        let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
        define(&Definition::Name {
            id: unpack(known.packed),
            name,
        });
    }
}
