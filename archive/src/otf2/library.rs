//! libotf2, loaded when it is needed: the functions that an export calls.
//!
//! They are called in `archive.rs` and `writers.rs` alone, whose types cannot be used in another
//! order than the library allows.

#![allow(
    unsafe_code,
    reason = "calls of a C library that is loaded at run time"
)]

use libloading::Library as Shared;
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;

/// Names under which systems have libotf2 3.0 and later ones with the same functions; Debian's
/// first.
const NAMES: [&str; 6] = [
    "libopen-trace-format2.so.10",
    "libotf2.so.10",
    "libopen-trace-format2.so.11",
    "libotf2.so.11",
    "libopen-trace-format2.so.12",
    "libotf2.so.12",
];

const FLUSH: u8 = 1;
pub(super) const TYPE_UINT64: u8 = 4;

type Code = i32;
pub(super) type Handle = *mut c_void;
/// No attributes.
type Attributes = *mut c_void;

/// Why libotf2 did not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Otf2Error {
    /// It is not there.
    #[error(
        "libotf2 3.0 or newer is not there ({0}): install it (Debian: apt-get install \
         libopen-trace-format2-dev; elsewhere with Score-P, and its folder in LD_LIBRARY_PATH)"
    )]
    Missing(String),
    /// One of its functions failed.
    #[error("libotf2 cannot write ({function}: {why})")]
    Failed { function: &'static str, why: String },
    /// A name that C cannot have.
    #[error("a name holds a zero byte")]
    Name,
}

macro_rules! functions {
    ($($name:ident: $symbol:literal ($($argument:ty),*) -> $result:ty;)*) => {
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
            /// Loaded for as long as its functions may be called.
            _shared: Shared,
        }

        impl Functions {
            fn of(shared: Shared) -> Result<Functions, libloading::Error> {
                // SAFETY: the types are those of the headers of OTF2 3.0, which the names of the
                // library stand for; 3.0 added functions that are among these, so that an older
                // library is refused.
                unsafe {
                    Ok(Functions {
                        $($name: *shared.get(concat!($symbol, "\0").as_bytes())?,)*
                        _shared: shared,
                    })
                }
            }
        }
    };
}

