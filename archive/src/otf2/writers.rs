//! Writers of events and definitions of an archive of libotf2. Their lifetime is that of a borrow
//! of the archive, so that neither outlives it.

#![allow(
    unsafe_code,
    reason = "calls of a C library that is loaded at run time"
)]

use super::library::{AttributeValue, Handle, Library, Otf2Error, TYPE_UINT64, c_string, number};
use std::ptr::null_mut;

/// Writes the events of one location, in order of their times.
pub struct EventWriter<'a> {
    library: &'a Library,
    archive: Handle,
    handle: Handle,
}

/// Methods that write an event: the library's name, ours, and the numbers behind the time.
macro_rules! events {
    ($(
        $(#[$doc:meta])*
        $method:ident = $name:literal, $function:ident($($argument:ident: $type:ty),*);
    )*) => {
        impl EventWriter<'_> {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// When it cannot be written.
                pub fn $method(
                    &mut self,
                    time: u64
                    $(, $argument: $type)*
                ) -> Result<(), Otf2Error> {
                    let library = self.library;
                    // SAFETY: the writer is open until `close`, and no attributes are a null
                    // pointer; the rest are numbers.
                    let code = unsafe {
                        (library.functions.$function)(self.handle, null_mut(), time $(, $argument)*)
                    };
                    library.done($name, code)
                }
            )*
        }
    };
}

events! {
    /// A region is entered.
    enter = "OTF2_EvtWriter_Enter", enter(region: u32);
    /// A region is left.
    leave = "OTF2_EvtWriter_Leave", leave(region: u32);
    /// A message is sent.
    send = "OTF2_EvtWriter_MpiSend", send(receiver: u32, comm: u32, tag: u32, bytes: u64);
    /// A message is received.
    receive = "OTF2_EvtWriter_MpiRecv", receive(sender: u32, comm: u32, tag: u32, bytes: u64);
    /// A send is posted.
    isend = "OTF2_EvtWriter_MpiIsend",
        isend(receiver: u32, comm: u32, tag: u32, bytes: u64, request: u64);
    /// A posted send is complete.
    isend_complete = "OTF2_EvtWriter_MpiIsendComplete", isend_complete(request: u64);
    /// A receive is posted.
    irecv_request = "OTF2_EvtWriter_MpiIrecvRequest", irecv_request(request: u64);
    /// A posted receive is complete.
    irecv = "OTF2_EvtWriter_MpiIrecv",
        irecv(sender: u32, comm: u32, tag: u32, bytes: u64, request: u64);
    /// A request came to nothing.
    cancelled = "OTF2_EvtWriter_MpiRequestCancelled", cancelled(request: u64);
    /// A collective begins.
    collective_begin = "OTF2_EvtWriter_MpiCollectiveBegin", collective_begin();
    /// A collective is posted.
    collective_request = "OTF2_EvtWriter_NonBlockingCollectiveRequest",
        collective_request(request: u64);
    /// A sample was taken.
    sample = "OTF2_EvtWriter_CallingContextSample",
        sample(context: u32, unwind_distance: u32, generator: u32);
}

/// What a region is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionDefinition {
    /// The number of its name.
    pub name: u32,
    /// The number of what else is said of it; that of the empty text where it is nothing.
    pub description: u32,
    /// `OTF2_RegionRole`.
    pub role: u8,
    /// `OTF2_Paradigm`.
    pub paradigm: u8,
    /// The number of its source file's name; that of the empty text where it is not known.
    pub file: u32,
    /// The line at which it begins; 0 where that is not known.
    pub line: u32,
}

/// What a rank did in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// `OTF2_CollectiveOp`.
    pub operation: u8,
    pub comm: u32,
    /// The root in the communicator.
    pub root: u32,
    /// Bytes that this rank sent.
    pub sent: u64,
    /// Bytes that it received.
    pub received: u64,
}

impl<'a> EventWriter<'a> {
    /// A collective ends.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn collective_end(&mut self, time: u64, of: Collective) -> Result<(), Otf2Error> {
        let write = self.library.functions.collective_end;
        let (operation, comm, root) = (of.operation, of.comm, of.root);
        let (sent, received) = (of.sent, of.received);
        let (writer, none) = (self.handle, null_mut());
        // SAFETY: the writer is open until `close`, and no attributes are a null pointer; the rest
        // are numbers.
        let code = unsafe { write(writer, none, time, operation, comm, root, sent, received) };
        self.library.done("OTF2_EvtWriter_MpiCollectiveEnd", code)
    }

    /// A posted collective is complete.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn collective_complete(
        &mut self,
        time: u64,
        of: Collective,
        request: u64,
    ) -> Result<(), Otf2Error> {
        let write = self.library.functions.collective_complete;
        let (operation, comm, root) = (of.operation, of.comm, of.root);
        let (sent, received) = (of.sent, of.received);
        let (writer, none) = (self.handle, null_mut());
        // SAFETY: as of `collective_end`.
        let code = unsafe {
            write(
                writer, none, time, operation, comm, root, sent, received, request,
            )
        };
        let name = "OTF2_EvtWriter_NonBlockingCollectiveComplete";
        self.library.done(name, code)
    }

    /// The open writer `handle` of the open archive `archive`, which both live for `'a`.
    pub(super) fn new(library: &'a Library, archive: Handle, handle: Handle) -> EventWriter<'a> {
        EventWriter {
            library,
            archive,
            handle,
        }
    }

    /// All events are written; how many they are.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn close(self) -> Result<u64, Otf2Error> {
        let library = self.library;
        let mut events = 0;
        // SAFETY: the writer is open, and the number lives through the call.
        let code = unsafe { (library.functions.count)(self.handle, &raw mut events) };
        library.done("OTF2_EvtWriter_GetNumberOfEvents", code)?;
        // SAFETY: the writer is this archive's, and is not used again.
        let code = unsafe { (library.functions.close_event_writer)(self.archive, self.handle) };
        library.done("OTF2_Archive_CloseEvtWriter", code)?;
        Ok(events)
    }
}

