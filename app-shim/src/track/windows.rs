//! The communicators of windows: targets of one-sided calls are ranks in them.

use super::shared_table::SharedTable;
use crate::family::Handle;
use invivo_proto::ids::CommLocal;

/// By handle, the communicator as records number it. It grows with the windows that there are at
/// one time.
static WINDOWS: SharedTable<u32> = SharedTable::new(|_| ());

/// A window was made on a communicator.
pub fn made(win: Handle, comm: CommLocal) {
    WINDOWS.with(|windows| windows.insert(win.bits(), comm.0));
}

/// The communicator that a window was made on; nothing of windows that came by no call that is
/// wrapped.
#[inline(always)]
pub fn comm(win: Handle) -> Option<CommLocal> {
    WINDOWS.with(|windows| windows.get(win.bits()).map(|comm| CommLocal(*comm)))
}

/// The same, of a window that is no more.
pub fn put_away(win: Handle) -> Option<CommLocal> {
    WINDOWS.with(|windows| windows.remove(win.bits()).map(CommLocal))
}