functions! {
    open: "OTF2_Archive_Open" (*const c_char, *const c_char, u8, u64, u64, u8, u8) -> Handle;
    flush_callbacks: "OTF2_Archive_SetFlushCallbacks" (
        Handle, *const FlushCallbacks, *mut c_void
    ) -> Code;
    serial: "OTF2_Archive_SetSerialCollectiveCallbacks" (Handle) -> Code;
    creator: "OTF2_Archive_SetCreator" (Handle, *const c_char) -> Code;
    machine: "OTF2_Archive_SetMachineName" (Handle, *const c_char) -> Code;
    property: "OTF2_Archive_SetProperty" (Handle, *const c_char, *const c_char, bool) -> Code;
    open_events: "OTF2_Archive_OpenEvtFiles" (Handle) -> Code;
    event_writer: "OTF2_Archive_GetEvtWriter" (Handle, u64) -> Handle;
    close_event_writer: "OTF2_Archive_CloseEvtWriter" (Handle, Handle) -> Code;
    close_events: "OTF2_Archive_CloseEvtFiles" (Handle) -> Code;
    open_definitions: "OTF2_Archive_OpenDefFiles" (Handle) -> Code;
    local_writer: "OTF2_Archive_GetDefWriter" (Handle, u64) -> Handle;
    close_local_writer: "OTF2_Archive_CloseDefWriter" (Handle, Handle) -> Code;
    close_definitions: "OTF2_Archive_CloseDefFiles" (Handle) -> Code;
    global_writer: "OTF2_Archive_GetGlobalDefWriter" (Handle) -> Handle;
    close: "OTF2_Archive_Close" (Handle) -> Code;
    describe: "OTF2_Error_GetDescription" (Code) -> *const c_char;
    on_error: "OTF2_Error_RegisterCallback" (ErrorCallback, *mut c_void) -> *mut c_void;

    count: "OTF2_EvtWriter_GetNumberOfEvents" (Handle, *mut u64) -> Code;
    enter: "OTF2_EvtWriter_Enter" (Handle, Attributes, u64, u32) -> Code;
    leave: "OTF2_EvtWriter_Leave" (Handle, Attributes, u64, u32) -> Code;
    send: "OTF2_EvtWriter_MpiSend" (Handle, Attributes, u64, u32, u32, u32, u64) -> Code;
    receive: "OTF2_EvtWriter_MpiRecv" (Handle, Attributes, u64, u32, u32, u32, u64) -> Code;
    isend: "OTF2_EvtWriter_MpiIsend" (Handle, Attributes, u64, u32, u32, u32, u64, u64) -> Code;
    isend_complete: "OTF2_EvtWriter_MpiIsendComplete" (Handle, Attributes, u64, u64) -> Code;
    irecv_request: "OTF2_EvtWriter_MpiIrecvRequest" (Handle, Attributes, u64, u64) -> Code;
    irecv: "OTF2_EvtWriter_MpiIrecv" (Handle, Attributes, u64, u32, u32, u32, u64, u64) -> Code;
    cancelled: "OTF2_EvtWriter_MpiRequestCancelled" (Handle, Attributes, u64, u64) -> Code;
    collective_begin: "OTF2_EvtWriter_MpiCollectiveBegin" (Handle, Attributes, u64) -> Code;
    collective_end: "OTF2_EvtWriter_MpiCollectiveEnd" (
        Handle, Attributes, u64, u8, u32, u32, u64, u64
    ) -> Code;
    collective_request: "OTF2_EvtWriter_NonBlockingCollectiveRequest" (
        Handle, Attributes, u64, u64
    ) -> Code;
    collective_complete: "OTF2_EvtWriter_NonBlockingCollectiveComplete" (
        Handle, Attributes, u64, u8, u32, u32, u64, u64, u64
    ) -> Code;
    sample: "OTF2_EvtWriter_CallingContextSample" (Handle, Attributes, u64, u32, u32, u32) -> Code;

    clock: "OTF2_GlobalDefWriter_WriteClockProperties" (Handle, u64, u64, u64, u64) -> Code;
    paradigm: "OTF2_GlobalDefWriter_WriteParadigm" (Handle, u8, u32, u8) -> Code;
    string: "OTF2_GlobalDefWriter_WriteString" (Handle, u32, *const c_char) -> Code;
    system_tree_node: "OTF2_GlobalDefWriter_WriteSystemTreeNode" (
        Handle, u32, u32, u32, u32
    ) -> Code;
    system_tree_domain: "OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain" (
        Handle, u32, u8
    ) -> Code;
    location_group: "OTF2_GlobalDefWriter_WriteLocationGroup" (
        Handle, u32, u32, u8, u32, u32
    ) -> Code;
    location: "OTF2_GlobalDefWriter_WriteLocation" (Handle, u64, u32, u8, u64, u32) -> Code;
    location_property: "OTF2_GlobalDefWriter_WriteLocationProperty" (
        Handle, u64, u32, u8, AttributeValue
    ) -> Code;
    region: "OTF2_GlobalDefWriter_WriteRegion" (
        Handle, u32, u32, u32, u32, u8, u8, u32, u32, u32, u32
    ) -> Code;
    calling_context: "OTF2_GlobalDefWriter_WriteCallingContext" (
        Handle, u32, u32, u32, u32
    ) -> Code;
    interrupt_generator: "OTF2_GlobalDefWriter_WriteInterruptGenerator" (
        Handle, u32, u32, u8, u8, i64, u64
    ) -> Code;
    group: "OTF2_GlobalDefWriter_WriteGroup" (
        Handle, u32, u32, u8, u8, u32, u32, *const u64
    ) -> Code;
    comm: "OTF2_GlobalDefWriter_WriteComm" (Handle, u32, u32, u32, u32, u32) -> Code;
    inter_comm: "OTF2_GlobalDefWriter_WriteInterComm" (
        Handle, u32, u32, u32, u32, u32, u32
    ) -> Code;
}

/// `OTF2_AttributeValue`, of which numbers alone are used.
#[repr(C)]
pub(super) union AttributeValue {
    pub(super) uint64: u64,
    /// There, so that it is passed as the union is.
    _float64: f64,
}

#[repr(C)]
pub(super) struct FlushCallbacks {
    before: extern "C" fn(*mut c_void, u8, u64, *mut c_void, bool) -> u8,
    after: Option<extern "C" fn(*mut c_void, u8, u64) -> u64>,
}

/// Everything goes to the files when a chunk is full: without it, events would be dropped.
pub(super) static FLUSH_CALLBACKS: FlushCallbacks = FlushCallbacks {
    before: flush,
    after: None,
};

extern "C" fn flush(_: *mut c_void, _: u8, _: u64, _: *mut c_void, _: bool) -> u8 {
    FLUSH
}

