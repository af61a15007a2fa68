//! Where the stack of the calling thread lies, and where on it the caller is.

/// The addresses of a thread's own stack. Alternate stacks of signal handlers and those of fibers
/// lie elsewhere.
#[derive(Clone, Copy)]
pub struct StackBounds {
    low: usize,
    /// 0 while nobody has asked.
    high: usize,
}

impl StackBounds {
    pub const UNKNOWN: StackBounds = StackBounds { low: 0, high: 0 };

    /// Of the calling thread; nothing lies in them where the C library does not know.
    #[cold]
    #[inline(never)]
    pub fn of_this_thread() -> StackBounds {
        // High enough that it is not asked again.
        let mut bounds = StackBounds {
            low: usize::MAX,
            high: usize::MAX,
        };
        // SAFETY: the attributes are ours, written by the first call and destroyed by the last; the
        // thread is the calling one.
        unsafe {
            let mut attributes = core::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
            if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
                return bounds;
            }
            let (mut low, mut bytes) = (core::ptr::null_mut(), 0);
            if libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut bytes) == 0 {
                bounds = StackBounds {
                    low: low as usize,
                    high: low as usize + bytes,
                };
            }
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
        bounds
    }

    pub fn is_known(&self) -> bool {
        self.high != 0
    }

    /// Whether `bytes` bytes below this address are the stack's.
    pub fn holds(&self, at: usize, bytes: usize) -> bool {
        at <= self.high && at.checked_sub(bytes).is_some_and(|from| from >= self.low)
    }
}

/// The stack pointer of the function that this is inlined into.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let now;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {}, rsp", out(reg) now, options(nomem, nostack, preserves_flags));
    }
    now
}
