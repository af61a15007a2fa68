//! An archive of libotf2, in the sequence that the library allows: event writers one after the
//! other, then one empty writer of local definitions for each location, then the global
//! definitions, then the end.

#![allow(
    unsafe_code,
    reason = "calls of a C library that is loaded at run time"
)]

use super::library::{FLUSH_CALLBACKS, Handle, Library, Otf2Error, c_string};
use super::writers::{DefinitionWriter, EventWriter};
use std::path::Path;
use std::ptr::null_mut;

/// Bytes of a chunk of events in memory, as libotf2's own documentation has it.
const EVENT_CHUNK_BYTES: u64 = 1 << 20;
/// The same of definitions.
const DEFINITION_CHUNK_BYTES: u64 = 4 << 20;
const FILEMODE_WRITE: u8 = 0;
const SUBSTRATE_POSIX: u8 = 1;
const COMPRESSION_NONE: u8 = 1;

/// An archive that is being written. Dropped before its end, its files are not whole.
pub struct Archive<'l> {
    library: &'l Library,
    handle: Handle,
}

impl<'l> Archive<'l> {
    /// A new archive in a directory.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(library: &'l Library, dir: &Path, name: &str) -> Result<Archive<'l>, Otf2Error> {
        let (dir, name) = (c_string(dir)?, c_string(name)?);
        // SAFETY: both strings live through the call; the numbers are those of the headers.
        let handle = unsafe {
            (library.functions.open)(
                dir.as_ptr(),
                name.as_ptr(),
                FILEMODE_WRITE,
                EVENT_CHUNK_BYTES,
                DEFINITION_CHUNK_BYTES,
                SUBSTRATE_POSIX,
                COMPRESSION_NONE,
            )
        };
        let archive = Archive {
            library,
            handle: Library::handle("OTF2_Archive_Open", handle)?,
        };
        // SAFETY: the archive is open, and the callbacks are static.
        let code = unsafe {
            (library.functions.flush_callbacks)(
                archive.handle,
                &raw const FLUSH_CALLBACKS,
                null_mut(),
            )
        };
        library.done("OTF2_Archive_SetFlushCallbacks", code)?;
        // SAFETY: the archive is open.
        let code = unsafe { (library.functions.serial)(archive.handle) };
        library.done("OTF2_Archive_SetSerialCollectiveCallbacks", code)?;
        Ok(archive)
    }

    /// Says who made it, and where the job ran.
    ///
    /// # Errors
    /// When the library takes it not.
    pub fn describe(&self, creator: &str, machine: &str) -> Result<(), Otf2Error> {
        let (creator, machine) = (c_string(creator)?, c_string(machine)?);
        let functions = &self.library.functions;
        // SAFETY: the archive is open, and the string lives through the call.
        let code = unsafe { (functions.creator)(self.handle, creator.as_ptr()) };
        self.library.done("OTF2_Archive_SetCreator", code)?;
        // SAFETY: as above.
        let code = unsafe { (functions.machine)(self.handle, machine.as_ptr()) };
        self.library.done("OTF2_Archive_SetMachineName", code)
    }

    /// Sets a property of the whole, whose name is `SPACE::NAME` in upper-case letters, digits and
    /// `_`.
    ///
    /// # Errors
    /// When the library takes it not.
    pub fn property(&self, name: &str, value: &str) -> Result<(), Otf2Error> {
        let (name, value) = (c_string(name)?, c_string(value)?);
        let functions = &self.library.functions;
        // SAFETY: the archive is open, and both strings live through the call.
        let code =
            unsafe { (functions.property)(self.handle, name.as_ptr(), value.as_ptr(), false) };
        self.library.done("OTF2_Archive_SetProperty", code)
    }

    /// The events begin.
    ///
    /// # Errors
    /// When the files cannot be made.
    pub fn begin_events(&self) -> Result<(), Otf2Error> {
        // SAFETY: the archive is open.
        let code = unsafe { (self.library.functions.open_events)(self.handle) };
        self.library.done("OTF2_Archive_OpenEvtFiles", code)
    }

    /// The writer of a location's events.
    ///
    /// # Errors
    /// When the library gives none.
    pub fn events(&self, location: u64) -> Result<EventWriter<'_>, Otf2Error> {
        // SAFETY: the archive is open.
        let handle = unsafe { (self.library.functions.event_writer)(self.handle, location) };
        let handle = Library::handle("OTF2_Archive_GetEvtWriter", handle)?;
        Ok(EventWriter::new(self.library, self.handle, handle))
    }

    /// The events are over; the local definitions of these locations are empty.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn end_events(&self, locations: impl Iterator<Item = u64>) -> Result<(), Otf2Error> {
        let functions = &self.library.functions;
        // SAFETY: the archive is open; event writers borrow it, and are closed.
        let code = unsafe { (functions.close_events)(self.handle) };
        self.library.done("OTF2_Archive_CloseEvtFiles", code)?;
        // SAFETY: the archive is open.
        let code = unsafe { (functions.open_definitions)(self.handle) };
        self.library.done("OTF2_Archive_OpenDefFiles", code)?;
        // Readers look for a file of each location.
        for location in locations {
            // SAFETY: the archive is open.
            let writer = unsafe { (functions.local_writer)(self.handle, location) };
            let writer = Library::handle("OTF2_Archive_GetDefWriter", writer)?;
            // SAFETY: the writer is this archive's, and not used again.
            let code = unsafe { (functions.close_local_writer)(self.handle, writer) };
            self.library.done("OTF2_Archive_CloseDefWriter", code)?;
        }
        // SAFETY: the archive is open.
        let code = unsafe { (functions.close_definitions)(self.handle) };
        self.library.done("OTF2_Archive_CloseDefFiles", code)
    }

    /// The writer of the definitions.
    ///
    /// # Errors
    /// When the library gives none.
    pub fn definitions(&self) -> Result<DefinitionWriter<'_>, Otf2Error> {
        // SAFETY: the archive is open.
        let handle = unsafe { (self.library.functions.global_writer)(self.handle) };
        let handle = Library::handle("OTF2_Archive_GetGlobalDefWriter", handle)?;
        Ok(DefinitionWriter::new(self.library, handle))
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn close(self) -> Result<(), Otf2Error> {
        // SAFETY: the archive is open, and is not used again; writers borrow it, and are gone.
        let code = unsafe { (self.library.functions.close)(self.handle) };
        self.library.done("OTF2_Archive_Close", code)
    }
}
