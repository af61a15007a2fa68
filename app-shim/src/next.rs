//! Finds what stands behind us: the next `MPI_X` for an `MPI_X`, the next `PMPI_X` for a `PMPI_X`,
//! so that other tools loaded behind still see the call. Looked up at the first call, because C++
//! programs call MPI before a preloaded library's constructors run.
//!
//! First `RTLD_NEXT`. Where the program loaded its MPI library later and privately (Python does),
//! the search goes on in the libraries that are loaded already.

use crate::family::{ERR_OTHER, LIBRARY_NAMES};
use crate::{library, start};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function behind us, looked up once.
pub struct Next {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Next {
    /// A function by its name.
    pub const fn new(name: &'static CStr) -> Self {
        Next {
            name,
            address: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static CStr {
        self.name
    }

    /// Its address; null where no library has it.
    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            self.look_up()
        } else {
            address
        }
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self) -> *mut c_void {
        let address = behind(self.name);
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// The address of what is behind us under a name; null where no library has it.
pub fn behind(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a C string; dlsym may be called at any time.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if address.is_null() {
        in_loaded(name)
    } else {
        address
    }
}

/// What a function answers that no library has behind us. Where the program has loaded the MPI of
/// another family than was expected, privately, that is every function, and the first one ends it.
#[cold]
#[inline(never)]
pub fn missing() -> c_int {
    start::refuse_another_family();
    ERR_OTHER
}

/// The address of a data symbol of the MPI library (Open MPI's predefined handles), 0 where there
/// is none. Not `RTLD_NEXT`: a program linked without PIC has a copy of its own that the library
/// uses too.
#[allow(dead_code)] // The other families have numbers for predefined handles.
pub fn data(name: &CStr) -> usize {
    // SAFETY: the name is a C string.
    let mut address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        address = in_loaded(name);
    }
    address as usize
}

/// Looks into MPI libraries that are loaded, whatever scope they were loaded into.
fn in_loaded(name: &CStr) -> *mut c_void {
    for library in LIBRARY_NAMES {
        let found = in_library(library.as_ptr(), name);
        if !found.is_null() {
            return found;
        }
    }
    // A library loaded by a path, under whatever name: look for ours among the last parts of the
    // paths.
    let mut search = Search {
        name,
        found: core::ptr::null_mut(),
    };
    // SAFETY: the callback gets the address of `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

fn in_library(library: *const c_char, name: &CStr) -> *mut c_void {
    // SAFETY: both are C strings. RTLD_NOLOAD loads nothing; the reference it takes is kept on
    // purpose, so that the address stays valid.
    unsafe {
        let handle = libc::dlopen(library, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            core::ptr::null_mut()
        } else {
            libc::dlsym(handle, name.as_ptr())
        }
    }
}

struct Search<'a> {
    name: &'a CStr,
    found: *mut c_void,
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _: usize,
    data: *mut c_void,
) -> libc::c_int {
    // SAFETY: dl_iterate_phdr passes a valid info and our own `search`.
    let (path, search) = unsafe { ((*info).dlpi_name, &mut *data.cast::<Search<'_>>()) };
    if path.is_null() {
        return 0;
    }
    // SAFETY: dlpi_name is a C string.
    if library::is_called(unsafe { CStr::from_ptr(path) }, LIBRARY_NAMES) {
        search.found = in_library(path, search.name);
    }
    i32::from(!search.found.is_null())
}
