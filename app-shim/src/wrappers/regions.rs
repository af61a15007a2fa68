//! What the program calls at the begin and the end of its regions: the hooks of compilers
//! (`-finstrument-functions`), and those of its own marks (`invivo_regions.h`).

use crate::errno::keeping_errno;
use crate::process;
use crate::record::location::{Here, Location};
use crate::record::open_regions::MARKED;
use crate::record::passed_regions;
use crate::record::regions::change;
use crate::record::thread_location::known;
use crate::resolve::{modules, symbols::NextFunction};
use crate::track::regions::{Name, found_function, of_function};
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use invivo_proto::ids::RegionId;

/// Begins a region of this name in the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn invivo_region_begin(name: *const c_char) {
    let Some(here) = known().filter(|_| process::observing()) else {
        return;
    };
    // SAFETY: the caller gives a string of C, or null.
    let region = match unsafe { Name::of(name) } {
        Some(name) => name.found().or_else(|| meet(here, || name.region())),
        None => Some(RegionId::OTHERS),
    };
    match region {
        Some(region) if here.control.off.has(region) => passed_regions::begins(here, region, true),
        Some(region) => change(here, |location| location.enter_region(region, MARKED)),
        None => {}
    }
}

/// Ends the innermost region of this name that the calling thread is in; without a name, the one
/// that was begun last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn invivo_region_end(name: *const c_char) {
    let Some(here) = known().filter(|_| process::observing()) else {
        return;
    };
    // SAFETY: the caller gives a string of C, or null.
    let Some(name) = (unsafe { Name::of(name) }) else {
        return change(here, Location::leave_marked);
    };
    match name.found().or_else(|| meet(here, || name.region())) {
        Some(region) if here.control.off.has(region) => {
            passed_regions::ends(here, region, true, MARKED);
        }
        Some(region) => change(here, |location| location.leave_region(region, MARKED)),
        None => {}
    }
}

/// Begins a region that the program tells otherwise than by a mark.
pub fn begin(name: &CStr) {
    // SAFETY: a string of C.
    unsafe { invivo_region_begin(name.as_ptr()) }
}

/// Ends it.
pub fn end(name: &CStr) {
    // SAFETY: a string of C.
    unsafe { invivo_region_end(name.as_ptr()) }
}

/// Numbers a region that was not met before; not where the regions of the thread do not change.
#[cold]
#[inline(never)]
fn meet(here: Here, region: impl FnOnce() -> RegionId) -> Option<RegionId> {
    let mut met = None;
    change(here, |_| met = Some(region()));
    met
}

type Hook = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Nobody has looked for the next hook yet.
const UNKNOWN: usize = 1;

/// A hook of the program's own that ours stands before: 0 where there is none.
#[inline(always)]
fn own_hook(known: &AtomicUsize, next: &NextFunction) -> Option<Hook> {
    let address = match known.load(Ordering::Relaxed) {
        UNKNOWN => keeping_errno(|| look_for_hook(known, next)),
        known => known,
    };
    // SAFETY: 0, or the address of a function of this kind.
    unsafe { core::mem::transmute::<usize, Option<Hook>>(address) }
}

#[cold]
#[inline(never)]
fn look_for_hook(known: &AtomicUsize, next: &NextFunction) -> usize {
    let address = next.address() as usize;
    // The C library has one that does nothing.
    let of_libc = |path: &[u8]| {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        name.starts_with(b"libc.") || name.starts_with(b"libc-")
    };
    let is_empty = modules::of(address).is_none_or(|module| of_libc(module.path.get()));
    let address = if is_empty { 0 } else { address };
    known.store(address, Ordering::Relaxed);
    address
}

/// One of the two hooks. Its entry adds where the stack of the function lies that calls it.
macro_rules! hook {
    ($name:ident, $body:ident,
     |$here:ident, $region:ident, $frame:ident| $pass:expr, $change:ident) => {
        unsafe extern "C" fn $body(function: *mut c_void, caller: *mut c_void, frame: usize) {
            if let Some(here) = known().filter(|_| process::observing()) {
                let function = function as usize;
                let found = found_function(function);
                match found.or_else(|| meet(here, || of_function(function))) {
                    Some(region) if here.control.off.has(region) => {
                        let ($here, $region, $frame) = (here, region, frame);
                        $pass;
                    }
                    Some(region) => change(here, |location| location.$change(region, frame)),
                    None => {}
                }
            }
            static KNOWN: AtomicUsize = AtomicUsize::new(UNKNOWN);
            static NEXT: NextFunction =
                NextFunction::by_bytes(concat!(stringify!($name), "\0").as_bytes());
            if let Some(next) = own_hook(&KNOWN, &NEXT) {
                // SAFETY: the arguments are the caller's.
                unsafe { next(function, caller) };
            }
        }

        #[doc = concat!("`", stringify!($name), "`, of `-finstrument-functions`")]
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!("mov rdx, rsp", "jmp {body}", body = sym $body)
        }

        #[doc = concat!("`", stringify!($name), "`, of `-finstrument-functions`")]
        #[cfg(not(target_arch = "x86_64"))]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(function: *mut c_void, caller: *mut c_void) {
            // SAFETY: the arguments are the caller's. Without its frame no jump is noticed.
            unsafe { $body(function, caller, 0) }
        }
    };
}
hook!(
    __cyg_profile_func_enter,
    entered,
    |here, region, _frame| passed_regions::begins(here, region, false),
    enter_region
);
hook!(
    __cyg_profile_func_exit,
    left,
    |here, region, frame| passed_regions::ends(here, region, false, frame),
    leave_region
);
