//! libotf2 as a rival: its event writer, loaded when the bench runs. Chunks of memory come from a
//! pool that was touched before, and there are enough of them that nothing is flushed while time is
//! taken.

use crate::pieces::{self, Stopwatch};
use crate::streams::{Calls, Step};
use anyhow::{Context, Result, ensure};
use invivo_proto::record::{Facts, Part, RecordKind};
use libloading::Library;
use std::ffi::{CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

const LIBRARY: &str = "libopen-trace-format2.so.10";
const CHUNK_BYTES: usize = 4 << 20;
/// 160 MiB of events.
const CHUNKS: usize = 40;

type Code = i32;
type Archive = *mut c_void;
type Events = *mut c_void;
type Attributes = *mut c_void;

/// The functions, with the library that they are in.
macro_rules! functions {
    ($($name:ident: $symbol:literal ($($argument:ty),*) -> $result:ty;)*) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
            _library: Library,
        }

        impl Functions {
            fn load() -> Result<Self> {
                // SAFETY: the library's initialisers are those of a C library: they expect nothing.
                let library = unsafe { Library::new(LIBRARY) }
                    .with_context(|| format!("{LIBRARY} is missing: apt-get install \
                        libopen-trace-format2-dev"))?;
                // SAFETY: the types are those of OTF2_EvtWriter.h and OTF2_Archive.h of OTF2 3.0.
                unsafe {
                    Ok(Functions { $($name: *library.get(concat!($symbol,
                    "\0").as_bytes())?,)* _library: library })
                }
            }
        }
    };
}

functions! {
    open: "OTF2_Archive_Open" (*const c_char, *const c_char, u8, u64, u64, u8, u8) -> Archive;
    flush_callbacks: "OTF2_Archive_SetFlushCallbacks" (
        Archive, *const FlushCallbacks, *mut c_void
    ) -> Code;
    memory_callbacks: "OTF2_Archive_SetMemoryCallbacks" (
        Archive, *const MemoryCallbacks, *mut c_void
    ) -> Code;
    serial: "OTF2_Archive_SetSerialCollectiveCallbacks" (Archive) -> Code;
    open_events: "OTF2_Archive_OpenEvtFiles" (Archive) -> Code;
    writer: "OTF2_Archive_GetEvtWriter" (Archive, u64) -> Events;
    close_writer: "OTF2_Archive_CloseEvtWriter" (Archive, Events) -> Code;
    close_events: "OTF2_Archive_CloseEvtFiles" (Archive) -> Code;
    close: "OTF2_Archive_Close" (Archive) -> Code;
    enter: "OTF2_EvtWriter_Enter" (Events, Attributes, u64, u32) -> Code;
    leave: "OTF2_EvtWriter_Leave" (Events, Attributes, u64, u32) -> Code;
    send: "OTF2_EvtWriter_MpiSend" (Events, Attributes, u64, u32, u32, u32, u64) -> Code;
    receive: "OTF2_EvtWriter_MpiRecv" (Events, Attributes, u64, u32, u32, u32, u64) -> Code;
    isend: "OTF2_EvtWriter_MpiIsend" (Events, Attributes, u64, u32, u32, u32, u64, u64) -> Code;
    isend_complete: "OTF2_EvtWriter_MpiIsendComplete" (Events, Attributes, u64, u64) -> Code;
    irecv_request: "OTF2_EvtWriter_MpiIrecvRequest" (Events, Attributes, u64, u64) -> Code;
    irecv: "OTF2_EvtWriter_MpiIrecv" (Events, Attributes, u64, u32, u32, u32, u64, u64) -> Code;
    collective_begin: "OTF2_EvtWriter_MpiCollectiveBegin" (Events, Attributes, u64) -> Code;
    collective_end: "OTF2_EvtWriter_MpiCollectiveEnd" (
        Events, Attributes, u64, u8, u32, u32, u64, u64
    ) -> Code;
    sample: "OTF2_EvtWriter_CallingContextSample" (Events, Attributes, u64, u32, u32, u32) -> Code;
    metric: "OTF2_EvtWriter_Metric" (
        Events, Attributes, u64, u32, u8, *const u8, *const u64
    ) -> Code;
}

