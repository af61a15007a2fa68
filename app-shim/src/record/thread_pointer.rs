//! The pointer of a thread to its location, in eight bytes of thread-local storage.
//!
//! On x86-64 they are addressed by one load of an offset that the loader fixes when it loads us
//! ("initial exec"). `thread_local!` in a shared library asks a function of the loader each time,
//! which takes longer than all else that a call costs while recording is off. The bytes come from
//! the room that the loader keeps for such libraries, also for one that is loaded later than the
//! program.

use super::location::Location;

#[cfg(target_arch = "x86_64")]
mod thread {
    use super::Location;

    core::arch::global_asm!(
        ".pushsection .tbss.invivo_current,\"awT\",@nobits",
        ".balign 8",
        ".hidden invivo_current",
        ".type invivo_current,@object",
        ".size invivo_current,8",
        "invivo_current: .zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub fn get() -> *mut Location {
        let location;
        // The offset from the thread's base (fs) lies in our table, where the loader has put it.
        // SAFETY: reads this thread's eight bytes; new threads have zeroes there.
        unsafe {
            core::arch::asm!(
                "mov {0}, qword ptr [rip + invivo_current@GOTTPOFF]",
                "mov {0}, qword ptr fs:[{0}]",
                out(reg) location,
                options(nostack, preserves_flags, readonly),
            );
        }
        location
    }

    pub fn set(location: *mut Location) {
        // SAFETY: writes this thread's eight bytes.
        unsafe {
            core::arch::asm!(
                "mov {0}, qword ptr [rip + invivo_current@GOTTPOFF]",
                "mov qword ptr fs:[{0}], {1}",
                out(reg) _,
                in(reg) location,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod thread {
    use super::Location;
    use core::cell::Cell;

    thread_local! {
        static CURRENT: Cell<*mut Location> = const { Cell::new(core::ptr::null_mut()) };
    }

    pub fn get() -> *mut Location {
        CURRENT.with(Cell::get)
    }

    pub fn set(location: *mut Location) {
        CURRENT.with(|current| current.set(location));
    }
}

/// The calling thread's location; null where it has none yet.
#[inline(always)]
pub fn get() -> *mut Location {
    thread::get()
}

/// Gives the calling thread its location.
pub fn set(location: *mut Location) {
    thread::set(location);
}
