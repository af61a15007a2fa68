//! Readers of what is not ours: files and memory of the application, by crates that are not ours
//! either.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// This thread is reading.
    static READS: Cell<bool> = const { Cell::new(false) };
}

/// Does it. A panic in it is no end of the supervisor, with which its rank would end, and no word
/// on the application's output: nothing is found then. What it wrote to may be half written, and
/// must be of the kind that can be so: a cache.
pub fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
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
