//! A fault in a tool process' own code must not end the job that it observes, and a process that
//! leaves the job ends it. So a panic ends what the process was doing at that moment, no more: it
//! stays in the job, and says what happened.
//!
//! What a panic leaves half done is memory-safe and may be wrong. Whoever uses a [`Guard`] decides
//! what of its state it still trusts.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, panic_any, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Panics that a process lives through: one that cannot go on at all had better end the job than
/// let it hang.
pub const STUMBLES_MAX: u64 = 16;
/// Panics that are told on standard error, one line each.
const TOLD_MAX: u64 = 3;

/// From now on a panic of this process, which is called so, is one line on standard error.
pub fn tell_panics(who: String) {
    let told = AtomicU64::new(0);
    std::panic::set_hook(Box::new(move |panic| {
        if told.fetch_add(1, Ordering::Relaxed) < TOLD_MAX {
            eprintln!("invivo: {}", sentence(&who, panic));
        }
    }));
}

/// Runs what may panic.
#[derive(Debug)]
pub struct Guard {
    stumbles: u64,
    asked_by: Option<PathBuf>,
}

impl Guard {
    /// Where a file of this name appears, it is removed and the next thing that runs panics: for
    /// tests.
    pub fn new(asked_by: Option<PathBuf>) -> Guard {
        Guard {
            stumbles: 0,
            asked_by,
        }
    }

    /// Panics so far.
    pub fn stumbles(&self) -> u64 {
        self.stumbles
    }

    /// Runs it. Nothing where it panicked.
    ///
    /// # Panics
    /// When [`STUMBLES_MAX`] such panics have been lived through.
    pub fn run<R>(&mut self, act: impl FnOnce() -> R) -> Option<R> {
        let asked = self.is_asked();
        let act = || {
            if asked {
                panic_any("asked to by INVIVO_PANIC");
            }
            act()
        };
        // What it leaves half done is looked after by whoever asked, see above.
        match catch_unwind(AssertUnwindSafe(act)) {
            Ok(result) => Some(result),
            Err(panic) if self.stumbles == STUMBLES_MAX => resume_unwind(panic),
            Err(_) => {
                self.stumbles += 1;
                None
            }
        }
    }

    fn is_asked(&self) -> bool {
        let file = self.asked_by.as_ref();
        file.is_some_and(|file| std::fs::remove_file(file).is_ok())
    }
}

fn sentence(who: &str, panic: &PanicHookInfo<'_>) -> String {
    let what = panic.payload_as_str().unwrap_or("a panic");
    let at = panic
        .location()
        .map(ToString::to_string)
        .unwrap_or_default();
    format!("{who} failed in itself: {what} ({at}); please report this")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_what_was_run_and_nothing_else() {
        let mut guard = Guard::new(None);
        assert_eq!(guard.run(|| 1), Some(1));
        assert_eq!(
            guard.run(|| if guard_is_tested() {
                panic!("a fault")
            } else {
                2
            }),
            None
        );
        assert_eq!(guard.run(|| 3), Some(3));
        assert_eq!(guard.stumbles(), 1);
    }

    #[test]
    fn so_many_are_lived_through_and_no_more() {
        let mut guard = Guard::new(None);
        for _ in 0..STUMBLES_MAX {
            assert_eq!(guard.run(|| assert!(!guard_is_tested())), None);
        }
        let last = catch_unwind(AssertUnwindSafe(|| {
            guard.run(|| assert!(!guard_is_tested()))
        }));
        assert!(last.is_err());
    }

    #[test]
    fn a_file_asks_for_one_panic() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("panic");
        let mut guard = Guard::new(Some(file.clone()));
        assert_eq!(guard.run(|| 1), Some(1));
        std::fs::write(&file, "").expect("a file");
        assert_eq!(guard.run(|| 1), None);
        assert_eq!(guard.run(|| 1), Some(1));
    }

    /// Not known to the compiler.
    fn guard_is_tested() -> bool {
        std::hint::black_box(true)
    }
}
