//! Writes a saved observation: into a hidden directory beside the target, which gets the target's
//! name when everything is in it. A writer that is dropped before takes what it
//! wrote away; one that is killed leaves a directory whose name begins with `.invivo-`, and never
//! the target.

use super::bins;
use super::checksums::{self, Sum};
use super::format::{
    ABOUT_FILE, About, COMMUNICATORS_FILE, CommId, Communicator, EVENTS_FOLDER, Events,
    LOCATIONS_FILE, Location,
};
use crate::new_directory::NewDirectory;
use serde::Serialize;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// An observation that is being written. Its memory does not grow with the locations, but for the
/// names of communicators.
#[derive(Debug)]
pub struct Writer {
    dir: NewDirectory,
    locations: Summed,
    communicators: Summed,
    known: HashSet<CommId>,
    open: Option<OpenLocation>,
    written: u64,
    bytes: u64,
}

/// A location whose bins are coming.
#[derive(Debug)]
struct OpenLocation {
    about: Location,
    file: Summed,
    bins: u64,
    chains: u32,
}

impl Writer {
    /// Of an observation that is to have this name.
    ///
    /// # Errors
    /// When something has that name already, or nothing can be made beside it.
    pub fn new(target: &Path) -> io::Result<Writer> {
        let dir = NewDirectory::beside(target)?;
        std::fs::create_dir(dir.path().join(EVENTS_FOLDER))?;
        Ok(Writer {
            locations: Summed::create(dir.path().join(LOCATIONS_FILE))?,
            communicators: Summed::create(dir.path().join(COMMUNICATORS_FILE))?,
            dir,
            known: HashSet::new(),
            open: None,
            written: 0,
            bytes: 0,
        })
    }

    /// Locations that are complete.
    pub fn locations(&self) -> u64 {
        self.written
    }

    /// Bytes of bins so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The members of a communicator; those that are known already are left out.
    ///
    /// # Errors
    /// When nothing can be written.
    pub fn communicator(&mut self, of: &Communicator) -> io::Result<()> {
        if self.known.insert(of.id) {
            self.communicators.line(of)?;
        }
        Ok(())
    }

    /// A location begins; the one before must be complete.
    ///
    /// # Errors
    /// When nothing can be written.
    pub fn begin(&mut self, about: Location) -> io::Result<()> {
        if let Some(open) = &self.open {
            let (rank, thread) = (open.about.rank, open.about.thread);
            return Err(io::Error::other(format!(
                "rank {rank}, thread {thread} is not complete, and another location begins"
            )));
        }
        let name = format!("{EVENTS_FOLDER}/{}.{}.bins", about.rank, about.thread);
        let mut file = Summed::create(self.dir.path().join(&name))?;
        file.write_all(&bins::head(about.rank, about.thread))?;
        let events = Events {
            file: name,
            ..Events::default()
        };
        self.open = Some(OpenLocation {
            about: Location { events, ..about },
            file,
            bins: 0,
            chains: 0,
        });
        Ok(())
    }

    /// A bin of the location that is open.
    ///
    /// # Errors
    /// When nothing can be written, or no location is open.
    pub fn bin(&mut self, chain: u32, content: &[u8]) -> io::Result<()> {
        let open = self.open.as_mut().ok_or_else(no_location)?;
        bins::write_bin(&mut open.file, chain, content)?;
        open.bins += 1;
        open.chains = open.chains.max(chain + 1);
        self.bytes += content.len() as u64;
        Ok(())
    }

    /// The location that is open is complete; `is_cut`: bins of it are missing.
    ///
    /// # Errors
    /// When nothing can be written, or no location is open.
    pub fn end(&mut self, is_cut: bool) -> io::Result<()> {
        let mut open = self.open.take().ok_or_else(no_location)?;
        bins::write_end(&mut open.file, open.bins)?;
        let sum = open.file.finish()?;
        let events = &mut open.about.events;
        events.bytes = sum.bytes;
        events.crc32 = checksums::hex(sum.crc32);
        (events.bins, events.chains) = (open.bins, open.chains);
        open.about.is_cut |= is_cut;
        self.written += 1;
        self.locations.line(&open.about)
    }

    /// The observation is whole: it gets its name. The numbers of locations and communicators in
    /// `about` are filled in.
    ///
    /// # Errors
    /// When it cannot be written, or something has the name by now; then nothing is left.
    pub fn finish(self, mut about: About) -> io::Result<()> {
        if self.open.is_some() {
            return Err(io::Error::other("a location is not complete"));
        }
        about.locations = self.written;
        about.communicators = self.known.len() as u64;
        let mut file = Summed::create(self.dir.path().join(ABOUT_FILE))?;
        serde_json::to_writer_pretty(&mut file, &about)?;
        file.write_all(b"\n")?;
        let sums = [
            (ABOUT_FILE, file.finish()?),
            (COMMUNICATORS_FILE, self.communicators.finish()?),
            (LOCATIONS_FILE, self.locations.finish()?),
        ];
        let mut file = Summed::create(self.dir.path().join(checksums::FILE))?;
        file.write_all(checksums::text(&sums).as_bytes())?;
        file.finish()?;
        self.dir.appear()
    }
}

fn no_location() -> io::Error {
    io::Error::other("bins of a location that has not begun")
}

/// A file and the checksum of what was written into it.
#[derive(Debug)]
struct Summed {
    out: BufWriter<File>,
    crc: crc32fast::Hasher,
    bytes: u64,
}

impl Summed {
    fn create(path: PathBuf) -> io::Result<Summed> {
        Ok(Summed {
            out: BufWriter::new(File::create_new(path)?),
            crc: crc32fast::Hasher::new(),
            bytes: 0,
        })
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self, value)?;
        self.write_all(b"\n")
    }

    /// All of it is in the file.
    fn finish(self) -> io::Result<Sum> {
        self.out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        Ok(Sum {
            bytes: self.bytes,
            crc32: self.crc.finalize(),
        })
    }
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
