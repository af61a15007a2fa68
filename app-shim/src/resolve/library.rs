//! Identifies the MPI library among the loaded objects, of the shim's family or of another.
//!
//! The name that a library was opened by does not identify it: programs open `libmpi.so`, a link
//! for compilers, and the loader keeps that name. So the loader is asked for the libraries by the
//! names that they give themselves, and addresses are compared; the file's name serves where a
//! library gives itself none.

use super::c_dlsym::c_dlsym;
use super::objects::{object, object_base};
use super::symbols::{NextFunction, is_called};
use crate::family::{ALL_LIBRARY_NAMES, LIBRARY_NAMES};
use core::ffi::{CStr, c_void};

/// A function that every MPI library has.
static INIT: NextFunction = NextFunction::new(c"PMPI_Init");

/// Whether an address lies in an MPI library of this family.
pub fn is_ours(address: *const c_void) -> bool {
    is_one_of(address, LIBRARY_NAMES)
}

/// Whether an address lies in an MPI library of another family.
pub fn is_of_another_family(address: *const c_void) -> bool {
    !is_ours(address) && is_one_of(address, ALL_LIBRARY_NAMES)
}

/// The library of another family that the program has loaded: behind the shim, or anywhere where
/// there is none of this family.
pub fn of_another_family() -> Option<&'static CStr> {
    let next: *const c_void = INIT.address();
    if is_of_another_family(next) {
        return Some(object(next)?.0);
    }
    // A program may have several families loaded: one of ours is enough for it to be observed.
    let loaded = |name: &&CStr| Some(object(init_in(name)?)?.0);
    match LIBRARY_NAMES.iter().find_map(loaded) {
        Some(_) => None,
        None => ALL_LIBRARY_NAMES.iter().find_map(loaded),
    }
}

fn is_one_of(address: *const c_void, names: &[&CStr]) -> bool {
    let Some((path, base)) = object(address) else {
        return false;
    };
    // The loader finds an object by the name that it gives itself, whatever it was opened as.
    let is_here = |name: &&CStr| init_in(name).is_some_and(|init| object_base(init) == base);
    is_called(path, names) || names.iter().any(is_here)
}

/// The file of the MPI library behind the shim.
pub fn file() -> Option<&'static CStr> {
    object(INIT.address()).map(|(file, _)| file)
}

/// The MPI library behind the shim, opened to be searched for functions.
pub struct OpenLibrary {
    handle: *mut c_void,
    base: *mut c_void,
}

/// Opens the MPI library behind the shim.
pub fn open() -> Option<OpenLibrary> {
    let (path, base) = object(INIT.address())?;
    // SAFETY: dladdr gives a C string; RTLD_NOLOAD loads nothing.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then_some(OpenLibrary { handle, base })
}

impl OpenLibrary {
    /// Whether it has a function of this name itself.
    pub fn has(&self, name: &CStr) -> bool {
        // SAFETY: the handle is open.
        let found = unsafe { find(self.handle, name) };
        // The search goes on in the library's own dependencies, which do not count.
        !found.is_null() && object_base(found) == self.base
    }

    /// The address of a function of its own or of a library that it needs, or null.
    pub fn find(&self, name: &CStr) -> *mut c_void {
        // SAFETY: the handle is open.
        unsafe { find(self.handle, name) }
    }
}

impl Drop for OpenLibrary {
    fn drop(&mut self) {
        // SAFETY: opened by us, and closed once. What was looked for in vain must not look like the
        // program's error.
        unsafe {
            libc::dlclose(self.handle);
            libc::dlerror();
        }
    }
}

/// `PMPI_Init` of a library that is loaded already, by the library's own name or its path. Keeps no
/// reference.
fn init_in(library: &CStr) -> Option<*mut c_void> {
    // SAFETY: both are C strings; RTLD_NOLOAD loads nothing.
    unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        let found = find(handle, INIT.name());
        libc::dlclose(handle);
        (!found.is_null()).then_some(found)
    }
}

unsafe fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
    match c_dlsym() {
        // SAFETY: the caller's handle is open.
        Some(dlsym) => unsafe { dlsym(handle, name.as_ptr()) },
        None => core::ptr::null_mut(),
    }
}