/// Writes the definitions.
pub struct DefinitionWriter<'a> {
    library: &'a Library,
    handle: Handle,
}

/// Methods that write a definition of numbers alone.
macro_rules! definitions {
    ($($(#[$doc:meta])* $method:ident = $name:literal($($argument:ident: $type:ty),*);)*) => {
        impl DefinitionWriter<'_> {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// When it cannot be written.
                pub fn $method(&mut self $(, $argument: $type)*) -> Result<(), Otf2Error> {
                    let write = self.library.functions.$method;
                    // SAFETY: the writer lives as long as the archive that it borrows; the rest are
                    // numbers.
                    let code = unsafe { write(self.handle $(, $argument)*) };
                    self.library.done($name, code)
                }
            )*
        }
    };
}

definitions! {
    /// Ticks in a second, the first, how many there are, and when that was, in ns since 1970.
    clock = "OTF2_GlobalDefWriter_WriteClockProperties"(
        per_second: u64, offset: u64, length: u64, unix_ns: u64
    );
    /// A way to program.
    paradigm = "OTF2_GlobalDefWriter_WriteParadigm"(this: u8, name: u32, class: u8);
    /// A node of the tree of machine, hosts and processes.
    system_tree_node = "OTF2_GlobalDefWriter_WriteSystemTreeNode"(
        this: u32, name: u32, class: u32, parent: u32
    );
    /// What such a node stands for.
    system_tree_domain = "OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain"(node: u32, domain: u8);
    /// A process.
    location_group = "OTF2_GlobalDefWriter_WriteLocationGroup"(
        this: u32, name: u32, kind: u8, node: u32, creator: u32
    );
    /// A thread.
    location = "OTF2_GlobalDefWriter_WriteLocation"(
        this: u64, name: u32, kind: u8, events: u64, group: u32
    );
    /// A region below its callers.
    calling_context = "OTF2_GlobalDefWriter_WriteCallingContext"(
        this: u32, region: u32, source_line: u32, parent: u32
    );
    /// What takes samples: each period, times the exponent's power of the base.
    interrupt_generator = "OTF2_GlobalDefWriter_WriteInterruptGenerator"(
        this: u32, name: u32, mode: u8, base: u8, exponent: i64, period: u64
    );
    /// A communicator.
    comm = "OTF2_GlobalDefWriter_WriteComm"(
        this: u32, name: u32, group: u32, parent: u32, flags: u32
    );
    /// An intercommunicator.
    inter_comm = "OTF2_GlobalDefWriter_WriteInterComm"(
        this: u32, name: u32, group: u32, other: u32, common: u32, flags: u32
    );
}

impl<'a> DefinitionWriter<'a> {
    /// The writer `handle` of an archive that is open for `'a`.
    pub(super) fn new(library: &'a Library, handle: Handle) -> DefinitionWriter<'a> {
        DefinitionWriter { library, handle }
    }

    /// A text.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn string(&mut self, this: u32, text: &str) -> Result<(), Otf2Error> {
        let text = c_string(text)?;
        let library = self.library;
        // SAFETY: the writer lives as long as the archive; the string lives through the call.
        let code = unsafe { (library.functions.string)(self.handle, this, text.as_ptr()) };
        library.done("OTF2_GlobalDefWriter_WriteString", code)
    }

    /// A region.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn region(&mut self, this: u32, of: RegionDefinition) -> Result<(), Otf2Error> {
        let library = self.library;
        let (no_flags, no_line) = (0, 0);
        // SAFETY: the writer lives as long as the archive; the rest are numbers.
        let code = unsafe {
            (library.functions.region)(
                self.handle,
                this,
                of.name,
                of.name,
                of.description,
                of.role,
                of.paradigm,
                no_flags,
                of.file,
                of.line,
                no_line,
            )
        };
        library.done("OTF2_GlobalDefWriter_WriteRegion", code)
    }

    /// A group of MPI.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn group(
        &mut self,
        this: u32,
        name: u32,
        kind: u8,
        members: &[u64],
    ) -> Result<(), Otf2Error> {
        let library = self.library;
        let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let mpi = number::PARADIGM_MPI;
        // SAFETY: the writer lives as long as the archive; so many members are there, and live
        // through the call.
        let code = unsafe {
            (library.functions.group)(
                self.handle,
                this,
                name,
                kind,
                mpi,
                0,
                count,
                members.as_ptr(),
            )
        };
        library.done("OTF2_GlobalDefWriter_WriteGroup", code)
    }

    /// A number that is known of a location.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn location_property(
        &mut self,
        location: u64,
        name: u32,
        value: u64,
    ) -> Result<(), Otf2Error> {
        let library = self.library;
        let value = AttributeValue { uint64: value };
        // SAFETY: the writer lives as long as the archive; the value is of the type that is named.
        let code = unsafe {
            (library.functions.location_property)(self.handle, location, name, TYPE_UINT64, value)
        };
        library.done("OTF2_GlobalDefWriter_WriteLocationProperty", code)
    }
}
