//! The tap's files: one per location, with everything that was taken of it, packet by packet.
//!
//! ```text
//! DIR/rank-R.thread-T.packets    packet*, header and payload (see `wire.md`)
//! ```

use crate::notes::{Notes, Trouble};
use invivo_proto::ids::LocationId;
use invivo_proto::packet::{HEADER_BYTES, Header, PACKET_BYTES};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// Where the files go.
#[derive(Clone, Debug)]
pub struct Taps(PathBuf);

impl Taps {
    /// Into this directory, which is there.
    pub fn new(directory: PathBuf) -> Taps {
        Taps(directory)
    }

    /// That of one location.
    pub fn of(&self, location: LocationId) -> Tap {
        let name = format!("rank-{}.thread-{}.packets", location.rank, location.thread);
        Tap {
            location,
            file: File::create(self.0.join(name)).ok(),
            header: Header::default(),
            next: 0,
            payload: Vec::with_capacity(PACKET_BYTES),
        }
    }

    /// Notes that it is on.
    pub fn note(&self, notes: &mut Notes) {
        notes.add(Trouble::Tap, || {
            format!(
                "INVIVO_TAP is set: every record is written to {} as well, without bounds; for \
                 tests alone",
                self.0.display()
            )
        });
    }
}

/// The file of one location.
#[derive(Debug)]
pub struct Tap {
    location: LocationId,
    /// Nothing where it cannot be written any more.
    file: Option<File>,
    header: Header,
    /// The number of the packet under way, if none is missing before it.
    next: u64,
    /// What was taken of the packet under way.
    payload: Vec<u8>,
}

impl Tap {
    /// More of the packet under way: whole records, so many calls, the last of which ended at
    /// `last_time`.
    pub fn add(
        &mut self,
        first_time: u64,
        next_request: u64,
        bytes: &[u8],
        calls: u64,
        last_time: u64,
    ) {
        // Pieces of a packet are written as one packet, when it is closed.
        if self.payload.is_empty() {
            self.header = Header {
                location: self.location,
                first_time,
                next_request,
                ..Header::default()
            };
        }
        self.header.records += calls as u32;
        self.header.last_time = last_time;
        self.payload.extend_from_slice(bytes);
    }

    /// The packet under way was number `sequence`, and is over.
    pub fn close(&mut self, sequence: u64) {
        self.next = sequence + 1;
        if self.payload.is_empty() {
            return;
        }
        self.header.sequence = sequence;
        self.header.length = self.payload.len() as u32;
        let mut head = [0; HEADER_BYTES];
        self.header.encode(&self.payload, &mut head);
        let written = self.file.as_mut().map(|file| {
            file.write_all(&head)
                .and_then(|()| file.write_all(&self.payload))
        });
        // A file with a gap would be misread: after an error it ends here.
        if written.is_some_and(|written| written.is_err()) {
            self.file = None;
        }
        self.payload.clear();
    }
}

impl Drop for Tap {
    /// A rank that ended leaves its last packet open.
    fn drop(&mut self) {
        self.close(self.next);
    }
}
