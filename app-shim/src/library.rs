//! Which object of the process is an MPI library. What it was opened as does not tell: programs
//! open `libmpi.so`, a link for compilers, and the loader keeps that name. So the loader is asked
//! for the libraries by the names that they give themselves, and addresses are compared; the file's
//! name serves where a library gives itself none.

use crate::family::{ALL_LIBRARY_NAMES, LIBRARY_NAMES};
use crate::next::Next;
use core::ffi::{CStr, c_void};

/// A function that every MPI library has.
static INIT: Next = Next::new(c"PMPI_Init");

/// The file and the first address of the object that an address lies in.
pub fn object(address: *const c_void) -> Option<(&'static CStr, *mut c_void)> {
    // SAFETY: any address may be asked about; the structure is ours. Names stay as long as the
    // object.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let known = libc::dladdr(address, &mut info) != 0 && !info.dli_fname.is_null();
        known.then(|| (CStr::from_ptr(info.dli_fname), info.dli_fbase))
    }
}

/// The first address of the object that an address lies in; null where there is none.
pub fn object_of(address: *const c_void) -> *mut c_void {
    object(address).map_or(core::ptr::null_mut(), |(_, base)| base)
}

/// Whether an address lies in an MPI library of this family.
pub fn is_ours(address: *const c_void) -> bool {
    is_one_of(address, LIBRARY_NAMES)
}

/// Whether an address lies in an MPI library of another family.
pub fn is_others(address: *const c_void) -> bool {
    !is_ours(address) && is_one_of(address, ALL_LIBRARY_NAMES)
}

/// The library of another family that the program has loaded: behind us, or anywhere where there is
/// none of this family.
pub fn of_another_family() -> Option<&'static CStr> {
    let next: *const c_void = INIT.address();
    if is_others(next) {
        return Some(object(next)?.0);
    }
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
    let is_here = |name: &&CStr| init_in(name).is_some_and(|init| object_of(init) == base);
    is_called(path, names) || names.iter().any(is_here)
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

/// The MPI library behind us, to be asked what it has.
pub struct Open {
    handle: *mut c_void,
    base: *mut c_void,
}

/// The file of the MPI library behind us.
pub fn file() -> Option<&'static CStr> {
    object(INIT.address()).map(|(file, _)| file)
}

/// The MPI library behind us.
pub fn open() -> Option<Open> {
    let (path, base) = object(INIT.address())?;
    // SAFETY: dladdr gives a C string; RTLD_NOLOAD loads nothing.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then_some(Open { handle, base })
}

impl Open {
    /// Whether it has a function of this name itself.
    pub fn has(&self, name: &CStr) -> bool {
        // SAFETY: the handle is open.
        let found = unsafe { find(self.handle, name) };
        !found.is_null() && object_of(found) == self.base
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: opened by us, and closed once. What we asked on the way must not look like the
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

/// The C library's `dlsym`: ours asks here.
unsafe fn find(handle: *mut c_void, name: &CStr) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    let dlsym = crate::loading::real();
    #[cfg(not(target_arch = "x86_64"))]
    let dlsym: Option<
        unsafe extern "C" fn(*mut c_void, *const core::ffi::c_char) -> *mut c_void,
    > = Some(libc::dlsym);
    match dlsym {
        // SAFETY: the caller's handle is open.
        Some(dlsym) => unsafe { dlsym(handle, name.as_ptr()) },
        None => core::ptr::null_mut(),
    }
}