#[repr(C)]
struct FlushCallbacks {
    before: extern "C" fn(*mut c_void, u8, u64, *mut c_void, bool) -> u8,
    after: Option<extern "C" fn(*mut c_void, u8, u64) -> u64>,
}

#[repr(C)]
struct MemoryCallbacks {
    allocate: extern "C" fn(*mut c_void, u8, u64, *mut *mut c_void, u64) -> *mut c_void,
    free_all: extern "C" fn(*mut c_void, u8, u64, *mut *mut c_void, bool),
}

/// Chunks, all touched, taken one after the other and given back together.
struct Pool {
    bytes: Vec<u8>,
    taken: usize,
}

extern "C" fn flush(_: *mut c_void, _: u8, _: u64, _: *mut c_void, _: bool) -> u8 {
    1
}

extern "C" fn allocate(
    pool: *mut c_void,
    _: u8,
    _: u64,
    _: *mut *mut c_void,
    bytes: u64,
) -> *mut c_void {
    // SAFETY: `Otf2::run` hands over its pool, which nobody else uses while the archive is open.
    let pool = unsafe { &mut *pool.cast::<Pool>() };
    let from = pool.taken;
    match pool.bytes.get_mut(from..from + bytes as usize) {
        Some(chunk) => {
            pool.taken += bytes as usize;
            chunk.as_mut_ptr().cast()
        }
        None => null_mut(),
    }
}

extern "C" fn free_all(pool: *mut c_void, _: u8, _: u64, _: *mut *mut c_void, _: bool) {
    // SAFETY: as in `allocate`.
    unsafe { &mut *pool.cast::<Pool>() }.taken = 0;
}

/// The library with its memory.
pub struct Otf2 {
    functions: Functions,
    pool: Box<Pool>,
    folder: PathBuf,
}

impl Otf2 {
    /// Loads it. Archives go to a folder of its own in `folder`.
    pub fn new(folder: &Path) -> Result<Self> {
        Ok(Otf2 {
            functions: Functions::load()?,
            pool: Box::new(Pool {
                bytes: vec![0x7f; CHUNK_BYTES * CHUNKS],
                taken: 0,
            }),
            folder: folder.join("otf2"),
        })
    }

    /// Enters and leaves.
    pub fn steps(&mut self, steps: &[Step], watch: &mut Stopwatch) -> Result<u64> {
        self.run(|f, events| {
            pieces::steps(steps, watch, |steps| {
                for step in steps {
                    let write = if step.enters { f.enter } else { f.leave };
                    // SAFETY: `events` is an open writer; no attributes.
                    unsafe { write(events, null_mut(), step.time, u32::from(step.region.0)) };
                }
            })
        })
    }

    /// Each call as Score-P writes it: enter, what it communicated, leave.
    pub fn calls(&mut self, calls: &Calls, watch: &mut Stopwatch) -> Result<u64> {
        self.run(|f, events| {
            pieces::calls(calls, watch, |calls| {
                for (call, parts) in calls.iter() {
                    let (begin, region) =
                        (call.end - call.duration, u32::from(call.facts.region.0));
                    // SAFETY: `events` is an open writer; no attributes.
                    unsafe {
                        (f.enter)(events, null_mut(), begin, region);
                        if call.facts.kind == RecordKind::Collective {
                            (f.collective_begin)(events, null_mut(), begin);
                        }
                        communication(f, events, &call.facts, call.request, call.end);
                        for Part { facts, request, .. } in parts {
                            communication(f, events, facts, *request, call.end);
                        }
                        (f.leave)(events, null_mut(), call.end, region);
                    }
                }
            })
        })
    }

