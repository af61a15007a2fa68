//! Facts of one-sided calls and of files: plain calls with a target and bytes.

use crate::family::*;
use crate::record::call::Call;
use crate::track::windows;
use core::ffi::c_int;
use invivo_proto::handles::Shared;
use invivo_proto::ids::CommLocal;
use invivo_proto::mpi::peer as special;
use invivo_proto::record::Words;

impl Call {
    /// A call about one target of a window.
    #[inline(always)]
    pub fn one_sided(&mut self, target: c_int, win: Handle, bytes_out: u64, bytes_in: u64) {
        // Without the window's communicator a target is nobody's number.
        let comm = windows::comm(win.bits());
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
        // SAFETY: the real call has written the window.
        let local = windows::made(unsafe { *win }.bits(), comm);
        self.is_on(local);
    }

    /// A file was opened.
    pub unsafe fn file_new(&mut self, comm: Comm, file: *const File) {
        // SAFETY: the real call has written the file.
        let local = windows::made(unsafe { *file } as u64, comm);
        self.is_on(local);
    }

    /// A file is about to be closed.
    pub unsafe fn file_leaving(&mut self, file: *const File) -> Option<(u64, Shared)> {
        if file.is_null() {
            return None;
        }
        // SAFETY: MPI itself reads the handle from here.
        let held = unsafe { *file } as u64;
        let known = windows::put_away(held)?;
        self.needs_closers(&known);
        Some((held, known))
    }

    /// All ranks of a window have made this call.
    pub fn win_called(&self, win: Handle) {
        windows::called(win.bits());
    }

    /// All ranks of a file make this call, and this one has made it.
    pub fn file_called(&self, file: File) {
        windows::called(file as u64);
    }

    /// This rank has locked the part of another one.
    pub fn win_locked(&self, win: Handle, rank: c_int) {
        windows::locked(win.bits(), rank, true);
    }

    /// This rank has unlocked it.
    pub fn win_unlocked(&self, win: Handle) {
        windows::locked(win.bits(), 0, false);
    }

    /// A window is about to be freed: what is known of it is put away before MPI may use its handle
    /// again.
    pub unsafe fn win_leaving(&mut self, win: *const Handle) -> Option<(u64, Shared)> {
        if win.is_null() {
            return None;
        }
        // SAFETY: MPI itself reads the handle from here.
        let held = unsafe { *win }.bits();
        let known = windows::put_away(held)?;
        self.needs_closers(&known);
        self.is_on(CommLocal(known.local));
        Some((held, known))
    }

    /// A window or a file was not freed.
    pub fn shared_stays(&mut self, known: Option<(u64, Shared)>) {
        if let Some((held, known)) = known {
            windows::put_back(held, known);
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
