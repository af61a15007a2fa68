//! Windows and files: their communicators, and how far their ranks are in calls of all of them.
//!
//! Targets of one-sided calls are ranks of a window's communicator. The rest is for those who look
//! at a pending call from outside.

use super::communicators;
use super::shared_table::{SharedTable, publish};
use crate::family::Comm;
use invivo_proto::handles::Shared;
use invivo_proto::ids::CommLocal;

/// [`Shared::locked`] while no rank's part is locked.
const NOBODY: i32 = -1;

/// By handle. It grows with the windows and files that there are at one time.
static SHARED: SharedTable<Shared> =
    SharedTable::new(|address| publish(address, |library| &library.shared));

/// A window or a file was made on a communicator, which all its members do in the same order.
pub fn made(handle: u64, comm: Comm) -> CommLocal {
    let (number, local) = communicators::count_shared(comm);
    let new = Shared {
        calls: 0,
        local: local.0,
        number,
        locked: NOBODY,
    };
    put_back(handle, new);
    local
}

/// The communicator that a window was made on; nothing of windows that came by no call that is
/// wrapped.
#[inline(always)]
pub fn comm(win: u64) -> Option<CommLocal> {
    SHARED.with(|shared| shared.get(win).map(|known| CommLocal(known.local)))
}

/// All ranks of a window or a file have called it once more, or this one of them.
#[inline(never)]
pub fn called(handle: u64) {
    look(handle, |known| known.calls += 1);
}

/// This rank has locked the part of another one, or unlocked it.
#[inline(never)]
pub fn locked(win: u64, rank: i32, is_locked: bool) {
    look(win, |known| {
        known.locked = if is_locked { rank } else { NOBODY };
    });
}

fn look(handle: u64, work: impl FnOnce(&mut Shared)) {
    SHARED.with(|shared| {
        if let Some(known) = shared.get(handle) {
            work(known);
        }
    });
}

/// What is known of a window or a file that is about to be freed.
#[cold]
pub fn put_away(handle: u64) -> Option<Shared> {
    SHARED.with(|shared| shared.remove(handle))
}

/// Remembers it; MPI may have used the handle before.
#[cold]
pub fn put_back(handle: u64, known: Shared) {
    SHARED.with(|shared| {
        shared.remove(handle);
        shared.insert(handle, known);
    });
}
