//! The wrapper of `dlsym`: programs that load their MPI at run time get the shim's functions.
//!
//! Such programs (Julia's MPI.jl, ctypes of Python, plug-ins) name the library that they loaded, so
//! they would not find the shim in front of it: MPI would show them the tool processes, and those
//! would wait for ranks that never come. So where a function of MPI is looked up in an MPI library
//! the shim answers with its wrapper; everything else goes on to the C library, as a jump, because
//! there `RTLD_NEXT` depends on who called.

use crate::lifecycle::refusals::refuse_another_family;
use crate::resolve::c_dlsym::{self, Dlsym, c_dlsym};
use crate::resolve::library::{is_of_another_family, is_ours};
use crate::resolve::objects::{object, object_base};
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// Functions that initialise MPI.
const INITIALISING: [&[u8]; 3] = [b"MPI_Init", b"MPI_Init_thread", b"MPI_Session_init"];
/// A handle of the shim itself, null until it is needed.
static OWN: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// `dlsym`
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        // The return address: who called.
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
        real = sym c_dlsym::ADDRESS,
    )
}

/// The wrapper to be given for a function of an MPI library; null where the C library is to answer.
unsafe extern "C" fn instead(
    handle: *mut c_void,
    name: *const c_char,
    caller: *const c_void,
) -> *mut c_void {
    let none = core::ptr::null_mut();
    let Some(real) = c_dlsym() else { return none };
    // These two searches find the shim by themselves, where it is in front of the library.
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
            // The program is about to initialise an MPI that it cannot run with.
            if INITIALISING.contains(&bytes) && is_of_another_family(found) {
                refuse_another_family();
            }
            none
        };
        // A look-up of ours that failed must not look like the caller's error.
        libc::dlerror();
        wrapper
    }
}

/// The wrapper of this name, unless MPI itself looks it up, or a tool that wraps the function, too,
/// and looks for the one behind: it would find itself.
unsafe fn wrapper_for(real: Dlsym, name: *const c_char, caller: *const c_void) -> *mut c_void {
    // SAFETY: the handle is ours, the name a C string.
    let wrapper = unsafe { real(own(), name) };
    let is_one = !wrapper.is_null() && object_base(wrapper) == object_base(dlsym as *const c_void);
    // SAFETY: the name is a C string, `real` the C library's function.
    if is_one && !is_ours(caller) && !unsafe { defines(real, caller, name) } {
        wrapper
    } else {
        core::ptr::null_mut()
    }
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
        !found.is_null() && object_base(found) == object_base(caller)
    }
}