    /// A sample and its counters, at the same time.
    pub fn samples(&mut self, samples: &[(u64, Vec<u64>)], watch: &mut Stopwatch) -> Result<u64> {
        const UINT64: u8 = 4;
        self.run(|f, events| {
            pieces::samples(samples, watch, |samples| {
                let types = [UINT64; 64];
                for (time, values) in samples {
                    // SAFETY: `events` is an open writer; there are as many types as values.
                    unsafe {
                        (f.sample)(events, null_mut(), *time, 7, 1, 0);
                        let count = values.len() as u8;
                        (f.metric)(
                            events,
                            null_mut(),
                            *time,
                            1,
                            count,
                            types.as_ptr(),
                            values.as_ptr(),
                        );
                    }
                }
            })
        })
    }

    /// Writes one archive with what `write` writes; the size of its file of events in bytes.
    fn run(&mut self, write: impl FnOnce(&Functions, Events)) -> Result<u64> {
        let _ = std::fs::remove_dir_all(&self.folder);
        let folder = CString::new(self.folder.to_str().context("a path of text")?)?;
        let f = &self.functions;
        let flushing = FlushCallbacks {
            before: flush,
            after: None,
        };
        let memory = MemoryCallbacks { allocate, free_all };
        let pool: *mut Pool = &raw mut *self.pool;
        // SAFETY: as OTF2's manual has it for one writing process; both tables and the pool outlive
        // the archive.
        unsafe {
            let archive = (f.open)(
                folder.as_ptr(),
                c"bench".as_ptr(),
                0,
                CHUNK_BYTES as u64,
                CHUNK_BYTES as u64,
                1,
                1,
            );
            ensure!(!archive.is_null(), "OTF2_Archive_Open failed");
            (f.flush_callbacks)(archive, &raw const flushing, null_mut());
            (f.memory_callbacks)(archive, &raw const memory, pool.cast());
            (f.serial)(archive);
            (f.open_events)(archive);
            let events = (f.writer)(archive, 0);
            ensure!(!events.is_null(), "OTF2_Archive_GetEvtWriter failed");
            write(f, events);
            let closed = (f.close_writer)(archive, events);
            (f.close_events)(archive);
            (f.close)(archive);
            ensure!(
                closed == 0,
                "OTF2_Archive_CloseEvtWriter failed with {closed}"
            );
        };
        let bytes = std::fs::metadata(self.folder.join("bench/0.evt"))?.len();
        Ok(bytes)
    }
}

/// # Safety
/// `events` must be an open writer.
#[inline(always)]
unsafe fn communication(f: &Functions, events: Events, facts: &Facts, request: u64, time: u64) {
    let (peer, comm, tag) = (facts.peer as u32, facts.comm.0, facts.tag as u32);
    // SAFETY: the caller's.
    unsafe {
        match facts.kind {
            RecordKind::Send => {
                (f.send)(events, null_mut(), time, peer, comm, tag, facts.bytes_out)
            }
            RecordKind::Recv => {
                (f.receive)(events, null_mut(), time, peer, comm, tag, facts.bytes_in)
            }
            RecordKind::PostSend => (f.isend)(
                events,
                null_mut(),
                time,
                peer,
                comm,
                tag,
                facts.bytes_out,
                request,
            ),
            RecordKind::PostRecv => (f.irecv_request)(events, null_mut(), time, request),
            RecordKind::CompletedSend => (f.isend_complete)(events, null_mut(), time, request),
            RecordKind::CompletedRecv => (f.irecv)(
                events,
                null_mut(),
                time,
                peer,
                comm,
                tag,
                facts.bytes_in,
                request,
            ),
            RecordKind::Collective => (f.collective_end)(
                events,
                null_mut(),
                time,
                1,
                comm,
                peer,
                facts.bytes_out,
                facts.bytes_in,
            ),
            _ => 0,
        };
    }
}
