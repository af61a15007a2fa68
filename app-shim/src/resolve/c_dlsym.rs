//! The C library's own `dlsym`, which the shim's wrapper of that name goes on to.

use core::ffi::{c_char, c_void};
#[cfg(target_arch = "x86_64")]
use core::sync::atomic::{AtomicPtr, Ordering};

pub type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// Its address, null until it is looked up; the wrapper jumps through it.
#[cfg(target_arch = "x86_64")]
pub static ADDRESS: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// The function itself.
#[cfg(target_arch = "x86_64")]
pub fn c_dlsym() -> Option<Dlsym> {
    let mut address = ADDRESS.load(Ordering::Relaxed);
    if address.is_null() {
        // `dlsym` by name would find the shim's own, so it is asked for by its version.
        // SAFETY: both are C strings. All versions of the C library have the function by this
        // version of its name.
        address = unsafe { dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), c"GLIBC_2.2.5".as_ptr()) };
        ADDRESS.store(address, Ordering::Relaxed);
    }

    // SAFETY: null, or the C library's function of this name.
    unsafe { core::mem::transmute::<*mut c_void, Option<Dlsym>>(address) }
}

/// The function itself: on other processors the shim has no wrapper in front of it.
#[cfg(not(target_arch = "x86_64"))]
pub fn c_dlsym() -> Option<Dlsym> {
    Some(libc::dlsym)
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}
