//! The supervisor's side of the socket to the shim in its rank. The program may write there, too:
//! what comes is bounded, and moves nothing but this rank.

use super::Supervisor;
use crate::output::say;
use crate::process::child::Ended;
use crate::rank::place_socket::{Packet, PlaceSocket, packet};
use invivo_proto::channel::{ABORTING, FAULT, WELCOME_BYTES_MAX};
use invivo_proto::control::local::FromSupervisor;
use invivo_proto::ids::Rank;
use rustix::net::SendFlags;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Packets of the shim that are read in one turn: a program that sends without pause must not keep
/// us from seeing its end. It has a handful to say.
const SHIM_PACKETS_MAX: usize = 16;

impl Supervisor<'_> {
    /// Answers a shim that has lost the inherited descriptors.
    pub(super) fn answer_handover(&mut self) {
        match self
            .handover
            .as_ref()
            .map(|handover| handover.answer(self.memory.as_fd()))
        {
            Some(Ok(Some(shim))) => self.shim = Some(shim),
            Some(Ok(None)) | None => {}
            // The error would come with every poll, and keep us from sleeping.
            Some(Err(_)) => self.handover = None,
        }
    }

    /// Reads from the shim: the place's address, to which to attach, that a thread has met a
    /// fault, or that the rank is in `MPI_Abort`.
    pub(super) fn read_shim(&mut self) {
        for _ in 0..SHIM_PACKETS_MAX {
            let Some(shim) = &self.shim else {
                return;
            };
            match packet::<WELCOME_BYTES_MAX>(shim.as_fd()) {
                Packet::Bytes(bytes) if bytes == ABORTING => self.abort(),
                Packet::Bytes(bytes) if bytes == FAULT => self.see_fault(),
                // Once: each attempt may take a second.
                Packet::Bytes(bytes) if !self.welcomed => {
                    self.welcomed = true;
                    self.attach(&PathBuf::from(OsStr::from_bytes(&bytes)));
                }
                Packet::Bytes(_) => {}
                Packet::Nothing => return,
                // The program closed it, replaced itself, or ended.
                Packet::Closed => self.shim = None,
            }
        }
    }

    /// The rank is about to call the real `MPI_Abort`: for its place it has ended now.
    fn abort(&mut self) {
        self.see_fault();
        self.tell_fault();
        self.tell_last();
        // The place reads the code where the rank left it.
        self.tell(&FromSupervisor::Ended(Ended::Code(0)));
        self.aborting = true;
        self.let_abort();
    }

    /// Lets a rank in `MPI_Abort` go on where nothing is left to wait for: the real one ends every
    /// process of the job, and with them the records that the place has not taken yet.
    pub(super) fn let_abort(&mut self) {
        let waits = self.place.is_some() && !self.let_go;
        if self.aborting && !waits {
            self.aborting = false;
            if let Some(shim) = &self.shim {
                // One that is gone needs no answer.
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                let _ = rustix::net::send(shim, ABORTING, flags);
            }
        }
    }

    fn attach(&mut self, path: &Path) {
        // As the shim knows it by now.
        let rank = Rank(self.memory.region().page().rank.load(Ordering::Acquire));
        let pid = self.child.as_raw_nonzero().get() as u32;
        let hello = FromSupervisor::Attach { rank, pid };
        match PlaceSocket::attach(path, &hello, self.memory.as_fd()) {
            Ok(place) => {
                self.place = Some(place);
                self.place_path = Some(path.to_owned());
            }
            // The measurement was shut down before this rank began.
            Err(_) if path.parent().is_some_and(|dir| !dir.exists()) => {}
            Err(error) => {
                // The root's coverage names how many ranks report.
                if self.assignment.world.speaks() {
                    say(&format!(
                        "cannot reach the tool place at {} ({error}): no pause, no last records",
                        path.display()
                    ));
                }
                self.lose_place();
            }
        }
    }
}