/// The last argument is a `va_list`, which is not looked at.
type ErrorCallback = extern "C" fn(
    *mut c_void,
    *const c_char,
    u64,
    *const c_char,
    Code,
    *const c_char,
    *mut c_void,
) -> Code;

/// The library would print to standard error; the code that it gives back says the same.
extern "C" fn no_print(
    _: *mut c_void,
    _: *const c_char,
    _: u64,
    _: *const c_char,
    code: Code,
    _: *const c_char,
    _: *mut c_void,
) -> Code {
    code
}

/// The library.
pub struct Library {
    pub(super) functions: Functions,
}

impl Library {
    /// Loads it.
    ///
    /// # Errors
    /// When it is not there, or too old.
    pub fn load() -> Result<Library, Otf2Error> {
        let mut why = String::new();
        for name in NAMES {
            // SAFETY: the library's initialisers are those of a C library: they expect nothing.
            let functions = unsafe { Shared::new(name) }.and_then(Functions::of);
            match functions {
                Ok(functions) => {
                    // SAFETY: the callback has the type that the library calls, and no state.
                    unsafe { (functions.on_error)(no_print, null_mut()) };
                    return Ok(Library { functions });
                }
                Err(error) if why.is_empty() => why = error.to_string(),
                Err(_) => {}
            }
        }
        Err(Otf2Error::Missing(why))
    }

    /// What a function's code says.
    ///
    /// # Errors
    /// What went wrong.
    pub(super) fn done(&self, function: &'static str, code: Code) -> Result<(), Otf2Error> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: any number may be asked for; the text is static in the library.
        let text = unsafe { (self.functions.describe)(code) };
        let why = if text.is_null() {
            format!("error {code}")
        } else {
            // SAFETY: not null, and a string of the library's that ends in a zero.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        };
        Err(Otf2Error::Failed { function, why })
    }

    /// A handle that a function gave.
    ///
    /// # Errors
    /// When it gave none.
    pub(super) fn handle(function: &'static str, handle: Handle) -> Result<Handle, Otf2Error> {
        if handle.is_null() {
            let why = "it gives no reason".to_owned();
            return Err(Otf2Error::Failed { function, why });
        }
        Ok(handle)
    }
}

/// A text as C takes it.
///
/// # Errors
/// When it holds a zero byte.
pub(super) fn c_string(text: impl AsRef<OsStr>) -> Result<CString, Otf2Error> {
    CString::new(text.as_ref().as_bytes()).map_err(|_| Otf2Error::Name)
}

/// A number of the library's, by its name in the headers.
pub mod number {
    /// `OTF2_UNDEFINED_UINT32`.
    pub const UNDEFINED: u32 = u32::MAX;
    /// `OTF2_PARADIGM_USER`.
    pub const PARADIGM_USER: u8 = 1;
    /// `OTF2_PARADIGM_COMPILER`.
    pub const PARADIGM_COMPILER: u8 = 2;
    /// `OTF2_PARADIGM_MPI`.
    pub const PARADIGM_MPI: u8 = 4;
    /// `OTF2_PARADIGM_SAMPLING`.
    pub const PARADIGM_SAMPLING: u8 = 21;
    /// `OTF2_INTERRUPT_GENERATOR_MODE_TIME`.
    pub const MODE_TIME: u8 = 0;
    /// `OTF2_BASE_DECIMAL`.
    pub const BASE_DECIMAL: u8 = 1;
    /// `OTF2_PARADIGM_CLASS_PROCESS`.
    pub const PARADIGM_CLASS_PROCESS: u8 = 0;
    /// `OTF2_LOCATION_TYPE_CPU_THREAD`.
    pub const CPU_THREAD: u8 = 1;
    /// `OTF2_LOCATION_GROUP_TYPE_PROCESS`.
    pub const PROCESS: u8 = 1;
    /// `OTF2_SYSTEM_TREE_DOMAIN_MACHINE`.
    pub const DOMAIN_MACHINE: u8 = 0;
    /// `OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY`.
    pub const DOMAIN_SHARED_MEMORY: u8 = 1;
    /// `OTF2_GROUP_TYPE_COMM_LOCATIONS`.
    pub const COMM_LOCATIONS: u8 = 4;
    /// `OTF2_GROUP_TYPE_COMM_GROUP`.
    pub const COMM_GROUP: u8 = 5;
    /// `OTF2_GROUP_TYPE_COMM_SELF`.
    pub const COMM_SELF: u8 = 6;
}
