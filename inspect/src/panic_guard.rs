//! Catches panics in the readers of foreign data: files and memory of the application, parsed by
//! other people's crates.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// This thread is reading.
    static READS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `read`; nothing where it panics. A panic must not end the supervisor, with which its rank
/// would end, nor print on the application's standard error. What `read` wrote to may be half
/// written, and must tolerate that: a cache.
pub fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    // The hook is the process' own and prints before the panic is caught, so it has to be silent on
    // this thread alone.
    HOOK.call_once(|| {
        let tell = take_hook();
        set_hook(Box::new(move |panic| {
            if !READS.get() {
                tell(panic);
            }
        }));
    });
    let outer = READS.replace(true);
    let read = catch_unwind(AssertUnwindSafe(read)).ok();
    READS.set(outer);
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_in_a_reader_finds_nothing() {
        let bytes: &[u8] = &[1];
        let read = |at: usize| guarded(|| bytes[at]);
        assert_eq!((read(0), read(1)), (Some(1), None));
        assert!(!READS.get(), "others are told");
    }
}
