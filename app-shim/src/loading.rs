//! Programs that load their MPI at run time and ask it for its functions (Julia's MPI.jl, ctypes of
//! Python, plug-ins) name the library that they loaded, so they would not find ours in front of it:
//! MPI would show them the tools' processes, and the tools would wait for ranks that never come. So
//! `dlsym` is ours, too. It answers where a function of MPI is asked of an MPI library, with the
//! wrapper of the same name; everything else goes on to the C library, as a jump, because there
//! `RTLD_NEXT` depends on who called.

use crate::library::{is_others, is_ours, object, object_of};
use crate::start;
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// The C library's `dlsym`.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
/// What begins MPI.
const BEGINNING: [&[u8]; 3] = [b"MPI_Init", b"MPI_Init_thread", b"MPI_Session_init"];
/// A handle of our own library.
static OWN: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// `dlsym`
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        // Who called.
        "mov rdx, qword ptr [rsp + 24]",
        "call {instead}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jne 2f",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "ret",
        instead = sym instead,
        real = sym REAL,
    )
}

/// The wrapper to be given for a function of an MPI library; null where the C library is to answer.
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn instead(
    handle: *mut c_void,
    name: *const c_char,
    caller: *const c_void,
) -> *mut c_void {
    let none = core::ptr::null_mut();
    let Some(real) = real() else { return none };
    if handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT || name.is_null() {
        return none;
    }
    // SAFETY: the caller's name is a C string; handles are the caller's or ours.
    unsafe {
        let bytes = CStr::from_ptr(name).to_bytes();
        let bytes = bytes.strip_prefix(b"P").unwrap_or(bytes);
        if !bytes.starts_with(b"MPI_") && !bytes.starts_with(b"MPIX_") {
            return none;
        }
        let found = real(handle, name);
        if found.is_null() {
            return none;
        }
        let wrapper = if is_ours(found) {
            wrapper_for(real, name, caller)
        } else {
            // Who is about to begin the wrong MPI is told so.
            if BEGINNING.contains(&bytes) && is_others(found) {
                start::refuse_another_family();
            }
            none
        };
        // What we asked on the way must not look like the caller's error.
        libc::dlerror();
        wrapper
    }
}

/// The wrapper of this name, unless MPI itself asks, or a tool that wraps the function, too, and
/// looks for the one behind: it would meet itself.
unsafe fn wrapper_for(real: Dlsym, name: *const c_char, caller: *const c_void) -> *mut c_void {
    // SAFETY: the handle is ours, the name a C string.
    let wrapper = unsafe { real(own(), name) };
    let is_one = !wrapper.is_null() && object_of(wrapper) == object_of(dlsym as *const c_void);
    // SAFETY: as above.
    if is_one && !is_ours(caller) && !unsafe { defines(real, caller, name) } {
        wrapper
    } else {
        core::ptr::null_mut()
    }
}

/// The C library's `dlsym`.
pub fn real() -> Option<Dlsym> {
    let mut address = REAL.load(Ordering::Relaxed);
    if address.is_null() {
        // SAFETY: both are C strings. All versions of the C library have the function by this
        // version of its name.
        address = unsafe { dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), c"GLIBC_2.2.5".as_ptr()) };
        REAL.store(address, Ordering::Relaxed);
    }
    // SAFETY: null, or the C library's function of this name.
    unsafe { core::mem::transmute::<*mut c_void, Option<Dlsym>>(address) }
}

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// A handle of the object that an address lies in; null for the program itself. The caller closes
/// it.
fn handle_of(address: *const c_void) -> *mut c_void {
    match object(address) {
        // SAFETY: dladdr gives a C string; nothing is loaded.
        Some((path, _)) => unsafe {
            libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD)
        },
        None => core::ptr::null_mut(),
    }
}

fn own() -> *mut c_void {
    let mut handle = OWN.load(Ordering::Relaxed);
    if handle.is_null() {
        handle = handle_of(own as *const c_void);
        OWN.store(handle, Ordering::Relaxed);
    }
    handle
}

/// Whether the object that `caller` lies in has a function of this name itself.
unsafe fn defines(real: Dlsym, caller: *const c_void, name: *const c_char) -> bool {
    let handle = handle_of(caller);
    if handle.is_null() {
        return false;
    }
    // SAFETY: the handle is open, the name a C string. The reference goes again: it would keep a
    // plug-in loaded for ever.
    unsafe {
        let found = real(handle, name);
        libc::dlclose(handle);
        !found.is_null() && object_of(found) == object_of(caller)
    }
}
