//! Notes on the status page what a call needs from others before it can return.
//!
//! Noted before the real call and raw, in a store for each argument, because every call pays for
//! it. Which arguments they are depends on the function ([`invivo_proto::mpi::Needs`]); whoever
//! finds the call pending looks up the rest (see [`invivo_proto::handles`]).

use crate::family::{Comm, File, Handle, Request};
use crate::record::call::Call;
use core::ffi::c_int;
use core::sync::atomic::Ordering;
use invivo_proto::handles::Shared;

impl Call {
    #[inline(always)]
    fn note<const N: usize>(&self, handle: u64, numbers: [c_int; N]) {
        let status = self.location.status;
        status.handle.store(handle, Ordering::Relaxed);
        for (noted, number) in status.numbers.iter().zip(numbers) {
            noted.store(number as u32, Ordering::Relaxed);
        }
    }

    /// A receiver.
    #[inline(always)]
    pub fn needs_receiver(&self, dest: c_int, tag: c_int, comm: Comm) {
        self.note(comm.bits(), [dest, tag]);
    }

    /// A sender, or a message of its to probe.
    #[inline(always)]
    pub fn needs_sender(&self, source: c_int, tag: c_int, comm: Comm) {
        self.note(comm.bits(), [source, tag]);
    }

    /// A receiver and a sender.
    #[inline(always)]
    pub fn needs_both(
        &self,
        dest: c_int,
        sendtag: c_int,
        source: c_int,
        recvtag: c_int,
        comm: Comm,
    ) {
        self.note(comm.bits(), [dest, sendtag, source, recvtag]);
    }

    /// The completion of all or any of these requests.
    #[inline(always)]
    pub fn needs_requests(&self, count: c_int, requests: *const Request) {
        self.note(requests as u64, [count]);
    }

    /// All ranks of the communicator, in the same call.
    #[inline(always)]
    pub fn needs_everybody(&self, comm: Comm) {
        self.note(comm.bits(), []);
    }

    /// All ranks of the window.
    #[inline(always)]
    pub fn needs_window(&self, win: Handle) {
        self.note(win.bits(), []);
    }

    /// All ranks of the file.
    #[inline(always)]
    pub fn needs_file(&self, file: File) {
        self.note(file as u64, []);
    }

    /// All ranks of a window or a file that is freed or closed.
    pub fn needs_closers(&self, known: &Shared) {
        let numbers = [
            known.local as c_int,
            known.number as c_int,
            known.calls as c_int,
        ];
        self.note(0, numbers);
    }

    /// A rank's part of the window.
    #[inline(always)]
    pub fn needs_target(&self, rank: c_int, win: Handle) {
        self.note(win.bits(), [rank]);
    }

    /// All ranks of the communicator, in the same call with the same root.
    #[inline(always)]
    pub fn needs_root(&self, root: c_int, comm: Comm) {
        self.note(comm.bits(), [root]);
    }
}
