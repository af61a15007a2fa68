//! Where a thread is: of the caller, or of one that a signal has interrupted.

use core::ffi::{c_int, c_void};

/// Where a thread is.
#[derive(Clone, Copy)]
pub struct Registers {
    pub instruction: u64,
    pub stack: u64,
    pub frame: u64,
}

impl Registers {
    /// Of the caller, whose frame must be there for as long as somebody may follow its path.
    #[inline(always)]
    pub fn here() -> Registers {
        let (instruction, stack, frame): (u64, u64, u64);
        // SAFETY: reads three registers.
        unsafe {
            core::arch::asm!(
                "lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp",
                out(reg) instruction, out(reg) stack, out(reg) frame,
                options(nomem, nostack, preserves_flags),
            );
        }
        Registers {
            instruction,
            stack,
            frame,
        }
    }

    /// Of the thread that a signal has interrupted.
    pub unsafe fn interrupted(context: *mut c_void) -> Registers {
        // SAFETY: the context that the kernel gave the handler.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let of = |number: c_int| registers.get(number as usize).map_or(0, |at| *at as u64);
        Registers {
            instruction: of(libc::REG_RIP),
            stack: of(libc::REG_RSP),
            frame: of(libc::REG_RBP),
        }
    }
}
