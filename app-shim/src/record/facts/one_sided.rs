//! Facts of one-sided calls and of files: plain calls with a target and bytes.

use crate::family::*;
use crate::record::call::Call;
use crate::track::{communicators, windows};
use core::ffi::c_int;
use invivo_proto::ids::CommLocal;
use invivo_proto::mpi::peer as special;
use invivo_proto::record::Words;

impl Call {
    /// A call about one target of a window.
    #[inline(always)]
    pub fn one_sided(&mut self, target: c_int, win: Handle, bytes_out: u64, bytes_in: u64) {
        // Without the window's communicator a target is nobody's number.
        let comm = windows::comm(win);
        self.is_on(comm.unwrap_or(CommLocal::NONE));
        let target = if comm.is_some() {
            peer(target)
        } else {
            special::NONE
        };
        self.facts.message = Words::message(target, 0);
        (self.facts.bytes_out, self.facts.bytes_in) = (bytes_out, bytes_in);
    }

    /// A window was made.
    pub unsafe fn win_new(&mut self, comm: Comm, win: *const Handle) {
        let local = communicators::local(comm);
        self.is_on(local);
        // SAFETY: the real call has written the window.
        windows::made(unsafe { *win }, local);
    }

    /// A window is about to be freed: what is known of it is put away before MPI may use its handle
    /// again.
    pub unsafe fn win_leaving(&mut self, win: *const Handle) -> Option<(Handle, CommLocal)> {
        if win.is_null() {
            return None;
        }
        // SAFETY: MPI itself reads the handle from here.
        let held = unsafe { *win };
        let comm = windows::put_away(held)?;
        self.is_on(comm);
        Some((held, comm))
    }

    /// It was not freed.
    pub fn win_stays(&mut self, known: Option<(Handle, CommLocal)>) {
        if let Some((held, comm)) = known {
            windows::made(held, comm);
        }
    }

    /// Bytes that were read from a file or written to one, or are to be.
    #[inline(always)]
    pub fn file(&mut self, is_read: bool, bytes: u64) {
        if is_read {
            self.facts.bytes_in = bytes;
        } else {
            self.facts.bytes_out = bytes;
        }
    }
}
