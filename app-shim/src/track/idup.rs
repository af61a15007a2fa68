//! Ids of communicators that `MPI_Comm_idup` makes, learned by a non-blocking broadcast.

use super::communicator_ids::{learned, offer, unpack};
use super::communicators;
use crate::family::*;
use crate::limits::ID_WAIT_MAX;
use crate::resolve::pmpi;
use crate::resolve::predefined::{request_null, type_u64};
use crate::spin_lock::SpinLock;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// An id that is on its way by a non-blocking broadcast.
struct Learning {
    request: Request,
    /// The broadcast's buffer.
    packed: Box<u64>,
    comm: Comm,
    local: u32,
}

// SAFETY: handles are numbers or addresses of MPI's own objects, used under MPI's own threading
// rules.
unsafe impl Send for Learning {}

static LEARNING: SpinLock<Vec<Learning>> = SpinLock::new(Vec::new());
/// Whether there are any, so that a poll need not take the lock.
static ANY_LEARNING: AtomicBool = AtomicBool::new(false);

/// Registers a communicator whose handle `MPI_Comm_idup` has given, and which may be used when the
/// request is complete.
#[cold]
pub fn announced(parent: Comm, comm: Comm) {
    if let Some(parent) = communicators::known(parent) {
        communicators::register_like(comm, parent);
    }
}

/// Begins to learn the id of a communicator that may be used now, without waiting for anybody.
///
/// An intercommunicator gets none: an id has to come to its own group by way of the other one, in
/// two collectives of which the second waits for the first, and the application's own may come
/// between them on some members only.
#[cold]
pub fn usable(comm: Comm) {
    let Some(known) = communicators::known(comm) else {
        return;
    };
    if known.foreign || known.inter {
        return;
    }

    // In a box, because the list of these moves while MPI writes into the buffer.
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
        unsafe { pmpi::ibcast(buffer.cast(), 1, type_u64(), 0, comm, &mut learning.request) };
    if result == SUCCESS {
        LEARNING.with(|all| all.push(learning));
        ANY_LEARNING.store(true, Ordering::Relaxed);
        poll();
    }
}

/// Takes over the ids that have come.
pub fn poll() {
    if !ANY_LEARNING.load(Ordering::Relaxed) {
        return;
    }
    // Whoever has the lock polls already, or adds one.
    LEARNING.try_with(|all| {
        all.retain_mut(|learning| {
            let mut done: c_int = 0;
            // SAFETY: the request is ours and active.
            let result = unsafe { pmpi::test(&mut learning.request, &mut done, STATUS_IGNORE) };
            if result == SUCCESS && done != 0 {
                // MPI may have given the handle to another communicator meanwhile.
                let known = communicators::known(learning.comm);
                if let Some(known) = known.filter(|known| known.local == learning.local) {
                    learned(learning.comm, &known, unpack(*learning.packed), None);
                }
            }
            result == SUCCESS && done == 0
        });
        ANY_LEARNING.store(!all.is_empty(), Ordering::Relaxed);
    });
}

/// Waits for the id of a communicator that the application frees, at most [`ID_WAIT_MAX`].
///
/// What is on its way on it should be complete first, or its handle goes before its id comes, and
/// its records are of a communicator that nobody knows. All members free it, and each has started
/// its broadcast, so that this ends; a member that has stopped observing is why it also ends
/// without.
#[cold]
pub fn leaving(comm: Comm) {
    let mut begun = None;
    while ANY_LEARNING.load(Ordering::Relaxed)
        && LEARNING.with(|all| all.iter().any(|learning| learning.comm == comm))
    {
        poll();
        if begun.get_or_insert_with(Instant::now).elapsed() > ID_WAIT_MAX {
            return;
        }
    }
}
