//! Catches panics of a tool process: each ends the work of that moment, and nothing else.
//!
//! A fault in a tool process' own code must not end the job that it observes, and a process that
//! leaves the job ends it. So the process stays in the job and reports what happened.
//!
//! What a panic leaves half done is memory-safe and may be wrong. Whoever uses a [`PanicGuard`]
//! decides what of its state it still trusts.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Panics that a process survives: one that cannot go on at all had better end the job than let it
/// hang.
pub const PANICS_MAX: u64 = 16;
/// Panics that are reported on standard error, one line each.
const REPORTED_MAX: u64 = 3;

thread_local! {
    /// The role of this process that runs; nothing between roles.
    static RUNNING: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// From now on a panic of this process is one line on standard error: of the role that runs
/// ([`PanicGuard::of`]), else of the process, which is called `who`.
pub fn report_panics(who: String) {
    let reported = AtomicU64::new(0);
    std::panic::set_hook(Box::new(move |panic| {
        if reported.fetch_add(1, Ordering::Relaxed) < REPORTED_MAX {
            let who = RUNNING.get().unwrap_or(&who);
            eprintln!("invivo: {}", sentence(who, panic));
        }
    }));
}

/// Runs what may panic, and counts the panics.
#[derive(Debug, Default)]
pub struct PanicGuard {
    panics: u64,
    who: Option<&'static str>,
    #[cfg(feature = "test-hooks")]
    asked_by: Option<std::path::PathBuf>,
}

impl PanicGuard {
    pub fn new() -> PanicGuard {
        PanicGuard::default()
    }

    /// Of a role that is called `who`. A process has a few of them, for its whole life.
    pub fn of(who: String) -> PanicGuard {
        PanicGuard {
            who: Some(who.leak()),
            ..PanicGuard::default()
        }
    }

    /// Where a file of this name appears, it is removed and the next thing that runs panics.
    #[cfg(feature = "test-hooks")]
    pub fn panic_when(mut self, asked_by: Option<std::path::PathBuf>) -> PanicGuard {
        self.asked_by = asked_by;
        self
    }

    /// Panics so far.
    pub fn panics(&self) -> u64 {
        self.panics
    }

    /// Runs it. Nothing where it panicked.
    ///
    /// # Panics
    /// When [`PANICS_MAX`] such panics have been survived.
    pub fn run<R>(&mut self, act: impl FnOnce() -> R) -> Option<R> {
        #[cfg(feature = "test-hooks")]
        let act = {
            let asked = self.is_asked();
            move || {
                if asked {
                    std::panic::panic_any("asked to by INVIVO_PANIC");
                }
                act()
            }
        };
        RUNNING.set(self.who);
        // The caller sees to what a panic leaves half done, see the head of this file.
        let result = catch_unwind(AssertUnwindSafe(act));
        RUNNING.set(None);
        match result {
            Ok(result) => Some(result),
            Err(panic) if self.panics == PANICS_MAX => resume_unwind(panic),
            Err(_) => {
                self.panics += 1;
                None
            }
        }
    }

    #[cfg(feature = "test-hooks")]
    fn is_asked(&self) -> bool {
        let file = self.asked_by.as_ref();
        // Removed first, so that one file asks for one panic.
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
        let mut guard = PanicGuard::new();
        assert_eq!(guard.run(|| 1), Some(1));
        assert_eq!(
            guard.run(|| if always() { panic!("a fault") } else { 2 }),
            None
        );
        assert_eq!(guard.run(|| 3), Some(3));
        assert_eq!(guard.panics(), 1);
    }

    #[test]
    fn so_many_panics_are_survived_and_no_more() {
        let mut guard = PanicGuard::new();
        for _ in 0..PANICS_MAX {
            assert_eq!(guard.run(|| assert!(!always())), None);
        }
        let last = catch_unwind(AssertUnwindSafe(|| guard.run(|| assert!(!always()))));
        assert!(last.is_err());
    }

    #[cfg(feature = "test-hooks")]
    #[test]
    fn a_file_asks_for_one_panic() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("panic");
        let mut guard = PanicGuard::new().panic_when(Some(file.clone()));
        assert_eq!(guard.run(|| 1), Some(1));
        std::fs::write(&file, "").expect("a file");
        assert_eq!(guard.run(|| 1), None);
        assert_eq!(guard.run(|| 1), Some(1));
    }

    /// True, which the compiler does not know.
    fn always() -> bool {
        std::hint::black_box(true)
    }
}
