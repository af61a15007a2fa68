//! Which loaded object (program or library) an address lies in.

use core::ffi::{CStr, c_void};

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
pub fn object_base(address: *const c_void) -> *mut c_void {
    object(address).map_or(core::ptr::null_mut(), |(_, base)| base)
}
