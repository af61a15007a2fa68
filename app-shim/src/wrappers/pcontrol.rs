//! The wrapper of `MPI_Pcontrol`, by which programs switch recording of their own rank, and tell
//! which phase they are in.
//!
//! What else a program passes is meant for other tools, and only they know what it is: all goes on
//! to them as it came.
#![allow(non_snake_case)]

use crate::lifecycle::refusals::missing_function;
use crate::record::program_switch;
use crate::resolve::symbols::NextFunction;
use crate::wrappers::phases;
use core::ffi::{c_int, c_void};

/// What the level means here. Others are for other tools.
fn take(level: c_int, by_pmpi: bool) {
    match level {
        0 | 1 => program_switch::switch(level == 1),
        phases::FIRST.. => phases::begin(level, by_pmpi),
        // The smallest has no opposite.
        _ if level.saturating_neg() >= phases::FIRST => phases::end(level.saturating_neg()),
        _ => {}
    }
}

/// The next function of a name, or one that says that there is none.
fn next(function: &NextFunction) -> *const c_void {
    let address = function.address();
    if address.is_null() {
        missing as *const c_void
    } else {
        address
    }
}

extern "C" fn missing() -> c_int {
    missing_function()
}

/// Both names, each with its own next function.
macro_rules! pcontrol {
    ($name:ident, $follow:ident, $by_pmpi:literal) => {
        extern "C" fn $follow(level: c_int) -> *const c_void {
            static NEXT: NextFunction =
                NextFunction::by_bytes(concat!(stringify!($name), "\0").as_bytes());
            take(level, $by_pmpi);
            next(&NEXT)
        }

        #[doc = concat!("`", stringify!($name), "`")]
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            core::arch::naked_asm!(
                // The six registers of arguments, and rax, which tells how many vector registers
                // are used; seven, so that the stack is aligned. Then those.
                "push rax",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "sub rsp, 128",
                "movups [rsp], xmm0",
                "movups [rsp + 16], xmm1",
                "movups [rsp + 32], xmm2",
                "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4",
                "movups [rsp + 80], xmm5",
                "movups [rsp + 96], xmm6",
                "movups [rsp + 112], xmm7",
                "call {follow}",
                "mov r11, rax",
                "movups xmm0, [rsp]",
                "movups xmm1, [rsp + 16]",
                "movups xmm2, [rsp + 32]",
                "movups xmm3, [rsp + 48]",
                "movups xmm4, [rsp + 64]",
                "movups xmm5, [rsp + 80]",
                "movups xmm6, [rsp + 96]",
                "movups xmm7, [rsp + 112]",
                "add rsp, 128",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "pop rax",
                "jmp r11",
                follow = sym $follow,
            )
        }

        #[doc = concat!("`", stringify!($name), "`, without the arguments of other tools")]
        #[cfg(not(target_arch = "x86_64"))]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(level: c_int) -> c_int {
            let next = $follow(level);
            // SAFETY: the library's function of this name takes a level and what else there is.
            let next: unsafe extern "C" fn(c_int) -> c_int = unsafe { core::mem::transmute(next) };
            // SAFETY: the argument is the caller's.
            unsafe { next(level) }
        }
    };
}
pcontrol!(MPI_Pcontrol, follow_mpi, false);
pcontrol!(PMPI_Pcontrol, follow_pmpi, true);
