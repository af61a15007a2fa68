//! Looks up MPI functions behind the shim: the next `MPI_X` for an `MPI_X`, the next `PMPI_X` for
//! a `PMPI_X`.
//!
//! So other tools that are loaded behind the shim still see the call. Looked up at the first call,
//! because C++ programs call MPI before a preloaded library's constructors run.
//!
//! `RTLD_NEXT` is tried first. Where the program loaded its MPI library later and privately (Python
//! does), the search goes on in the libraries that are loaded already.

use crate::family::LIBRARY_NAMES;
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function behind the shim, looked up once.
pub struct NextFunction {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl NextFunction {
    pub const fn new(name: &'static CStr) -> Self {
        NextFunction {
            name,
            address: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// A function by its name with a closing zero, for macros, which cannot make C strings.
    pub const fn by_bytes(name: &'static [u8]) -> Self {
        match CStr::from_bytes_with_nul(name) {
            Ok(name) => NextFunction::new(name),
            Err(_) => panic!("a name without a closing zero"),
        }
    }

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
        // Two threads may do so at once: they find the same, so that no order is needed.
        let address = next_function(self.name);
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// The address of the next function of a name behind the shim; null where no library has it.
pub fn next_function(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a C string; dlsym may be called at any time.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if address.is_null() {
        in_loaded_libraries(name)
    } else {
        address
    }
}

/// The address of a data symbol of the MPI library, 0 where there is none.
#[cfg(feature = "family-ompi")]
pub fn data(name: &CStr) -> usize {
    // Not `RTLD_NEXT`: a program linked without PIC has a copy of its own, which the library uses,
    // too.
    // SAFETY: the name is a C string.
    let mut address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        address = in_loaded_libraries(name);
    }
    address as usize
}

/// Whether a file is called like one of these libraries: `libmpi.so.40.30` like `libmpi.so.40`,
/// `libmpi.so.400` not.
pub fn is_called(path: &CStr, names: &[&CStr]) -> bool {
    let bytes = path.to_bytes();
    let file = bytes.rsplit(|b| *b == b'/').next().unwrap_or(bytes);
    let versions = |name: &CStr| file.strip_prefix(name.to_bytes());
    names
        .iter()
        .filter_map(|name| versions(name))
        .any(|rest| rest.is_empty() || rest[0] == b'.')
}

/// Looks into MPI libraries that are loaded, whatever scope they were loaded into.
fn in_loaded_libraries(name: &CStr) -> *mut c_void {
    for library in LIBRARY_NAMES {
        let found = in_library(library.as_ptr(), name);
        if !found.is_null() {
            return found;
        }
    }

    // A library loaded by a path, under whatever name: look for the family's names among the last
    // parts of the paths.
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

/// The search for a function in all loaded objects.
struct Search<'a> {
    name: &'a CStr,
    found: *mut c_void,
}

/// Looks into one object; called by the loader for each, until it gives something else than 0.
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
    if is_called(unsafe { CStr::from_ptr(path) }, LIBRARY_NAMES) {
        search.found = in_library(path, search.name);
    }
    i32::from(!search.found.is_null())
}
